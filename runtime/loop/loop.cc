// SPDX-License-Identifier: Apache-2.0
#include "runtime/loop/loop.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/prompt_thread.h"
#include "runtime/lane/doorbell.h"

namespace sgprs::loop {
namespace {

// How long a listening socket rests after accept failed for want of descriptors.
constexpr uint64_t kAcceptRestNs = 100 * kNsPerMs;

// A watch id is accept bit, generation (31 bits), index + 1 (32 bits); so a late event of a removed
// watch finds nobody, and a connection that came late is known to be one.
constexpr uint64_t kAcceptBit = uint64_t{1} << 63;
constexpr uint32_t kGenerationMask = 0x7fffffff;

WatchId MakeId(bool accept, uint32_t generation, size_t index) {
  return (accept ? kAcceptBit : 0) | (static_cast<uint64_t>(generation) << 32) |
         (static_cast<uint32_t>(index) + 1);
}
size_t IndexOf(WatchId id) { return static_cast<uint32_t>(id) - 1; }
uint32_t GenerationOf(WatchId id) { return static_cast<uint32_t>(id >> 32) & kGenerationMask; }

}  // namespace

Result<std::unique_ptr<Loop>> Loop::Make(const LoopOptions& options) {
  std::unique_ptr<Loop> loop(new Loop);
  Result<std::unique_ptr<Ring>> ring = Ring::Make();
  if (!ring.ok()) return ring.status();
  loop->ring_ = std::move(*ring);
  const bool in_ring = loop->ring_->has_futex_wait();
  if (options.bells == LoopOptions::Bells::kRing && !in_ring) {
    return Status(ErrorCode::kUnavailable, "no IORING_OP_FUTEX_WAIT: it needs kernel 6.7 or newer");
  }
  if (options.bells == LoopOptions::Bells::kHelper || !in_ring) {
    Result<std::unique_ptr<BellWaiter>> waiter = BellWaiter::Make();
    if (!waiter.ok()) return waiter.status();
    loop->waiter_ = std::move(*waiter);
    Loop* self = loop.get();
    loop->WatchReadable(loop->waiter_->event_fd(), [self] { self->ReapHelper(); });
  }
  return loop;
}

Loop::~Loop() = default;

WatchId Loop::Add(Watch watch) {
  size_t index = watches_.size();
  if (free_.empty()) {
    watches_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  watch.generation = watches_[index].generation;
  watches_[index] = std::move(watch);
  return MakeId(watches_[index].kind == Kind::kAccept, watches_[index].generation, index);
}

Loop::Watch* Loop::Find(WatchId id) {
  const size_t index = IndexOf(id);
  if (index >= watches_.size()) return nullptr;
  Watch& watch = watches_[index];
  return watch.kind != Kind::kNone && watch.generation == GenerationOf(id) ? &watch : nullptr;
}

void Loop::Arm(WatchId id, Watch* watch) {
  watch->armed = true;
  if (watch->kind == Kind::kReadable) {
    ring_->PreparePoll(watch->fd, POLLIN | POLLRDHUP, id);
  } else {
    ring_->PrepareAccept(watch->fd, id);
  }
}

WatchId Loop::WatchReadable(int fd, Handler handler) {
  const WatchId id = Add({.kind = Kind::kReadable,
                          .fd = fd,
                          .handler = std::make_shared<Handler>(std::move(handler))});
  Arm(id, Find(id));
  return id;
}

WatchId Loop::WatchConnections(int listening_fd, AcceptHandler handler) {
  const WatchId id = Add({.kind = Kind::kAccept,
                          .fd = listening_fd,
                          .accept = std::make_shared<AcceptHandler>(std::move(handler))});
  Arm(id, Find(id));
  return id;
}

WatchId Loop::WatchBell(SgprsDoorbell* bell, Handler handler) {
  const WatchId id = Add({.kind = Kind::kBell,
                          .bell = bell,
                          .handler = std::make_shared<Handler>(std::move(handler))});
  bells_to_arm_.push_back(id);
  return id;
}

void Loop::Remove(WatchId id) {
  Watch* watch = Find(id);
  if (watch == nullptr) return;
  if (watch->kind == Kind::kBell && waiter_ != nullptr) {
    waiter_->Disarm(id);
  } else if (watch->armed) {
    ring_->PrepareCancel(id);
  }
  const uint32_t generation = (watch->generation + 1) & kGenerationMask;
  *watch = Watch{.generation = generation};
  free_.push_back(static_cast<uint32_t>(IndexOf(id)));
}

TimerId Loop::Every(uint64_t interval_ns, Handler handler) {
  return timers_.Add(NowNs() + interval_ns, interval_ns, std::move(handler));
}

void Loop::Dispatch(const Ring::Event& event) {
  const WatchId id = event.user_data;
  Watch* watch = Find(id);
  if (watch == nullptr) {
    if ((id & kAcceptBit) != 0 && event.result >= 0) UniqueFd late(event.result);
    return;
  }
  if (watch->kind == Kind::kAccept) return DispatchAccept(id, event);
  watch->armed = false;
  if (watch->kind == Kind::kBell) return FireBell(id);
  const std::shared_ptr<Handler> handler = watch->handler;
  (*handler)();
  watch = Find(id);  // the handler may have removed it, or grown the table
  if (watch != nullptr && !watch->armed) Arm(id, watch);
}

void Loop::DispatchAccept(WatchId id, const Ring::Event& event) {
  Watch* watch = Find(id);
  if (!event.more) watch->armed = false;
  if (event.result >= 0) {
    const std::shared_ptr<AcceptHandler> handler = watch->accept;
    (*handler)(UniqueFd(event.result));
  } else if (event.result == -EMFILE || event.result == -ENFILE || event.result == -ENOMEM) {
    At(NowNs() + kAcceptRestNs, [this, id] {
      Watch* rested = Find(id);
      if (rested != nullptr && !rested->armed) Arm(id, rested);
    });
    return;
  }
  watch = Find(id);
  if (watch != nullptr && !watch->armed) Arm(id, watch);
}

void Loop::FireBell(WatchId id) {
  Watch* watch = Find(id);
  if (watch == nullptr) return;
  watch->armed = false;
  lane::CancelSleep(watch->bell);  // awake: ringers need no system call
  bells_to_arm_.push_back(id);
  const std::shared_ptr<Handler> handler = watch->handler;
  (*handler)();
}

// Announce, look once more, then wait for the sequence read before the look: a ring in between
// makes the wait return at once.
void Loop::ArmBells() {
  for (size_t i = 0; i < bells_to_arm_.size(); ++i) {
    const WatchId id = bells_to_arm_[i];
    Watch* watch = Find(id);
    if (watch == nullptr) continue;
    const uint32_t sequence = lane::Sequence(watch->bell);
    lane::AnnounceSleep(watch->bell);
    const std::shared_ptr<Handler> handler = watch->handler;
    (*handler)();
    watch = Find(id);
    if (watch == nullptr) continue;
    watch->armed = true;
    if (waiter_ != nullptr) {
      waiter_->Arm(id, &watch->bell->sequence, sequence);
    } else {
      ring_->PrepareFutexWait(&watch->bell->sequence, sequence, id);
    }
  }
  bells_to_arm_.clear();
}

void Loop::ReapHelper() {
  for (const uint64_t id : waiter_->TakeFired()) FireBell(id);
}

void Loop::Turn(uint64_t timeout_ns) {
  const uint64_t due_ns = timers_.next_due_ns();
  const uint64_t now_ns = NowNs();
  uint64_t sleep_ns = due_ns == UINT64_MAX ? UINT64_MAX : due_ns - std::min(due_ns, now_ns);
  sleep_ns = std::min(sleep_ns, timeout_ns);
  if (!bells_to_arm_.empty()) sleep_ns = 0;
  for (const Ring::Event& event : ring_->Wait(sleep_ns)) Dispatch(event);
  timers_.RunDue(NowNs());
  ArmBells();
  if (turn_end_) turn_end_();
  ++turns_;
}

void Loop::Run() {
  RunPromptly();
  while (!stopping_) Turn(UINT64_MAX);
}

}  // namespace sgprs::loop
