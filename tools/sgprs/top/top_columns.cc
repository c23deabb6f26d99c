// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/top/top_columns.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/clock.h"
#include "tools/sgprs/state_view.h"
#include "tools/sgprs/text_table.h"

namespace sgprs::cli {
namespace {

constexpr int kJitterRank = 6;
constexpr int kResponseRank = 8;

std::string Class(const TopTask& task) {
  return task.row.task_class == SGPRS_CLASS_BEST_EFFORT
             ? "effort"
             : std::string(TaskClassWord(task.row.task_class));
}

std::string NsOrDash(uint64_t ns) {
  return ShortDuration(ns == 0 ? std::nullopt : std::optional<uint64_t>(ns));
}

std::string Fps(const TopTask& task) {
  return task.window_ns == 0 ? "-" : fmt::format("{:.1f}", task.rates.completed_fps);
}

std::string OnTime(const TopTask& task) {
  const uint64_t due = task.window.jobs_completed + task.window.jobs_skipped;
  if (task.row.deadline_ns == 0 || due == 0) return "-";
  return fmt::format("{:.1f}", 100.0 - task.rates.miss_percent);
}

std::string Misses(const TopTask& task) {
  if (task.row.deadline_ns == 0) return "-";
  return std::to_string(task.row.counters.jobs_missed + task.row.counters.jobs_skipped);
}

std::string Pair(std::optional<uint64_t> a, std::optional<uint64_t> b) {
  if (!a.has_value() && !b.has_value()) return "-";
  return ShortDuration(a) + " " + fmt::format("{:>6}", ShortDuration(b));
}

std::string At(const TopTask& task) {
  if (task.row.counters.stages_completed == 0) return "-";
  return fmt::format("{} {}", task.row.partition, LevelWord(task.row.level));
}

std::string PerSecond(const TopTask& task, uint64_t count) {
  if (task.window_ns == 0) return "-";
  return fmt::format("{:.0f}", static_cast<double>(count) * static_cast<double>(kNsPerSecond) /
                                   static_cast<double>(task.window_ns));
}

std::string Gpu(const TopTask& task) {
  if (task.window_ns == 0) return "-";
  return fmt::format("{:.1f}", 100.0 * static_cast<double>(task.window.gpu_ns) /
                                   static_cast<double>(task.window_ns));
}

}  // namespace

const std::vector<TopColumn>& TopColumns() {
  static const std::vector<TopColumn> columns = {
      {"PID", 7, 12, false, [](const TopTask& t) { return std::to_string(t.row.pid); }, "process"},
      {"CLASS", 6, 3, true, Class, "high, low, effort (best effort)"},
      {"STATE", 9, 9, true,
       [](const TopTask& t) { return std::string(TaskStateWord(t.row.state)); },
       "joining, learning (stages not known yet), scheduled, bypassed, gone"},
      {"VIA", 8, 14, true,
       [](const TopTask& t) {
         return t.row.state == SGPRS_TASK_JOINING ? "-" : std::string(BackendWord(t.row.backend));
       },
       "partition back-end of its process"},
      {"PERIOD", 6, 4, false, [](const TopTask& t) { return NsOrDash(t.row.period_ns); },
       "how often it runs"},
      {"DEADLINE", 8, 11, false, [](const TopTask& t) { return NsOrDash(t.row.deadline_ns); },
       "after the release"},
      {"FPS", 6, 1, false, Fps, "frames completed per second, late ones included"},
      {"ON-TIME%", 8, 2, false, OnTime, "part of the frames due that met their deadline"},
      {"MISSES", 6, 5, false, Misses, "frames late or skipped, in its whole life"},
      {"JITTER p50/p99", 14, kJitterRank, false,
       [](const TopTask& t) { return Pair(t.jitter_p50_ns, t.jitter_p99_ns); },
       "first launch after the release; needs sgprsd --job-log"},
      {"RESP. p50/p99", 14, kResponseRank, false,
       [](const TopTask& t) { return Pair(t.response_p50_ns, t.response_p99_ns); },
       "release to completion"},
      {"WORST", 6, 13, false, [](const TopTask& t) { return NsOrDash(t.row.worst_response_ns); },
       "longest response of its life"},
      {"COST", 6, 15, false, [](const TopTask& t) { return NsOrDash(t.row.cost_ns); },
       "estimate of a job in the largest partition"},
      {"GPU%", 6, 16, false, Gpu, "GPU time of its stages, of the window"},
      {"STAGES", 6, 10, false,
       [](const TopTask& t) { return t.row.stages == 0 ? "-" : std::to_string(t.row.stages); },
       "learnt number of stages of a job"},
      {"AT", 9, 7, false, At, "partition and level of its latest stage"},
      {"SWITCH/s", 8, 17, false, [](const TopTask& t) { return PerSecond(t, t.window.switches); },
       "stages that ran in another partition than the one before"},
      {"LAUNCH/s", 8, 18, false, [](const TopTask& t) { return PerSecond(t, t.window.completed); },
       "launches completed"},
      {"HELD", 6, 19, false, [](const TopTask& t) { return std::to_string(t.row.jobs_held); },
       "jobs held to their next release (overload hold)"},
      {"PROGRAM", 16, 20, true, [](const TopTask& t) { return Printable(t.row.program); },
       "its executable"},
  };
  return columns;
}

std::vector<const TopColumn*> ColumnsThatFit(size_t width, size_t name_width, bool with_jitter) {
  std::vector<const TopColumn*> ranked;
  for (const TopColumn& column : TopColumns()) {
    if (column.rank != kJitterRank || with_jitter) ranked.push_back(&column);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const TopColumn* a, const TopColumn* b) { return a->rank < b->rank; });
  size_t used = name_width;
  std::vector<const TopColumn*> fit;
  for (const TopColumn* column : ranked) {
    if (used + 1 + column->width > width) break;
    used += 1 + column->width;
    fit.push_back(column);
  }
  std::sort(fit.begin(), fit.end());  // they lie in one array: the order in which they are shown
  return fit;
}

}  // namespace sgprs::cli
