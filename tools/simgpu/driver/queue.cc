// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/driver/queue.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/base/clock.h"
#include "tools/simgpu/driver/futex.h"
#include "tools/simgpu/driver/objects.h"
#include "tools/simgpu/driver/process.h"
#include "tools/simgpu/driver/reserve.h"

namespace sgprs::simgpu::driver {
namespace {

constexpr int kLeastSpin = 16;
constexpr int kMostSpin = 256;
constexpr uint32_t kLookMs = 100;  // how often a sleeper looks whether the device still lives
// A stream has at most two blocks in flight: the launch queue of a GPU holds about 1000 entries,
// and a launch beyond that waits.
constexpr uint64_t kBlock = 512;
constexpr uint64_t kMostLookedAt = 256;  // log entries; beyond it a ring is cheaper

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

CUresult Queue::Start(Channel* channel) {
  void* memory = ReserveTable(kCommandCount * sizeof(Op));
  if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  channel_ = channel;
  ops_ = static_cast<Op*>(memory);  // zero bytes are a valid, pending Op of generation 0
  spin_ = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? kLeastSpin : 0;
  return CUDA_SUCCESS;
}

CUresult Queue::Wait(uint64_t seq, bool may_spin) {
  // relaxed: a guess, corrected by use.
  const int rounds = may_spin ? spin_.load(std::memory_order_relaxed) : 0;
  for (int i = 0; i < rounds; ++i) {
    if (IsDone(seq)) {
      if (i > 0) spin_.store(std::min(rounds * 2, kMostSpin), std::memory_order_relaxed);
      return CUDA_SUCCESS;
    }
    Pause();
  }
  if (rounds > kLeastSpin) spin_.store(std::max(rounds / 2, kLeastSpin), std::memory_order_relaxed);
  if (IsDone(seq)) return CUDA_SUCCESS;
  const int ask = channel_->Ask(seq);
  const CUresult result = SleepUntilDone(seq);
  channel_->TakeBack(ask);
  return result;
}

CUresult Queue::SleepUntilDone(uint64_t seq) {
  std::atomic<uint32_t>& word = ops_[seq & kMask].word;
  while (!IsDone(seq)) {
    if (CUresult status = ProcessStatus()) return status;
    const uint32_t waited = Generation(seq) << 2 | kOpWaited;
    uint32_t expected = Generation(seq) << 2 | kOpPending;
    // relaxed on success: only asks Finish, which sees it by its exchange, for a wake.
    if (!word.compare_exchange_strong(expected, waited, std::memory_order_relaxed) &&
        expected != waited) {
      continue;
    }
    FutexWait(reinterpret_cast<uint32_t*>(&word), waited, kLookMs, false);
    if (!IsDone(seq) && !channel_->Alive()) MarkLost();
  }
  return CUDA_SUCCESS;
}

Op* Queue::Pending(uint64_t seq) {
  Op* op = &ops_[seq & kMask];
  // acquire: pairs with Commit's release; the op is whole.
  const uint32_t word = op->word.load(std::memory_order_acquire);
  return word >> 2 == Generation(seq) && (word & 3) != kOpDone && op->seq == seq ? op : nullptr;
}

void Queue::Finish(Op* op) {
  // release: pairs with IsDone; acq: with a waiter's mark.
  const uint32_t done = Generation(op->seq) << 2 | kOpDone;
  const uint32_t before = op->word.exchange(done, std::memory_order_acq_rel);
  if ((before & 3) == kOpWaited) FutexWakeAll(reinterpret_cast<uint32_t*>(&op->word), false);
}

void Queue::NoteHandled() {
  // acquire: pairs with Commit and SendControl; the words up to there are of these commands.
  const uint64_t newest = newest_.load(std::memory_order_acquire);
  uint64_t done = all_done_.load(std::memory_order_relaxed);  // ours
  while (done < newest && IsDone(done + 1)) ++done;
  all_done_.store(done, std::memory_order_release);  // pairs with MakeRoom: the slots are free
  // release: pairs with DeviceWillLook; what Finish did for the entry is visible.
  handled_.store(handled_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

CUresult Queue::MakeRoom(std::unique_lock<std::mutex>& lock, bool spare) {
  for (;;) {
    const uint64_t next = tail_ + 1;
    const uint64_t most = kCommandCount - (spare ? 0 : kSpare);
    if (next - known_done_ > most) {
      known_done_ = all_done_.load(std::memory_order_acquire);  // pairs with NoteHandled
    }
    if (next - known_head_ > kCommandCount) known_head_ = channel_->CommandHead();
    const bool full = next - known_done_ > most;
    if (!full && next - known_head_ <= kCommandCount) return CUDA_SUCCESS;
    if (CUresult status = ProcessStatus()) return status;
    channel_->Publish(tail_);
    channel_->Ring();
    const uint64_t oldest = known_done_ + 1;
    lock.unlock();
    CUresult result = CUDA_SUCCESS;
    if (full && !IsDone(oldest)) {
      result = Wait(oldest);
    } else {  // the executor or the device is about to say so
      usleep(50);
      if (!channel_->Alive()) MarkLost();
    }
    lock.lock();
    if (result != CUDA_SUCCESS) return result;
  }
}

CUresult Queue::SendControl(const Command& command) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (CUresult status = MakeRoom(lock, true)) return status;
  const uint64_t seq = ++tail_;
  Command* slot = &channel_->commands()[seq & kMask];
  *slot = command;
  slot->seq = seq;
  slot->submit_ns = NowNs();
  Op* op = &ops_[seq & kMask];
  op->seq = seq;
  op->kind = OpKind::kNothing;
  // Ended as far as anybody here may ask. release: pairs with Pending.
  op->word.store(Generation(seq) << 2 | kOpDone, std::memory_order_release);
  newest_.store(seq, std::memory_order_release);  // pairs with NoteHandled
  channel_->Publish(tail_);
  channel_->Ring();
  return CUDA_SUCCESS;
}

bool Queue::DeviceWillLook(uint64_t before) const {
  if (before == 0) return false;
  const uint64_t logged = channel_->LogTail();
  // acquire: pairs with NoteHandled; for the entries so far IsDone says what the device knew. The
  // rest of what it has logged is read here, or every submission would ring, and each ring make it
  // log more, for as long as the executor has not had its turn.
  const uint64_t handled = handled_.load(std::memory_order_acquire);
  if (IsDone(before) || logged - handled > kMostLookedAt) return false;
  return !channel_->LoggedEnd(before, handled, logged);  // what it ends later, it looks again after
}

Submission::Submission(Stream* stream)
    : queue_(TheProcess().queue), lock_(queue_.mutex_), stream_(stream) {
  HoldBack();
  before_ = stream_->last;
  if (status_ == CUDA_SUCCESS) JoinDefaultStream();
}

void Submission::HoldBack() {
  while (status_ == CUDA_SUCCESS) {
    const uint64_t block = stream_->count / kBlock;
    if (block == stream_->held_block) return;
    const uint64_t oldest = stream_->checkpoints[(block + 2) % 4];
    if (queue_.IsDone(oldest)) {
      stream_->held_block = block;
      return;
    }
    lock_.unlock();
    status_ = queue_.Wait(oldest);
    lock_.lock();
  }
}

void Submission::JoinDefaultStream() {
  if (!stream_->legacy) {
    if (!stream_->blocking()) return;
    const Stream* legacy = stream_->view->legacy;
    if (legacy == nullptr || legacy->last <= stream_->joined_legacy) return;
    const uint64_t last = legacy->last;
    WaitFor(last);  // may drop the lock: another thread must not take the join for done before
    stream_->joined_legacy = std::max(stream_->joined_legacy, last);
    return;
  }
  std::vector<uint64_t> pending;  // WaitFor may drop the lock
  for (Stream* other : stream_->view->streams) {
    if (!other->blocking() || other->last <= other->joined_by_legacy) continue;
    other->joined_by_legacy = other->last;
    if (!queue_.IsDone(other->last)) pending.push_back(other->last);
  }
  for (const Context::Orphan& orphan : stream_->view->orphans) {
    if (orphan.blocking && !queue_.IsDone(orphan.last)) pending.push_back(orphan.last);
  }
  for (uint64_t seq : pending) WaitFor(seq);
}

bool Submission::Next(CommandKind kind, OpKind op_kind) {
  if (status_ != CUDA_SUCCESS) return false;
  status_ = queue_.MakeRoom(lock_, false);
  if (status_ != CUDA_SUCCESS) return false;
  const uint64_t seq = queue_.tail_ + 1;
  command_ = &queue_.channel_->commands()[seq & Queue::kMask];
  memset(command_, 0, sizeof(*command_));
  command_->seq = seq;
  command_->submit_ns = NowNs();
  command_->kind = static_cast<uint32_t>(kind);
  command_->stream = stream_->id;
  command_->context = stream_->view->root->id;
  op_ = &queue_.ops_[seq & Queue::kMask];
  op_->kind = op_kind;
  op_->seq = seq;
  op_->context = stream_->view->root;
  return true;
}

uint64_t Submission::Commit() {
  const uint64_t seq = queue_.tail_ + 1;
  // release: pairs with Queue::Pending and IsDone; the op is whole.
  op_->word.store(Queue::Generation(seq) << 2 | kOpPending, std::memory_order_release);
  if (stream_->count % kBlock == 0) stream_->checkpoints[stream_->count / kBlock % 4] = seq;
  ++stream_->count;
  stream_->last = seq;
  queue_.tail_ = seq;
  queue_.newest_.store(seq, std::memory_order_release);  // pairs with NoteHandled
  committed_ = true;
  return seq;
}

void Submission::WaitFor(uint64_t seq) {
  if (queue_.IsDone(seq) || status_ != CUDA_SUCCESS) return;
  if (!Next(CommandKind::kWait, OpKind::kNothing)) return;
  command_->wait_seq = seq;
  Commit();
}

CUresult Submission::Publish() {
  if (committed_) {
    queue_.channel_->Publish(queue_.tail_);
    if (!queue_.DeviceWillLook(before_)) queue_.channel_->Ring();
  }
  committed_ = false;
  if (lock_.owns_lock()) lock_.unlock();
  return status_;
}

}  // namespace sgprs::simgpu::driver
