// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/jobs/job_parts.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace sgprs::cli {
namespace {

// Walks from moment to moment; what lies between two of them goes to one part.
class Walk {
 public:
  explicit Walk(uint64_t from_ns) : at_ns_(from_ns) {}

  void To(uint64_t moment_ns, JobPart part) {
    if (moment_ns <= at_ns_) return;
    spans_.push_back({part, at_ns_, moment_ns});
    at_ns_ = moment_ns;
  }
  uint64_t at_ns() const { return at_ns_; }
  std::vector<PartSpan>& spans() { return spans_; }

 private:
  uint64_t at_ns_;
  std::vector<PartSpan> spans_;
};

JobPart PartHeldBy(uint8_t held_by) {
  switch (held_by) {
    case SGPRS_HELD_OWN_JOB:
      return JobPart::k_own_job;
    case SGPRS_HELD_GATE:
      return JobPart::k_hold;
    case SGPRS_HELD_RUNTIME:
      return JobPart::k_runtime;
    default:
      return JobPart::k_queue;
  }
}

void WalkToFirstLaunch(const SgprsLogJob& job, Walk* walk) {
  if ((job.flags & SGPRS_LOG_STAMPS) != 0) {
    walk->To(job.expire_ns, JobPart::k_timer);
    walk->To(job.wakeup_ns, JobPart::k_wakeup);
    walk->To(job.on_cpu_ns, JobPart::k_run_queue);
    // A release that never slept came back at once: all before it is the job before.
    const bool slept = (job.flags & SGPRS_LOG_NO_SLEEP) == 0;
    walk->To(job.wait_exit_ns, slept ? JobPart::k_return : JobPart::k_own_job);
    walk->To(job.first_launch_ns, JobPart::k_user);
  }
  walk->To(job.first_launch_ns, JobPart::k_start);
}

// From the first launch to the grant: `held_ns` of it to what held it, the rest was the queue.
void WalkToGrant(const SgprsLogJob& job, uint64_t granted_ns, Walk* walk) {
  const JobPart part = PartHeldBy(job.held_by);
  if (part != JobPart::k_queue && granted_ns > walk->at_ns()) {
    walk->To(walk->at_ns() + std::min(job.held_ns, granted_ns - walk->at_ns()), part);
  }
  walk->To(granted_ns, JobPart::k_queue);
}

}  // namespace

uint64_t JobParts::sum_ns() const { return std::accumulate(ns_.begin(), ns_.end(), uint64_t{0}); }

std::vector<PartSpan> SpansOf(const observe::LoggedJob& logged) {
  const SgprsLogJob& job = logged.job;
  if (job.release_ns == 0 || job.complete_ns <= job.release_ns) return {};
  Walk walk(job.release_ns);
  WalkToFirstLaunch(job, &walk);
  WalkToGrant(job, job.first_grant_ns, &walk);
  walk.To(job.first_issue_ns, JobPart::k_issue);
  bool first = true;
  for (const SgprsLogStage& stage : logged.stages) {
    if (!first) {
      walk.To(stage.granted_ns, stage.occupant_id != 0 ? JobPart::k_queue : JobPart::k_between);
      walk.To(stage.issued_ns, JobPart::k_issue);
    }
    walk.To(std::min(stage.gpu_end_ns, job.complete_ns), JobPart::k_execute);
    first = false;
  }
  walk.To(job.complete_ns, JobPart::k_execute);
  return std::move(walk.spans());
}

JobParts PartsOf(const observe::LoggedJob& logged) {
  JobParts parts;
  for (const PartSpan& span : SpansOf(logged)) parts.of(span.part) += span.to_ns - span.from_ns;
  return parts;
}

UserSplit SplitUser(const SgprsLogJob& job, uint64_t user_ns) {
  UserSplit split;
  split.known = (job.flags & SGPRS_LOG_ACTIVITY) != 0;
  if (!split.known) return split;
  uint64_t left = user_ns;
  auto take = [&left](uint64_t ns) {
    const uint64_t taken = std::min(ns, left);
    left -= taken;
    return taken;
  };
  split.stopped_ns = take(job.stopped_ns);
  split.queued_ns = take(job.queued_ns);
  split.blocked_ns = take(job.blocked_ns);
  split.run_ns = left;
  return split;
}

bool HasWholeStamps(const SgprsLogJob& job) {
  if ((job.flags & SGPRS_LOG_STAMPS) == 0) return false;
  if ((job.flags & SGPRS_LOG_NO_SLEEP) != 0) return job.wait_exit_ns != 0;
  const bool woke = job.wakeup_ns != 0 && job.on_cpu_ns >= job.wakeup_ns &&
                    job.wait_exit_ns >= job.on_cpu_ns && job.first_launch_ns >= job.wait_exit_ns;
  if (!woke || job.due_ns == 0) return woke;  // no timer ended it
  return job.expire_ns >= job.due_ns && job.wakeup_ns >= job.expire_ns;
}

}  // namespace sgprs::cli
