// SPDX-License-Identifier: Apache-2.0
// Commands on their way to the device: numbers them, keeps their client half, orders the default
// stream against the others, and lets threads wait for their end.
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_QUEUE_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_QUEUE_H_

#include <atomic>
#include <cstdint>
#include <mutex>

#include "tools/simgpu/driver/api.h"
#include "tools/simgpu/driver/channel.h"
#include "tools/simgpu/driver/op.h"

namespace sgprs::simgpu::driver {

using simgpu::Command;
using simgpu::CommandKind;
using simgpu::CopyDirection;

struct Stream;

class Queue {
 public:
  // Makes the table. Before any thread uses the queue.
  CUresult Start(Channel* channel);

  // Has command `seq` ended and taken effect? 0 = yes. Thread: any.
  bool IsDone(uint64_t seq) const {
    if (seq == 0) return true;
    // acquire: pairs with Finish's release; the effect of the command is visible.
    const uint32_t word = ops_[seq & kMask].word.load(std::memory_order_acquire);
    return word >> 2 != Generation(seq) || (word & 3) == kOpDone;
  }

  // IsDone for somebody who polls: if not, the device tells the end at once. Thread: any.
  bool Poll(uint64_t seq) {
    if (IsDone(seq)) return true;
    channel_->AskPolling(seq);
    return IsDone(seq);
  }

  // Blocks until IsDone(seq). DEVICE_UNAVAILABLE if the device process is gone.
  CUresult Wait(uint64_t seq, bool may_spin = true);

  // Executor: the op of a log entry, or nullptr if it is none that is pending.
  Op* Pending(uint64_t seq);
  // Executor: the command has ended; wakes its waiters.
  void Finish(Op* op);

  // Executor: one more log entry has been dealt with.
  void NoteHandled();

  // The lock of everything that orders commands: streams' and contexts' submission fields.
  std::mutex& mutex() { return mutex_; }
  // Number of the newest command. Caller holds the lock.
  uint64_t tail() const { return tail_; }
  // True while some command is unfinished; a hint.
  bool Busy() const {
    return all_done_.load(std::memory_order_relaxed) < newest_.load(std::memory_order_relaxed);
  }

  // A command with nothing to do in this process (streams and contexts come and go). Takes the
  // lock.
  CUresult SendControl(const Command& command);

 private:
  friend class Submission;
  static constexpr uint64_t kMask = kCommandCount - 1;
  // Slots kept for kHostDone, which must get through when programs have filled all others.
  static constexpr uint64_t kSpare = 64;
  static uint32_t Generation(uint64_t seq) {
    return static_cast<uint32_t>((seq / kCommandCount) & 0x3fffffff);
  }
  // After Publish: will the device find the new commands without being woken? So if `before`, a
  // command ahead of them in their stream, has not ended: nothing can start before it does, and the
  // device wakes for that by itself.
  bool DeviceWillLook(uint64_t before) const;
  CUresult SleepUntilDone(uint64_t seq);
  // Caller holds `lock`; may drop it and take it again.
  CUresult MakeRoom(std::unique_lock<std::mutex>& lock, bool spare);

  Channel* channel_ = nullptr;
  Op* ops_ = nullptr;
  std::mutex mutex_;
  uint64_t tail_ = 0;                  // under mutex_
  uint64_t known_done_ = 0;            // under mutex_: all_done_ as last seen
  uint64_t known_head_ = 0;            // under mutex_: CommandHead() as last seen
  std::atomic<uint64_t> newest_{0};    // tail_, for the executor
  std::atomic<uint64_t> handled_{0};   // log entries; the executor's
  std::atomic<uint64_t> all_done_{0};  // every command up to here has ended; the executor's
  std::atomic<int> spin_{0};           // rounds that a waiter looks before it sleeps; learns
};

// Commands of one call for one stream, in order. Holds the queue's lock from the constructor to
// Publish or the end. Waits (without the lock) while too much is in flight.
class Submission {
 public:
  // Joins the stream with its context's default stream as CUDA prescribes.
  explicit Submission(Stream* stream);
  ~Submission() { Publish(); }
  Submission(const Submission&) = delete;
  Submission& operator=(const Submission&) = delete;

  CUresult status() const { return status_; }
  // The next command, zeroed but for seq, time, stream and context. After it is filled: Commit.
  // False: status() says why.
  bool Next(CommandKind kind, OpKind op_kind);
  Op& op() { return *op_; }
  Command& command() { return *command_; }
  // Returns the command's number.
  uint64_t Commit();
  // The stream waits for `seq`, if that has not ended.
  void WaitFor(uint64_t seq);
  // Shows what was committed to the device; drops the lock.
  CUresult Publish();

 private:
  void JoinDefaultStream();
  void HoldBack();

  Queue& queue_;
  std::unique_lock<std::mutex> lock_;
  Stream* stream_;
  Op* op_ = nullptr;
  Command* command_ = nullptr;
  uint64_t before_ = 0;  // newest command of the stream before ours
  bool committed_ = false;
  CUresult status_ = CUDA_SUCCESS;
};

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_QUEUE_H_
