// SPDX-License-Identifier: Apache-2.0
// Statistics of one task's jobs, and which part cost a job its deadline, compared with what is
// usual for the task. Pure; one thread at a time.
#ifndef SGPRS_TOOLS_SGPRS_JOBS_MISS_CAUSE_H_
#define SGPRS_TOOLS_SGPRS_JOBS_MISS_CAUSE_H_

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/observe/job_phases.h"
#include "tools/sgprs/jobs/duration_histogram.h"
#include "tools/sgprs/jobs/job_history.h"
#include "tools/sgprs/jobs/job_parts.h"

namespace sgprs::cli {

// Of the jobs given to it: all of a task, or a window of them. About 200 KiB when full.
class TaskStatistics {
 public:
  // On-time jobs from which "usual" is taken; with fewer there is none.
  static constexpr uint64_t kLeastUsual = 5;

  void Add(const HistoryJob& job);

  uint64_t jobs() const { return jobs_; }
  uint64_t with_deadline() const { return with_deadline_; }
  uint64_t missed() const { return missed_; }
  uint64_t learning() const { return learning_; }
  uint64_t off_signature() const { return off_signature_; }
  uint64_t stamped() const { return stamped_; }  // with stamps of the kernel, whole or not
  uint64_t whole() const { return whole_; }      // HasWholeStamps()
  // Moments of the record, all jobs (runtime/observe/job_phases.h).
  const DurationHistogram& phase(observe::JobPhase phase) const {
    return phases_[static_cast<size_t>(phase)];
  }
  // Of the jobs that met their deadline (or have none), learning ones left out.
  const DurationHistogram& usual(JobPart part) const { return usual_[static_cast<size_t>(part)]; }
  // All jobs but learning ones; what is compared if nothing was ever on time.
  const DurationHistogram& part(JobPart part) const { return parts_[static_cast<size_t>(part)]; }
  // From the release to the completion of the same jobs as usual().
  const DurationHistogram& usual_response() const { return usual_response_; }
  bool has_usual() const { return usual_response_.count() >= kLeastUsual; }
  // Deadline less completion of jobs that met it.
  const DurationHistogram& slack() const { return slack_; }

 private:
  uint64_t jobs_ = 0;
  uint64_t with_deadline_ = 0;
  uint64_t missed_ = 0;
  uint64_t learning_ = 0;
  uint64_t off_signature_ = 0;
  uint64_t stamped_ = 0;
  uint64_t whole_ = 0;
  std::array<DurationHistogram, observe::kJobPhases.size()> phases_;
  std::array<DurationHistogram, kJobParts.size()> usual_;
  std::array<DurationHistogram, kJobParts.size()> parts_;
  DurationHistogram usual_response_;
  DurationHistogram slack_;
};

struct PartFinding {
  JobPart part = JobPart::k_execute;
  uint64_t took_ns = 0;
  uint64_t usual_ns = 0;   // median; 0 without Diagnosis::compared
  uint64_t excess_ns = 0;  // over the usual, 0 if under it
};

struct Diagnosis {
  // Every part that took time or usually does, the largest excess first.
  std::vector<PartFinding> parts;
  // The part that cost the deadline: the largest excess; without a usual the longest part. Of a job
  // that met its deadline: what would have cost it first.
  JobPart cause = JobPart::k_execute;
  bool compared = false;  // the task has on-time jobs enough to say what is usual
  uint64_t response_ns = 0;
  uint64_t late_ns = 0;   // completion after the deadline
  uint64_t slack_ns = 0;  // completion before it
  // The fewest parts which, had they taken their usual time, would have met the deadline; empty:
  // not missed, or not even all of them.
  std::vector<JobPart> cure;
};

Diagnosis Diagnose(const HistoryJob& job, const TaskStatistics& task);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_JOBS_MISS_CAUSE_H_
