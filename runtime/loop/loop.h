// SPDX-License-Identifier: Apache-2.0
// The one loop of sgprsd: readiness of descriptors, new connections, doorbells in shared memory and
// timers, over one io_uring. It sleeps in the kernel when there is nothing to do.
//
// Thread: everything here is the thread that calls Run(); nothing is locked. Handlers run on it and
// must not block. A handler may add and remove any watch or timer, itself too.
//
// A turn: what came in is handed to the handlers, due timers run, doorbells that had rung are armed
// again, then the turn-end handler runs (that is where the runtime decides and publishes), then
// sleep.
#ifndef SGPRS_RUNTIME_LOOP_LOOP_H_
#define SGPRS_RUNTIME_LOOP_LOOP_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/loop/bell_waiter.h"
#include "runtime/loop/ring.h"
#include "runtime/loop/timer_queue.h"
#include "sgprs/abi/lane.h"

namespace sgprs::loop {

using WatchId = uint64_t;  // never 0

struct LoopOptions {
  // kAuto: IORING_OP_FUTEX_WAIT where the kernel has it (6.7), else helper threads.
  enum class Bells { kAuto, kRing, kHelper };
  Bells bells = Bells::kAuto;
};

class Loop {
 public:
  using Handler = std::function<void()>;
  using AcceptHandler = std::function<void(UniqueFd)>;

  // Errors: kUnavailable, kExhausted; the text says what is missing.
  static Result<std::unique_ptr<Loop>> Make(const LoopOptions& options);
  ~Loop();

  // Calls `handler` while `fd` is readable or hung up (level-triggered). `fd` must stay open until
  // Remove().
  WatchId WatchReadable(int fd, Handler handler);
  // Hands over each new connection (close-on-exec, non-blocking).
  WatchId WatchConnections(int listening_fd, AcceptHandler handler);
  // Calls `handler` after `bell` was rung, and once more after the bell says "asleep" again, so
  // that work published in between is not overlooked (lane/doorbell.h). Called once at the start,
  // too. The memory must stay mapped until Remove().
  WatchId WatchBell(SgprsDoorbell* bell, Handler handler);
  // After it the handler is not called any more, and descriptor and memory may go.
  void Remove(WatchId id);

  TimerId At(uint64_t due_ns, Handler handler) {
    return timers_.Add(due_ns, 0, std::move(handler));
  }
  TimerId Every(uint64_t interval_ns, Handler handler);
  void RemoveTimer(TimerId id) { timers_.Remove(id); }

  // Called once a turn, before the loop sleeps.
  void SetTurnEnd(Handler handler) { turn_end_ = std::move(handler); }

  // Runs turns until Stop().
  void Run();
  void Stop() { stopping_ = true; }
  // One turn that sleeps at most `timeout_ns`; for tests.
  void Turn(uint64_t timeout_ns);

  bool bells_in_ring() const { return waiter_ == nullptr; }
  uint64_t turns() const { return turns_; }

 private:
  enum class Kind : uint8_t { kNone, kReadable, kAccept, kBell };
  struct Watch {
    Kind kind = Kind::kNone;
    bool armed = false;
    uint32_t generation = 1;
    int fd = -1;
    SgprsDoorbell* bell = nullptr;
    // Shared, so that a handler that removes its own watch is not destroyed while it runs.
    std::shared_ptr<Handler> handler;
    std::shared_ptr<AcceptHandler> accept;
  };

  Loop() = default;
  WatchId Add(Watch watch);
  Watch* Find(WatchId id);
  void Arm(WatchId id, Watch* watch);
  void Dispatch(const Ring::Event& event);
  void DispatchAccept(WatchId id, const Ring::Event& event);
  void FireBell(WatchId id);
  void ArmBells();
  void ReapHelper();

  std::unique_ptr<Ring> ring_;
  std::unique_ptr<BellWaiter> waiter_;  // null: the ring waits for bells itself
  TimerQueue timers_;
  Handler turn_end_;
  std::vector<Watch> watches_;
  std::vector<uint32_t> free_;
  std::vector<WatchId> bells_to_arm_;
  uint64_t turns_ = 0;
  bool stopping_ = false;
};

}  // namespace sgprs::loop

#endif  // SGPRS_RUNTIME_LOOP_LOOP_H_
