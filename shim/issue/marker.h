// SPDX-License-Identifier: Apache-2.0
// A marker: events behind issued work, by which the completer learns that it is done and how long
// it took on the GPU. Handed from the issuer to the completer.
#ifndef SGPRS_SHIM_ISSUE_MARKER_H_
#define SGPRS_SHIM_ISSUE_MARKER_H_

#include <cuda.h>

#include <atomic>
#include <cstdint>

#include "sgprs/abi/lane.h"
#include "shim/record/futex_mutex.h"

namespace sgprs::shim {

// An event on loan from the pool; returns to it when the last marker lets go.
struct MarkerEvent {
  CUevent event = nullptr;
  uint32_t partition = 0;
  uint32_t generation = 0;  // of the pool it was made for
  std::atomic<uint32_t> references{0};
};

inline constexpr uint32_t kMarkerStreams = 8;

struct Marker {
  uint64_t upto = 0;        // process index: everything before it is behind the events
  uint32_t generation = 0;  // of the lane it belongs to
  uint32_t end_count = 0;
  MarkerEvent* start = nullptr;  // behind what came before the grant's first item
  MarkerEvent* ends[kMarkerStreams] = {};
  SgprsCompletion completion = {};
};

// Events by partition. Thread: issuer takes; completer and issuer give back.
class MarkerPool {
 public:
  // nullptr: the driver gives no event. References = 1.
  MarkerEvent* Take(uint32_t partition);
  void AddReference(MarkerEvent* event) {
    event->references.fetch_add(1, std::memory_order_relaxed);
  }
  void Release(MarkerEvent* event);
  // The events made so far belong to a pool that is gone: they are not used again.
  void Forget();
  void ResetAfterFork();

 private:
  static constexpr uint32_t kPerPartition = 64;
  FutexMutex mutex_;
  uint32_t generation_ = 0;
  MarkerEvent* free_[SGPRS_MAX_PARTITIONS + 1][kPerPartition] = {};
  uint32_t free_count_[SGPRS_MAX_PARTITIONS + 1] = {};
};

MarkerPool* TheMarkerPool();

// Queue to the completer: one producer (issuer), one consumer.
class MarkerQueue {
 public:
  static constexpr uint64_t kMarkers = 1024;
  bool Push(const Marker& marker);
  bool Pop(Marker* marker);
  void ResetAfterFork();
  bool Empty() const {
    return tail_.load(std::memory_order_acquire) == head_.load(std::memory_order_acquire);
  }
  // Consumer sleeps until something was pushed or `timeout_ns` passed.
  void WaitForPush(uint64_t timeout_ns);

 private:
  Marker ring_[kMarkers];
  alignas(64) std::atomic<uint64_t> tail_{0};
  alignas(64) std::atomic<uint64_t> head_{0};
  std::atomic<uint32_t> word_{0};
  std::atomic<uint32_t> asleep_{0};
};

MarkerQueue* TheMarkerQueue();

// Body of the completer thread.
void RunCompleter();

}  // namespace sgprs::shim

#endif  // SGPRS_SHIM_ISSUE_MARKER_H_
