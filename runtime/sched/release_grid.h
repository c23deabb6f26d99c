// SPDX-License-Identifier: Apache-2.0
// The release times of a periodic task, recovered from when its jobs' first launches were recorded.
//
// The first launch is a late witness: it comes after the timer, after the scheduler let the process
// run, and after an overrun of the job before. So the releases are the points of a grid of step T
// that follows the earliest launches seen:
//   candidate = previous release + T * max(1, floor((t - previous) / T + 0.25))
//   t before the candidate: the grid moves back to t;
//   t after it: the release stays at the candidate, and the grid creeps forward by
//   min(lateness, T / 200), which follows a slow clock. Not if the job before was still running at
//   the candidate: then lateness tells nothing about the grid;
//   eight such jobs in a row, each late by more than T / 16: the process keeps another phase now
//   (it warmed up and then began its loop, it set its timer anew), the grid moves on by the least
//   lateness of the eight.
// So a job that starts late because its predecessor overran keeps its original deadline, and one
// that comes 0.75 T late or more counts as the next period's (papers.md 1.1: whole periods are
// skipped).
#ifndef SGPRS_RUNTIME_SCHED_RELEASE_GRID_H_
#define SGPRS_RUNTIME_SCHED_RELEASE_GRID_H_

#include <cstdint>

namespace sgprs::sched {

class ReleaseGrid {
 public:
  struct Release {
    uint64_t release_ns = 0;
    uint64_t skipped_periods = 0;  // whole periods since the last release that had no job
  };

  // `period_ns` > 0.
  explicit ReleaseGrid(uint64_t period_ns) : period_ns_(period_ns) {}

  // The release of the job whose first launch was recorded at `first_launch_ns`.
  // `busy_until_ns`: when the job before was complete, 0 = unknown. With `paced` the grid does not
  // move back: a launch before the next point is that point's, and waits for it.
  Release Next(uint64_t first_launch_ns, uint64_t busy_until_ns, bool paced = false);
  // The same where the release is known: the grid goes through it.
  Release At(uint64_t release_ns);
  // The job of the latest release becomes that of the next one, `periods` later.
  void Shift(uint64_t periods) {
    previous_ns_ += periods * period_ns_;
    late_in_a_row_ = 0;
  }

 private:
  // By how much a grid whose job is late by `lateness_ns` moves forward.
  uint64_t Forward(uint64_t lateness_ns);

  const uint64_t period_ns_;
  bool started_ = false;
  uint64_t previous_ns_ = 0;  // last grid point, creep included
  uint32_t late_in_a_row_ = 0;
  uint64_t least_late_ns_ = 0;  // of those
};

}  // namespace sgprs::sched

#endif  // SGPRS_RUNTIME_SCHED_RELEASE_GRID_H_
