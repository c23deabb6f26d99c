// SPDX-License-Identifier: Apache-2.0
// The jobs of the last seconds out of a growing job log: what a task's exact quantiles come from.
#ifndef SGPRS_TOOLS_SGPRS_TOP_JOB_SAMPLES_H_
#define SGPRS_TOOLS_SGPRS_TOP_JOB_SAMPLES_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "runtime/base/result.h"
#include "tools/sgprs/jobs/job_history.h"

namespace sgprs::cli {

struct TopTask;

// One thread at a time. Reads block on the disk, never on the daemon. Memory: kMostJobs a task.
class JobSamples {
 public:
  static constexpr size_t kMostJobs = 20'000;

  // Begins at the log's end. Errors as JobHistory::Open.
  static Result<std::unique_ptr<JobSamples>> Open(const std::string& directory);

  // Takes in what was written since; forgets jobs that ended before `from_ns`. Errors as
  // JobHistory::Next.
  Status Read(uint64_t from_ns);
  // Sets the quantiles of `task` from its jobs that ended at or after `from_ns`, if there are any.
  void Fill(uint64_t from_ns, TopTask* task) const;

  // For tests, and Read(): one job.
  void Add(const SgprsLogJob& job);

 private:
  struct Job {
    uint64_t complete_ns = 0;
    uint64_t response_ns = 0;
    std::optional<uint64_t> jitter_ns;
  };

  std::unique_ptr<JobHistory> history_;
  std::map<uint64_t, std::deque<Job>> jobs_;  // by client id
};

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_TOP_JOB_SAMPLES_H_
