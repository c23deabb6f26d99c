// SPDX-License-Identifier: Apache-2.0
// The issuer: one thread that hands recorded entries to the driver, in program order, as far as the
// runtime's grants go. If the runtime is gone or silent it grants itself, in order, and looks for a
// new runtime now and then.
#ifndef SGPRS_SHIM_ISSUE_ISSUER_H_
#define SGPRS_SHIM_ISSUE_ISSUER_H_

#include <cstdint>

#include "sgprs/abi/lane.h"
#include "shim/connect.h"
#include "shim/issue/marker.h"
#include "shim/record/entry.h"
#include "shim/session.h"

namespace sgprs::shim {

class Issuer {
 public:
  explicit Issuer(Session* session) : s_(session) {}
  // Body of the issuer thread; returns when the process exits.
  void Run();

 private:
  void Loop();
  // One entry under a grant that covers it. issue_lock held.
  void IssueOne(const Entry& entry, uint64_t index);
  void CallDriver(const Entry& entry, CUstream target, uint32_t partition);
  void FollowLastLaunch(GraphRow* row, VirtualStream* stream, CUstream target);
  void AfterIssue(const Entry& entry, uint64_t index);
  void WakeWaiters(uint64_t issued);

  // Grants. True if the entry may go now.
  bool Covered(const Entry& entry, uint64_t index);
  bool TakeGrant();
  void BeginGrant(const SgprsGrant& grant);
  bool RuntimeSilent();
  void GrantItself(const Entry& entry);
  void GoItself();  // no grants from here on

  // Markers. issue_lock held.
  void Touch(VirtualStream* stream);
  void Mark(bool whole);
  bool AtExpectedEnd(uint64_t index) const;
  bool HalfOfRange(uint64_t issued) const;

  void SleepForRecords();
  void SleepForGrant();

  // A new runtime: registers without a lock, swaps lanes at a moment when nothing is under way.
  void TryReconnect();
  bool AdoptLane(const Registration& registration);

  Session* s_;
  uint64_t recorded_seen_ = 0;  // `recorded` as of the last look
  SgprsGrant grant_ = {};       // the current one; sequence 0 with `self_`
  bool have_grant_ = false;
  bool self_ = false;       // issuing without grants
  uint64_t job_first_ = 0;  // process index of the first entry of the current job
  uint64_t first_issue_ns_ = 0;
  bool grant_started_ = false;
  bool switched_ = false;
  MarkerEvent* start_ = nullptr;
  uint64_t marked_ = 0;  // process index up to which there is a marker
  VirtualStream* touched_[kMarkerStreams] = {};
  uint32_t touched_count_ = 0;
  Registration pending_;
  bool pending_ready_ = false;
  uint64_t last_attempt_ns_ = 0;
  uint64_t last_check_ns_ = 0;
  uint64_t waiting_since_ns_ = 0;  // for a grant, 0 = not waiting
};

}  // namespace sgprs::shim

#endif  // SGPRS_SHIM_ISSUE_ISSUER_H_
