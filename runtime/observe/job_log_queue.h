// SPDX-License-Identifier: Apache-2.0
// From the loop to the job log's writer thread: a bounded ring of records, one producer, one
// consumer. Neither waits for the other.
#ifndef SGPRS_RUNTIME_OBSERVE_JOB_LOG_QUEUE_H_
#define SGPRS_RUNTIME_OBSERVE_JOB_LOG_QUEUE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>

#include "sgprs/abi/job_log.h"

namespace sgprs::observe {

struct alignas(8) LogSlot {
  unsigned char bytes[SGPRS_LOG_RECORD_BYTES];

  template <typename T>
  static LogSlot Of(const T& record) {
    static_assert(sizeof(T) == SGPRS_LOG_RECORD_BYTES);
    LogSlot slot;
    std::memcpy(slot.bytes, &record, sizeof(record));
    return slot;
  }
  template <typename T>
  T As() const {
    static_assert(sizeof(T) == SGPRS_LOG_RECORD_BYTES);
    T record;
    std::memcpy(&record, bytes, sizeof(record));
    return record;
  }
  SgprsLogRecord Head() const {
    SgprsLogRecord head;
    std::memcpy(&head, bytes, sizeof(head));
    return head;
  }
  void SetHead(const SgprsLogRecord& head) { std::memcpy(bytes, &head, sizeof(head)); }
};

class JobLogQueue {
 public:
  // `slots`: a power of two.
  explicit JobLogQueue(uint32_t slots) : mask_(slots - 1), slots_(new LogSlot[slots]) {}

  // Producer. All `count` or none; false: no room.
  bool Push(const LogSlot* records, uint32_t count) {
    const uint64_t tail = tail_.load(std::memory_order_relaxed);  // relaxed: only we write it
    // Acquire, with the release in Pop(): what it freed was read.
    if (tail + count - head_.load(std::memory_order_acquire) > mask_ + 1) return false;
    for (uint32_t i = 0; i < count; ++i) slots_[(tail + i) & mask_] = records[i];
    // Release, with the acquire in Pop(): the slots are written.
    tail_.store(tail + count, std::memory_order_release);
    return true;
  }

  // Consumer. Copies at most `most` records, returns how many.
  uint32_t Pop(LogSlot* to, uint32_t most) {
    const uint64_t head = head_.load(std::memory_order_relaxed);  // relaxed: only we write it
    // Acquire, with the release in Push().
    const uint64_t tail = tail_.load(std::memory_order_acquire);
    const auto count = static_cast<uint32_t>(std::min<uint64_t>(tail - head, most));
    for (uint32_t i = 0; i < count; ++i) to[i] = slots_[(head + i) & mask_];
    // Release, with the acquire in Push().
    head_.store(head + count, std::memory_order_release);
    return count;
  }

  uint32_t capacity() const { return static_cast<uint32_t>(mask_ + 1); }

 private:
  const uint64_t mask_;
  const std::unique_ptr<LogSlot[]> slots_;
  alignas(64) std::atomic<uint64_t> tail_{0};  // the producer's
  alignas(64) std::atomic<uint64_t> head_{0};  // the consumer's
};

}  // namespace sgprs::observe

#endif  // SGPRS_RUNTIME_OBSERVE_JOB_LOG_QUEUE_H_
