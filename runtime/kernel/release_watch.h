// SPDX-License-Identifier: Apache-2.0
// One process's releases: takes what the probes tell of its threads, says when each job was
// released, and keeps for each job the wait that it came out of and what its thread did after.
//
// Pure: no clock, no I/O. Thread: its owner's. Memory: kKeptJobs jobs and a ReleaseFinder.
#ifndef SGPRS_RUNTIME_KERNEL_RELEASE_WATCH_H_
#define SGPRS_RUNTIME_KERNEL_RELEASE_WATCH_H_

#include <cstdint>
#include <deque>
#include <optional>

#include "runtime/kernel/release_finder.h"
#include "sgprs/abi/job_log.h"
#include "sgprs/abi/wake_record.h"

namespace sgprs::kernel {

struct WakeCounts {
  uint64_t complete = 0;
  uint64_t incomplete = 0;  // failed CheckWake(); not used
  uint64_t missing = 0;     // by the threads' sequence numbers
  uint64_t unreleased = 0;  // jobs whose wait was not found: released by their first launch
};

class ReleaseWatch {
 public:
  static constexpr size_t kKeptJobs = 16;
  static constexpr size_t kKeptSequences = 64;  // threads whose sequence numbers are watched

  struct Job {
    uint64_t id = 0;
    uint64_t release_ns = 0;
    SgprsReleaseRule rule = SGPRS_RELEASE_FIRST_LAUNCH;  // that gave release_ns
    std::optional<SgprsWakeRecord> wake;                 // the wait it came out of
    std::optional<SgprsWakeRecord> after;  // the same thread's next wait: carries its activity
  };

  // `rule`: as asked for. `main_tid`: as ReleaseFinder.
  ReleaseWatch(SgprsReleaseRule rule, uint32_t main_tid);

  // A record of this process, checked here.
  void Add(const SgprsWakeRecord& record);

  // The job's first launch was recorded at `first_launch_ns`; call once per job, rising, when the
  // probes were drained. The wait before it gives the release under kTimer and kInput, if one was
  // seen that is not older than `oldest_ns` (the release of the job before). Else the first launch,
  // which under kGrid the scheduler moves to its grid (sched/release_grid.h).
  // The wait is kept for the record under every rule.
  const Job& Released(uint64_t job, uint64_t first_launch_ns, uint64_t oldest_ns);

  // Once the job is complete. nullptr: no such job (any more).
  const Job* Find(uint64_t job) const;
  const WakeCounts& counts() const { return counts_; }

 private:
  struct Sequence {
    uint32_t tid = 0;
    uint32_t last = 0;
  };
  void WatchSequence(const SgprsWakeRecord& record);

  const SgprsReleaseRule rule_;
  ReleaseFinder timers_;
  ReleaseFinder inputs_;
  std::deque<Job> jobs_;
  std::deque<Sequence> sequences_;
  WakeCounts counts_;
};

}  // namespace sgprs::kernel

#endif  // SGPRS_RUNTIME_KERNEL_RELEASE_WATCH_H_
