// SPDX-License-Identifier: Apache-2.0
#include "shim/issue/marker.h"

#include <new>

#include "runtime/base/clock.h"
#include "shim/interpose/interpose.h"
#include "shim/session.h"

namespace sgprs::shim {

MarkerEvent* MarkerPool::Take(uint32_t partition) {
  {
    FutexLock lock(&mutex_);
    uint32_t& count = free_count_[partition];
    if (count > 0) {
      MarkerEvent* event = free_[partition][--count];
      event->references.store(1, std::memory_order_relaxed);
      return event;
    }
  }
  auto* event = new (std::nothrow) MarkerEvent;
  if (event == nullptr) return nullptr;
  // Blocking: the completer's wait must not burn a core of the host program.
  const unsigned flags = CU_EVENT_BLOCKING_SYNC;
  if (partition < SGPRS_MAX_PARTITIONS) {
    event->event = TheSession()->backend->MakeEvent(partition, flags);
  } else {
    SGPRS_REAL(cuEventCreate)(&event->event, flags);
  }
  if (event->event == nullptr) {
    delete event;
    return nullptr;
  }
  event->partition = partition;
  {
    FutexLock lock(&mutex_);
    event->generation = generation_;
  }
  event->references.store(1, std::memory_order_relaxed);
  return event;
}

void MarkerPool::Release(MarkerEvent* event) {
  // acq_rel: the last holder sees what the others did with the event before it is used again.
  if (event == nullptr || event->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  {
    FutexLock lock(&mutex_);
    uint32_t& count = free_count_[event->partition];
    if (event->generation != generation_) return;  // its context may be gone: left as it is
    if (count < kPerPartition) {
      free_[event->partition][count++] = event;
      return;
    }
  }
  SGPRS_REAL(cuEventDestroy_v2)(event->event);
  delete event;
}

void MarkerPool::Forget() {
  FutexLock lock(&mutex_);
  for (uint32_t& count : free_count_) count = 0;
  ++generation_;
}

void MarkerPool::ResetAfterFork() {
  mutex_.ResetAfterFork();
  Forget();
}

void MarkerQueue::ResetAfterFork() {
  tail_.store(0, std::memory_order_relaxed);
  head_.store(0, std::memory_order_relaxed);
  asleep_.store(0, std::memory_order_relaxed);
}

MarkerPool* TheMarkerPool() {
  static constinit MarkerPool pool;
  return &pool;
}

MarkerQueue* TheMarkerQueue() {
  static MarkerQueue* queue = new (std::nothrow) MarkerQueue;
  return queue;
}

bool MarkerQueue::Push(const Marker& marker) {
  const uint64_t tail = tail_.load(std::memory_order_relaxed);  // only the issuer writes it
  // Acquire pairs with Pop(): the cell is copied out.
  if (tail - head_.load(std::memory_order_acquire) >= kMarkers) return false;
  ring_[tail % kMarkers] = marker;
  // seq_cst with `asleep_`: no lost wake-up (runtime/lane/doorbell.h has the argument).
  tail_.store(tail + 1, std::memory_order_seq_cst);
  if (asleep_.load(std::memory_order_seq_cst) != 0) {
    word_.fetch_add(1, std::memory_order_release);
    syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }
  return true;
}

bool MarkerQueue::Pop(Marker* marker) {
  const uint64_t head = head_.load(std::memory_order_relaxed);  // only the completer writes it
  if (tail_.load(std::memory_order_acquire) == head) return false;
  *marker = ring_[head % kMarkers];
  head_.store(head + 1, std::memory_order_release);
  return true;
}

void MarkerQueue::WaitForPush(uint64_t timeout_ns) {
  const uint32_t word = word_.load(std::memory_order_acquire);
  asleep_.store(1, std::memory_order_seq_cst);
  if (tail_.load(std::memory_order_seq_cst) == head_.load(std::memory_order_relaxed)) {
    const timespec limit = ToTimespec(timeout_ns);
    syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, word, timeout_ns != 0 ? &limit : nullptr,
            nullptr, 0);
  }
  asleep_.store(0, std::memory_order_relaxed);
}

}  // namespace sgprs::shim
