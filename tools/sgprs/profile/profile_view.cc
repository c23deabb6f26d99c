// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/profile/profile_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "runtime/base/duration.h"
#include "runtime/profile/demangle.h"
#include "tools/sgprs/text_table.h"

namespace sgprs::cli {
namespace {

std::string NameOf(const profile::Profile& profile, const profile::Launch& launch) {
  if (launch.kernel == 0) return launch.kind;
  return Printable(profile::ShortName(profile.kernels[launch.kernel - 1]));
}

// "3 x at::native::fill, 2 x copy": what a stage launches most, three of them.
std::string Contents(const profile::Profile& profile, uint64_t from, uint64_t end) {
  std::map<std::string, uint64_t> counts;
  for (uint64_t i = from; i < end; ++i) ++counts[NameOf(profile, profile.launches[i])];
  std::vector<std::pair<uint64_t, std::string>> order;
  for (const auto& [name, count] : counts) order.emplace_back(count, name);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string out;
  for (size_t i = 0; i < order.size() && i < 3; ++i) {
    out += fmt::format("{}{} x {}", out.empty() ? "" : ", ", order[i].first, order[i].second);
  }
  return order.size() > 3 ? out + ", ..." : out;
}

std::string StagesText(const profile::Profile& profile) {
  std::set<uint32_t> sizes;
  for (const auto& stage : profile.stages) {
    for (const auto& cost : stage.costs) sizes.insert(cost.sm_count);
  }
  TextTable table;
  table.AddColumn("STAGE");
  table.AddColumn("LAUNCHES");
  for (const uint32_t size : sizes) table.AddColumn(fmt::format("{} SMS", size));
  table.AddColumn("KERNELS", TextTable::Align::kLeft);
  uint64_t from = 0;
  for (size_t i = 0; i < profile.stages.size(); ++i) {
    const auto& stage = profile.stages[i];
    std::vector<std::string> cells = {std::to_string(i + 1), std::to_string(stage.end - from)};
    for (const uint32_t size : sizes) {
      const auto cost = std::find_if(stage.costs.begin(), stage.costs.end(),
                                     [&](const auto& row) { return row.sm_count == size; });
      cells.push_back(cost == stage.costs.end() ? "-" : FormatDurationNs(cost->ns));
    }
    cells.push_back(Contents(profile, from, stage.end));
    table.AddRow(std::move(cells));
    from = stage.end;
  }
  return table.Format();
}

std::string LaunchesText(const profile::Profile& profile) {
  TextTable table;
  for (const char* title : {"LAUNCH", "STAGE", "STREAM", "GRID", "BLOCK"}) table.AddColumn(title);
  table.AddColumn("WHAT", TextTable::Align::kLeft);
  size_t stage = 0;
  for (size_t i = 0; i < profile.launches.size(); ++i) {
    const profile::Launch& launch = profile.launches[i];
    while (stage + 1 < profile.stages.size() && i >= profile.stages[stage].end) ++stage;
    const bool kernel = launch.kind == "kernel";
    table.AddRow({std::to_string(i), std::to_string(stage + 1), std::to_string(launch.stream),
                  kernel ? fmt::format("{}", fmt::join(launch.grid, "x")) : "",
                  kernel ? fmt::format("{}", fmt::join(launch.block, "x")) : "",
                  launch.kernel == 0
                      ? fmt::format("{}, {} bytes", launch.kind, launch.bytes)
                      : Printable(profile::Demangle(profile.kernels[launch.kernel - 1]))});
  }
  return table.Format();
}

}  // namespace

std::string ProfileText(const profile::Profile& profile, bool launches) {
  std::string out = fmt::format(
      "task        {} ({})\ndevice      {}, {} SMs\nsignature   {:016x}\n", Printable(profile.task),
      Printable(profile.program), Printable(profile.device), profile.sm_count, profile.signature());
  out += fmt::format(
      "period      {} seen{}, {} jobs\n",
      profile.period_seen_ns == 0 ? "none" : FormatDurationNs(profile.period_seen_ns),
      profile.period_ns == 0 ? std::string() : ", " + FormatDurationNs(profile.period_ns) + " said",
      profile.jobs);
  out += fmt::format("launches    {} in {}, {}\n\n{}", profile.launches.size(),
                     Counted(profile.stages.size(), "stage"),
                     Counted(profile.kernels.size(), "kernel"), StagesText(profile));
  if (launches) out += "\n" + LaunchesText(profile);
  return out;
}

}  // namespace sgprs::cli
