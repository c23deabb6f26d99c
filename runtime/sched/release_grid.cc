// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/release_grid.h"

#include <algorithm>

namespace sgprs::sched {

namespace {

constexpr uint32_t kLateInARow = 8;

}  // namespace

uint64_t ReleaseGrid::Forward(uint64_t lateness_ns) {
  const uint64_t creep_ns = period_ns_ / 200;
  if (lateness_ns <= period_ns_ / 16) {
    late_in_a_row_ = 0;
    return std::min(lateness_ns, creep_ns);
  }
  least_late_ns_ = late_in_a_row_ == 0 ? lateness_ns : std::min(least_late_ns_, lateness_ns);
  if (++late_in_a_row_ == kLateInARow) {
    late_in_a_row_ = 0;
    return least_late_ns_;
  }
  least_late_ns_ -= creep_ns;  // the grid creeps towards the launches meanwhile
  return creep_ns;
}

ReleaseGrid::Release ReleaseGrid::Next(uint64_t first_launch_ns, uint64_t busy_until_ns,
                                       bool paced) {
  if (!started_) {
    started_ = true;
    previous_ns_ = first_launch_ns;
    return {first_launch_ns, 0};
  }
  const uint64_t since = first_launch_ns > previous_ns_ ? first_launch_ns - previous_ns_ : 0;
  // floor(since / T + 1/4) in integers, without overflow for large T.
  const uint64_t steps = std::max<uint64_t>(
      1, since / period_ns_ + (since % period_ns_ >= period_ns_ - period_ns_ / 4));
  const uint64_t candidate = previous_ns_ + steps * period_ns_;
  if (first_launch_ns <= candidate) {
    late_in_a_row_ = 0;
    previous_ns_ = paced ? candidate : first_launch_ns;
    return {previous_ns_, steps - 1};
  }
  previous_ns_ = candidate;
  if (busy_until_ns <= candidate) {
    previous_ns_ += Forward(first_launch_ns - candidate);
  } else {
    late_in_a_row_ = 0;
  }
  return {candidate, steps - 1};
}

ReleaseGrid::Release ReleaseGrid::At(uint64_t release_ns) {
  const uint64_t since = started_ && release_ns > previous_ns_ ? release_ns - previous_ns_ : 0;
  const uint64_t steps = since / period_ns_ + (since % period_ns_ >= (period_ns_ + 1) / 2);
  started_ = true;
  late_in_a_row_ = 0;
  previous_ns_ = release_ns;
  return {release_ns, steps == 0 ? 0 : steps - 1};
}

}  // namespace sgprs::sched
