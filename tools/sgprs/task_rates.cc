// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/task_rates.h"

#include "runtime/base/clock.h"

namespace sgprs::cli {

SgprsTaskCounters Difference(const SgprsTaskCounters& b, const SgprsTaskCounters& a) {
  SgprsTaskCounters out = {};
#define SGPRS_COUNTER(name, unit, help) out.name = b.name > a.name ? b.name - a.name : 0;
#include "sgprs/abi/task_counters.inc"
#undef SGPRS_COUNTER
  return out;
}

void Add(const SgprsTaskCounters& counters, SgprsTaskCounters* to) {
#define SGPRS_COUNTER(name, unit, help) to->name += counters.name;
#include "sgprs/abi/task_counters.inc"
#undef SGPRS_COUNTER
}

TaskRates RatesOf(const SgprsTaskCounters& counters, uint64_t window_ns) {
  TaskRates rates;
  if (window_ns == 0) return rates;
  const double seconds = static_cast<double>(window_ns) / static_cast<double>(kNsPerSecond);
  rates.completed_fps = static_cast<double>(counters.jobs_completed) / seconds;
  rates.on_time_fps = static_cast<double>(counters.jobs_on_time) / seconds;
  const uint64_t due = counters.jobs_completed + counters.jobs_skipped;
  const uint64_t met = counters.jobs_on_time < due ? counters.jobs_on_time : due;
  if (due > 0) {
    rates.miss_percent = 100.0 * static_cast<double>(due - met) / static_cast<double>(due);
    rates.skip_percent =
        100.0 * static_cast<double>(counters.jobs_skipped) / static_cast<double>(due);
  }
  return rates;
}

uint64_t LifeNs(const SgprsTaskRow& row, uint64_t now_ns) {
  if (row.first_release_ns == 0) return 0;
  const uint64_t end = row.state == SGPRS_TASK_GONE ? row.last_complete_ns : now_ns;
  return end > row.first_release_ns ? end - row.first_release_ns : 0;
}

}  // namespace sgprs::cli
