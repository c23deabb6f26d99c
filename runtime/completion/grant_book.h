// SPDX-License-Identifier: Apache-2.0
// The grants of one client: what the scheduler decided is published in the lane, what the shim
// completes comes back as reports for the scheduler. Keeps the two number systems apart: the
// scheduler counts launches from 0 within a job, the lane counts slots.
//
// Trust: completions are copied once and checked; a completion names a grant by its sequence, and
// what that grant was is read here, not from the record. Thread: the loop's. Pure but for the lane.
#ifndef SGPRS_RUNTIME_COMPLETION_GRANT_BOOK_H_
#define SGPRS_RUNTIME_COMPLETION_GRANT_BOOK_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/lane/lane_owner.h"
#include "runtime/sched/scheduler.h"

namespace sgprs::completion {

// A granted stage that is over, for the trace.
struct StageRecord {
  sched::Grant grant;
  uint64_t granted_ns = 0;
  uint64_t first_issue_ns = 0;  // 0 = unknown
  uint64_t complete_ns = 0;
  uint64_t gpu_ns = 0;  // 0 = unknown
};

class GrantBook {
 public:
  // `lane` outlives this object. `force_switch`: marks grants that switch as forced.
  GrantBook(lane::LaneOwner* lane, bool force_switch) : lane_(lane), force_switch_(force_switch) {}

  // Queues a grant of a job that begins at lane index `job_first`, and publishes what fits. What
  // does not is kept for the next Publish().
  void Add(const sched::Grant& grant, uint64_t job_first, uint64_t now_ns);
  void Publish(uint64_t now_ns);
  size_t unpublished() const { return waiting_.size(); }

  // Takes the lane's completions, at most one ring of them. Appends reports in order, `recorded`
  // left 0. Returns the lane index before which everything is complete according to them, and when;
  // upto 0 = none came. Error kInvalid: a completion that can not be; the client is to be cut.
  struct Progress {
    uint64_t upto = 0;
    uint64_t complete_ns = 0;
  };
  Result<Progress> TakeCompletions(uint64_t now_ns, std::vector<sched::StageReport>* reports);

  // For completions that never came (ring full, work done without a grant): reports what the lane's
  // cursors say and was not reported yet.
  Progress ReportFromCursors(uint64_t now_ns, std::vector<sched::StageReport>* reports);

  // Moves the lane's `granted` cursor by what was last observed. `job_end`: lane index where the
  // job of the latest grant ends, UINT64_MAX if it is not known.
  void MoveGranted(uint64_t job_end);
  uint64_t granted_job() const { return granted_job_; }  // of the latest published grant

  // The job is complete: what runs of it under an open grant ends there. More of it may follow.
  void FinishJob(uint64_t job, uint64_t complete_ns);
  // Nothing more of the job will come.
  void CloseJob(uint64_t job, uint64_t complete_ns);
  // Stages that ended since the last call, in order.
  std::vector<StageRecord> TakeEnded();

  uint64_t published() const { return published_; }
  uint64_t granted() const { return granted_; }
  uint64_t reported_upto() const { return reported_upto_; }
  uint64_t gpu_ns() const { return gpu_ns_; }
  uint64_t self_completions() const { return self_completions_; }
  uint64_t driver_errors() const { return driver_errors_; }

 private:
  struct Entry {
    sched::Grant grant;
    uint64_t sequence = 0;
    uint64_t job_first = 0;
    uint64_t from = 0;  // lane indexes
    uint64_t upto = SGPRS_GRANT_OPEN;
    uint64_t granted_ns = 0;
    uint64_t first_issue_ns = 0;
    uint64_t gpu_ns = 0;  // counted so far
    bool ended = false;
  };
  using Reports = std::vector<sched::StageReport>;

  Status TakeOne(const SgprsCompletion& completion, uint64_t now_ns, Reports* reports);
  void TakeOwn(Entry* entry, const SgprsCompletion& completion, uint64_t now_ns, Reports* reports);
  // All of `completed` is done by whichever grants: reports them whole or in part.
  void ReportUpto(uint64_t completed, uint64_t complete_ns, Reports* reports);
  void Report(const Entry& entry, uint64_t completed, uint64_t complete_ns, uint64_t gpu_ns,
              Reports* reports);
  void End(Entry* entry, uint64_t complete_ns);
  SgprsGrant ToLane(const Entry& entry, uint64_t now_ns) const;

  lane::LaneOwner* const lane_;
  const bool force_switch_;
  std::deque<Entry> waiting_;  // not published yet
  std::deque<Entry> open_;     // published, not complete, by sequence
  std::vector<StageRecord> ended_;
  uint64_t published_ = 0;
  uint64_t granted_ = 0;
  uint64_t granted_upto_ = 0;  // of the latest published grant
  uint64_t granted_job_ = 0;
  uint64_t reported_upto_ = 0;
  uint64_t gpu_ns_ = 0;
  uint64_t self_completions_ = 0;
  uint64_t driver_errors_ = 0;
};

}  // namespace sgprs::completion

#endif  // SGPRS_RUNTIME_COMPLETION_GRANT_BOOK_H_
