// SPDX-License-Identifier: Apache-2.0
// What `sgprs demo` measured under each policy, checked and shown. Pure.
#ifndef SGPRS_TOOLS_SGPRS_DEMO_REPORT_H_
#define SGPRS_TOOLS_SGPRS_DEMO_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sgprs/abi/state.h"
#include "tools/sgprs/state_view.h"
#include "tools/sgprs/task_rates.h"

namespace sgprs::cli {

struct DemoTask {
  SgprsTaskCounters window = {};  // what its counters grew by in the window
  SgprsTaskRow last = {};         // its row after its process had ended: counts of the whole run
  Json workload;                  // what the program printed; null if that is no JSON
  bool killed = false;            // by the signal that asked it to end, with launches in flight
};

struct DemoResult {
  std::string policy;
  std::string device;            // as the device calls itself
  std::string trace_path;        // empty = none
  uint64_t window_begin_ns = 0;  // CLOCK_MONOTONIC, as the trace's times are
  uint64_t window_ns = 0;
  uint64_t device_kernels = 0;  // kernels that the device itself counted in the whole run
  bool learnt = true;           // every task was scheduled when the window began
  std::vector<DemoTask> tasks;
};

// Sums over the tasks: rates of the window, counts of the whole run.
TaskRates DemoRates(const DemoResult& result);
SgprsTaskCounters DemoTotals(const DemoResult& result);

// Launches that were recorded and not completed by programs that were killed.
uint64_t DemoInFlight(const DemoResult& result);

// Empty if every launch was recorded, granted, issued and completed, none bypassed, and the device
// counted as many kernels as the shims; else what does not agree, one sentence each. What a killed
// program had in flight is no disagreement.
std::vector<std::string> DemoDisagreements(const DemoResult& result);

// A table with a line a policy. `seconds` etc. are not repeated here: the caller says them.
std::string DemoText(const std::vector<DemoResult>& results);
Json DemoJson(const std::string& device, const std::vector<DemoResult>& results);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_DEMO_REPORT_H_
