// SPDX-License-Identifier: Apache-2.0
// The completer: waits for each marker on the device, moves `completed`, tells the runtime.
#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/lane/doorbell.h"
#include "shim/interpose/interpose.h"
#include "shim/issue/marker.h"
#include "shim/session.h"

namespace sgprs::shim {
namespace {

// Waits for all events of the marker. The time-out is the device's: a kernel that never ends keeps
// this thread here, and only this thread.
CUresult WaitForDevice(const Marker& marker) {
  CUresult result = CUDA_SUCCESS;
  for (uint32_t i = 0; i < marker.end_count; ++i) {
    const CUresult one = SGPRS_REAL(cuEventSynchronize)(marker.ends[i]->event);
    if (one != CUDA_SUCCESS) result = one;
  }
  return result;
}

uint64_t GpuNs(const Marker& marker) {
  if (marker.start == nullptr || marker.end_count == 0) return 0;
  float longest_ms = 0;
  for (uint32_t i = 0; i < marker.end_count; ++i) {
    float ms = 0;
    const CUresult result =
        SGPRS_REAL(cuEventElapsedTime)(&ms, marker.start->event, marker.ends[i]->event);
    if (result != CUDA_SUCCESS) return 0;
    if (ms > longest_ms) longest_ms = ms;
  }
  return static_cast<uint64_t>(static_cast<double>(longest_ms) * 1e6);
}

void Publish(Session* s, const Marker& marker) {
  FutexLock lock(&s->lane_lock);  // the issuer may swap the lane
  if (marker.generation != s->lane_generation || s->lane == nullptr) return;
  SgprsLaneHeader* lane = s->lane;
  const uint64_t published = lane->completions_published;  // only we write it
  std::atomic_ref<uint64_t> consumed(lane->completions_consumed);
  // Release pairs with LaneOwner::Observe().
  std::atomic_ref<uint64_t>(lane->completed)
      .store(marker.upto - s->lane_base, std::memory_order_release);
  // Acquire pairs with the runtime's release store: it has copied the cell that we rewrite.
  if (published - consumed.load(std::memory_order_acquire) >= SGPRS_LANE_COMPLETIONS) {
    std::atomic_ref<uint64_t> lost(lane->counters.completions_lost);
    lost.store(lost.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  } else {
    auto* ring = reinterpret_cast<SgprsCompletion*>(reinterpret_cast<char*>(lane) +
                                                    lane->completions_offset);
    SgprsCompletion completion = marker.completion;
    completion.upto = marker.upto - s->lane_base;
    memcpy(&ring[published & (SGPRS_LANE_COMPLETIONS - 1)], &completion, sizeof(completion));
    // Release pairs with LaneOwner::TakeCompletionUntrusted().
    std::atomic_ref<uint64_t>(lane->completions_published)
        .store(published + 1, std::memory_order_release);
  }
  lane::Ring(&lane->runtime_doorbell);
}

void Complete(Session* s, Marker* marker) {
  const CUresult result = WaitForDevice(*marker);
  SgprsCompletion& c = marker->completion;
  c.complete_ns = NowNs();
  c.gpu_ns = GpuNs(*marker);
  if (result != CUDA_SUCCESS) {
    c.flags |= SGPRS_COMPLETION_ERROR;
    c.driver_error = result;
  }
  Publish(s, *marker);
  for (uint32_t i = 0; i < marker->end_count; ++i) TheMarkerPool()->Release(marker->ends[i]);
  TheMarkerPool()->Release(marker->start);
}

}  // namespace

void RunCompleter() {
  Session* s = TheSession();
  MarkerQueue* queue = TheMarkerQueue();
  while (true) {
    Marker marker;
    if (queue->Pop(&marker)) {
      Complete(s, &marker);
      // Release pairs with AtExit(): the runtime has been told.
      s->completed.store(marker.upto, std::memory_order_release);
    } else {
      queue->WaitForPush(0);
    }
  }
}

}  // namespace sgprs::shim
