// SPDX-License-Identifier: Apache-2.0
// The application's stream and its stand-ins. The handle that the application holds stays a real
// stream of the driver, the *anchor*; recorded work runs on partition streams instead, and joins
// the anchor when something the shim does not understand needs it (design.md 4).
//
// Order: within one virtual stream every item follows the one before, also across partitions, by
// one event record and one wait per switch. The NULL stream and the blocking streams of its context
// follow each other, which partition streams (non-blocking) would not do by themselves.
#ifndef SGPRS_SHIM_ISSUE_VIRTUAL_STREAM_H_
#define SGPRS_SHIM_ISSUE_VIRTUAL_STREAM_H_

#include <cuda.h>

#include <atomic>
#include <cstdint>

#include "sgprs/abi/abi.h"

namespace sgprs::shim {

// What a stand-in takes over from the application's stream. Not the priority: that is the level's.
inline constexpr CUstreamAttrID kKeptAttributes[] = {
    CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY,
    CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN};
inline constexpr uint32_t kKeptCount = 4;

struct StreamAttributes {
  bool set[kKeptCount] = {};
  CUstreamAttrValue values[kKeptCount] = {};
};

struct VirtualStream {
  // Constant from MakeRow() until the row is given up.
  CUstream anchor = nullptr;  // as the application holds it; 0 = legacy NULL, 2 = per thread
  CUcontext context = nullptr;
  uint32_t thread = 0;   // per-thread stream: kernel thread id of its owner, else 0
  uint32_t ordinal = 0;  // 0 = NULL stream
  bool legacy_null = false;
  bool blocking = false;  // ordered with the NULL stream (not the NULL stream itself)
  int priority = 0;       // the application's

  // Under the record lock.
  // Session::direct_epoch up to which recorded items follow what went to the anchor directly.
  uint64_t clean_epoch = 0;
  // Destroyed by the application; reused once all is complete. Written under both locks.
  std::atomic<bool> dead{false};
  std::atomic<uint64_t> recorded_upto{0};  // process index after its latest recorded item

  // Under the issue lock.
  CUstream streams[SGPRS_MAX_PARTITIONS][2] = {};  // [partition][0 = ordinary, 1 = high priority]
  uint32_t streams_generation = 0;                 // pool generation they belong to
  CUstream last = nullptr;                         // where its latest item went; valid if `used`
  uint32_t last_partition = 0;                     // of `last`; SGPRS_MAX_PARTITIONS = the anchor
  bool used = false;                               // something was issued on a partition stream ...
  bool joined = true;                              // ... and the anchor already follows it
  // Recorded on `last` for whoever must follow; one a partition, since an event and its stream must
  // be of one context (facts/cuda.md 3). The last one is the anchor's.
  CUevent tail_events[SGPRS_MAX_PARTITIONS + 1] = {};
  uint32_t tail_generation = 0;    // pool generation of tail_events
  CUevent anchor_event = nullptr;  // recorded on the anchor, see kEntryWaitAnchor
  uint64_t capture = 0;            // its anchor is in this capture: it is not touched; 0 = in none
  uint64_t issue_count = 0;        // items issued
  uint64_t null_seen = 0;          // blocking: issue_count of the NULL stream it has waited for;
  uint64_t seen_by_null = 0;       // and what of its own the NULL stream has waited for
  // Of the application's stream, for stand-ins to come; null = none was ever set.
  StreamAttributes* attributes = nullptr;
  VirtualStream* next = nullptr;  // all of the session
};

}  // namespace sgprs::shim

#endif  // SGPRS_SHIM_ISSUE_VIRTUAL_STREAM_H_
