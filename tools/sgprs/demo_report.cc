// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/demo_report.h"

#include <fmt/format.h>

#include "tools/sgprs/text_table.h"

namespace sgprs::cli {
namespace {

Json LaunchesJson(const SgprsTaskCounters& counters) {
  return {{"recorded", counters.recorded},
          {"granted", counters.granted},
          {"issued", counters.issued},
          {"completed", counters.completed},
          {"bypassed", counters.bypassed}};
}

Json DemoTaskJson(const DemoTask& task, uint64_t window_ns) {
  const TaskRates rates = RatesOf(task.window, window_ns);
  const SgprsTaskRow& row = task.last;
  Json json = {{"name", row.name},
               {"stages", row.stages},
               {"completed_fps", rates.completed_fps},
               {"on_time_fps", rates.on_time_fps},
               {"miss_percent", rates.miss_percent},
               {"switches", task.window.switches},
               {"worst_response_ns", row.worst_response_ns},
               {"cost_ns", row.cost_ns},
               {"launches", LaunchesJson(row.counters)}};
  if (!task.workload.is_null()) json["workload"] = task.workload;
  return json;
}

}  // namespace

SgprsTaskCounters DemoTotals(const DemoResult& result) {
  SgprsTaskCounters totals = {};
  for (const DemoTask& task : result.tasks) Add(task.last.counters, &totals);
  return totals;
}

TaskRates DemoRates(const DemoResult& result) {
  SgprsTaskCounters window = {};
  for (const DemoTask& task : result.tasks) Add(task.window, &window);
  return RatesOf(window, result.window_ns);
}

uint64_t DemoInFlight(const DemoResult& result) {
  uint64_t sum = 0;
  for (const DemoTask& task : result.tasks) {
    if (task.killed) sum += task.last.counters.recorded - task.last.counters.completed;
  }
  return sum;
}

std::vector<std::string> DemoDisagreements(const DemoResult& result) {
  std::vector<std::string> out;
  for (const DemoTask& task : result.tasks) {
    const SgprsTaskCounters& counters = task.last.counters;
    const uint64_t recorded = counters.recorded;
    const bool agree = counters.granted == recorded && counters.issued == recorded &&
                       counters.completed == recorded;
    if (!agree && !task.killed) {
      out.push_back(
          fmt::format("{}: task {}: {} launches recorded, {} granted, {} issued, {} completed",
                      result.policy, Printable(task.last.name), recorded, counters.granted,
                      counters.issued, counters.completed));
    }
    if (recorded == 0) {
      out.push_back(
          fmt::format("{}: task {} recorded no launch", result.policy, Printable(task.last.name)));
    }
    if (counters.bypassed != 0) {
      out.push_back(fmt::format("{}: task {}: {} launches bypassed the lane", result.policy,
                                Printable(task.last.name), counters.bypassed));
    }
    if (counters.self_granted != 0) {
      out.push_back(fmt::format("{}: task {}: {} launches went without a grant", result.policy,
                                Printable(task.last.name), counters.self_granted));
    }
  }
  const uint64_t kernels = DemoTotals(result).kernels;
  const uint64_t in_flight = DemoInFlight(result);
  if (result.device_kernels > kernels || kernels - result.device_kernels > in_flight) {
    out.push_back(fmt::format("{}: the shims recorded {} kernels, the device ran {}", result.policy,
                              kernels, result.device_kernels));
  }
  return out;
}

std::string DemoText(const std::vector<DemoResult>& results) {
  TextTable table;
  table.AddColumn("POLICY", TextTable::Align::kLeft);
  for (const char* title : {"FPS", "ON-TIME FPS", "MISS%", "SWITCHES", "RECORDED", "GRANTED",
                            "ISSUED", "COMPLETED", "BYPASSED"}) {
    table.AddColumn(title);
  }
  for (const DemoResult& result : results) {
    SgprsTaskCounters window = {};
    for (const DemoTask& task : result.tasks) Add(task.window, &window);
    const TaskRates rates = DemoRates(result);
    const SgprsTaskCounters totals = DemoTotals(result);
    table.AddRow({result.policy, fmt::format("{:.1f}", rates.completed_fps),
                  fmt::format("{:.1f}", rates.on_time_fps),
                  fmt::format("{:.1f}", rates.miss_percent), std::to_string(window.switches),
                  std::to_string(totals.recorded), std::to_string(totals.granted),
                  std::to_string(totals.issued), std::to_string(totals.completed),
                  std::to_string(totals.bypassed)});
  }
  return table.Format();
}

Json DemoJson(const std::string& device, const std::vector<DemoResult>& results) {
  Json policies = Json::array();
  for (const DemoResult& result : results) {
    SgprsTaskCounters window = {};
    Json tasks = Json::array();
    for (const DemoTask& task : result.tasks) {
      Add(task.window, &window);
      tasks.push_back(DemoTaskJson(task, result.window_ns));
    }
    const TaskRates rates = DemoRates(result);
    policies.push_back({{"policy", result.policy},
                        {"completed_fps", rates.completed_fps},
                        {"on_time_fps", rates.on_time_fps},
                        {"miss_percent", rates.miss_percent},
                        {"switches", window.switches},
                        {"launches", LaunchesJson(DemoTotals(result))},
                        {"tasks", std::move(tasks)}});
  }
  return {{"version", kJsonVersion}, {"device", device}, {"policies", std::move(policies)}};
}

}  // namespace sgprs::cli
