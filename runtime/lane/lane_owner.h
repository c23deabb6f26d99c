// SPDX-License-Identifier: Apache-2.0
// The runtime's side of a lane: makes the sealed memfd, reads what the shim records, writes grants.
//
// Trust: everything that the shim can write is hostile. Each call below copies once, checks the
// copy and returns the copy; a cursor that runs backwards or further than the ring allows is
// reported by Observe() as an error, upon which the caller cuts the client.
//
// Thread: the runtime's loop only. Nothing blocks, nothing allocates after Create().
#ifndef SGPRS_RUNTIME_LANE_LANE_OWNER_H_
#define SGPRS_RUNTIME_LANE_LANE_OWNER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "sgprs/abi/lane.h"

namespace boost::interprocess {
class mapped_region;
}

namespace sgprs::lane {

// Cursors as last read, checked against each other.
struct LaneCursors {
  uint64_t recorded = 0;
  uint64_t issued = 0;
  uint64_t completed = 0;
  uint64_t jobs = 0;
  uint64_t kernels_interned = 0;
};

class LaneOwner {
 public:
  // Makes, lays out, seals (SHRINK|GROW|SEAL) and maps a lane. Errors: kExhausted, kInternal.
  static Result<std::unique_ptr<LaneOwner>> Create(uint64_t client_id,
                                                   const uint8_t device_uuid[SGPRS_UUID_BYTES]);
  ~LaneOwner();

  // To pass with SCM_RIGHTS. Owned by this object.
  int fd() const { return fd_.get(); }
  uint64_t bytes() const;

  // Reads the shim's cursors. Error kInvalid: they break the rules; the text says how.
  Result<LaneCursors> Observe();
  // Cursors of the last good Observe().
  const LaneCursors& cursors() const { return cursors_; }

  // Copies slot `index`. False: not recorded yet, or rewritten since. Fields are not validated
  // beyond kind < SGPRS_SLOT_KIND_COUNT.
  bool CopySlotUntrusted(uint64_t index, SgprsSlot* slot) const;
  // Copies the name of kernel `id` (1-based). False: no such id. The copy is NUL-terminated.
  bool CopyKernelNameUntrusted(uint32_t id, SgprsKernelName* name) const;
  // Takes the next completion; false if there is none.
  bool TakeCompletionUntrusted(SgprsCompletion* completion);
  SgprsLaneCounters CopyCountersUntrusted() const;

  // Publishes a grant (its `sequence` is filled in) and rings the issuer. False: the ring is full,
  // i.e. the issuer has not consumed SGPRS_LANE_GRANTS grants; try again at its next completion.
  bool PublishGrant(SgprsGrant grant, uint64_t* sequence);
  // The cursor that tools show: first index not granted.
  void SetGranted(uint64_t index);

  // Settings. Each is one relaxed store: the shim reads them one by one.
  void SetPeriodNs(uint64_t period_ns);
  void SetPauseNs(uint64_t pause_ns);
  void SetJobLaunches(uint64_t launches);
  void SetJobRule(uint32_t rule);
  void SetAliveNs(uint64_t now_ns);  // heartbeat, at least every 250 ms

  // The bell the shim rings for the runtime; the loop sleeps on it (runtime/lane/doorbell.h).
  SgprsDoorbell* runtime_doorbell();
  // Address of the whole mapping, for tests.
  SgprsLaneHeader* header();

 private:
  LaneOwner();

  UniqueFd fd_;
  std::unique_ptr<boost::interprocess::mapped_region> region_;
  LaneCursors cursors_;
  uint64_t grants_published_ = 0;
  uint64_t completions_consumed_ = 0;
};

}  // namespace sgprs::lane

#endif  // SGPRS_RUNTIME_LANE_LANE_OWNER_H_
