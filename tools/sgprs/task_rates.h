// SPDX-License-Identifier: Apache-2.0
// Rates of tasks from their counters: completed and on-time FPS, miss percent. Pure.
#ifndef SGPRS_TOOLS_SGPRS_TASK_RATES_H_
#define SGPRS_TOOLS_SGPRS_TASK_RATES_H_

#include <cstdint>

#include "sgprs/abi/state.h"

namespace sgprs::cli {

struct TaskRates {
  double completed_fps = 0;  // jobs complete per second, late ones included
  double on_time_fps = 0;    // jobs complete by their deadline per second
  double miss_percent = 0;   // of the jobs due: complete ones and whole periods without a release
                             // (papers.md 1.9: a skipped frame is a missed one)
  double skip_percent = 0;   // of the jobs due: the periods without a release alone
};

// b - a, field by field; a counter that went backwards (row reused) gives 0.
SgprsTaskCounters Difference(const SgprsTaskCounters& b, const SgprsTaskCounters& a);
// to += counters.
void Add(const SgprsTaskCounters& counters, SgprsTaskCounters* to);

// Rates of what `counters` counted in `window_ns`; all 0 without a window.
TaskRates RatesOf(const SgprsTaskCounters& counters, uint64_t window_ns);

// The time over which a row's counters grew: from the first release to now, or to the last
// completion if the process is over.
uint64_t LifeNs(const SgprsTaskRow& row, uint64_t now_ns);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_TASK_RATES_H_
