// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/sim_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "runtime/base/duration.h"
#include "tools/sgprs/state_view.h"
#include "tools/sgprs/text_table.h"

namespace sgprs::cli {
namespace {

using Align = TextTable::Align;
using model::SimResult;

// Columns that name a series; pool and N only where they differ.
class Naming {
 public:
  explicit Naming(const std::vector<SimSeries>& series) {
    std::set<std::vector<uint32_t>> pools;
    for (const SimSeries& one : series) pools.insert(one.key.sm_counts);
    pools_ = pools.size() > 1;
  }
  void AddColumns(TextTable* table) const {
    table->AddColumn("POLICY", Align::kLeft);
    if (pools_) table->AddColumn("POOL", Align::kLeft);
  }
  std::vector<std::string> Cells(const SeriesKey& key) const {
    std::vector<std::string> cells = {SeriesName(key)};
    if (pools_) cells.push_back(PoolName(key.sm_counts));
    return cells;
  }

 private:
  bool pools_ = false;
};

std::string Range(const Spread& spread) {
  return fmt::format("{:.1f}..{:.1f}", spread.least, spread.most);
}

bool HasSeeds(const std::vector<SimSeries>& series) {
  for (const SimSeries& one : series) {
    for (const SimPoint& point : one.points) {
      if (point.runs.size() > 1) return true;
    }
  }
  return false;
}

bool HasHighClass(const std::vector<SimSeries>& series) {
  for (const SimSeries& one : series) {
    for (const SimPoint& point : one.points) {
      for (const model::TaskResult& task : point.runs.front().tasks) {
        if (task.task_class == SGPRS_CLASS_HIGH) return true;
      }
    }
  }
  return false;
}

// Over all seeds.
uint64_t HighMisses(const SimPoint& point) {
  uint64_t misses = 0;
  for (const SimResult& run : point.runs) misses += run.high_misses;
  return misses;
}

void Append(std::vector<std::string> more, std::vector<std::string>* cells) {
  for (std::string& cell : more) cells->push_back(std::move(cell));
}

double Ms(uint64_t ns) { return static_cast<double>(ns) / 1e6; }

}  // namespace

std::string OneDigit(double value) {
  std::string text = fmt::format("{:.1f}", value);
  return text == "-0.0" ? "0.0" : text;
}

std::string ConditionsText(const std::vector<SimSeries>& series) {
  if (series.empty() || series.front().points.empty()) return {};
  const SimPoint& point = series.front().points.front();
  const SimResult& first = point.runs.front();
  std::string seeds = fmt::format("seed {}", first.seed);
  if (point.runs.size() > 1) {
    seeds = fmt::format("seeds {}..{}", first.seed, point.runs.back().seed);
  }
  std::string text = fmt::format("on {} ({} SMs, modelled), {} counted after {}, {}", first.device,
                                 first.device_sm_count, FormatDurationNs(first.horizon_ns),
                                 FormatDurationNs(first.warmup_ns), seeds);
  const std::vector<uint32_t>& pool = series.front().key.sm_counts;
  const bool same = std::all_of(series.begin(), series.end(),
                                [&](const SimSeries& one) { return one.key.sm_counts == pool; });
  return same ? text + ", pool of " + PoolName(pool) : text;
}

std::string PointsText(const std::vector<SimSeries>& series) {
  const Naming naming(series);
  const bool seeds = HasSeeds(series);
  const bool high = HasHighClass(series);
  TextTable table;
  naming.AddColumns(&table);
  for (const char* title : {"N", "FPS", "ON-TIME FPS", "MISS%", "SKIP%", "SWITCHES/S"}) {
    table.AddColumn(title);
  }
  if (high) table.AddColumn("HIGH MISSED");
  if (seeds) {
    for (const char* title : {"FPS OVER SEEDS", "ON-TIME OVER SEEDS", "MISS% OVER SEEDS"}) {
      table.AddColumn(title);
    }
  }
  for (const SimSeries& one : series) {
    for (const SimPoint& point : one.points) {
      std::vector<std::string> cells = naming.Cells(one.key);
      Append({std::to_string(point.n), OneDigit(point.completed_fps().mean),
              OneDigit(point.on_time_fps().mean), OneDigit(point.miss_percent().mean),
              OneDigit(point.skipped_percent().mean),
              fmt::format("{:.0f}", point.switches_per_second().mean)},
             &cells);
      if (high) cells.push_back(std::to_string(HighMisses(point)));
      if (seeds) {
        Append(
            {Range(point.completed_fps()), Range(point.on_time_fps()), Range(point.miss_percent())},
            &cells);
      }
      table.AddRow(std::move(cells));
    }
  }
  return table.Format();
}

std::string SummaryText(const std::vector<SimSeries>& series) {
  const Naming naming(series);
  TextTable table;
  naming.AddColumns(&table);
  for (const char* title : {"PIVOT N", "PEAK FPS", "AT N", "FPS AT LAST N", "BEST ON-TIME", "AT N",
                            "ON-TIME AT LAST N", "LAST N"}) {
    table.AddColumn(title);
  }
  for (const SimSeries& one : series) {
    if (one.points.size() < 3) continue;
    const SeriesSummary sum = Summarise(one);
    std::vector<std::string> cells = naming.Cells(one.key);
    Append({sum.pivot.has_value() ? std::to_string(*sum.pivot) : "none",
            OneDigit(sum.peak_completed_fps), std::to_string(sum.peak_n),
            OneDigit(sum.last_completed_fps), OneDigit(sum.best_on_time_fps),
            std::to_string(sum.best_on_time_n), OneDigit(sum.last_on_time_fps),
            std::to_string(sum.last_n)},
           &cells);
    table.AddRow(std::move(cells));
  }
  return table.empty() ? std::string() : table.Format();
}

std::string PerTaskText(const std::vector<SimSeries>& series) {
  const Naming naming(series);
  TextTable table;
  naming.AddColumns(&table);
  table.AddColumn("N");
  table.AddColumn("TASK", Align::kLeft);
  table.AddColumn("CLASS", Align::kLeft);
  for (const char* title : {"DUE", "DONE", "ON TIME", "MOVED", "SKIPPED", "WORST (M,K)", "GAP MS",
                            "P50 MS", "P99 MS", "MAX MS", "UTILISATION"}) {
    table.AddColumn(title);
  }
  for (const SimSeries& one : series) {
    for (const SimPoint& point : one.points) {
      for (const model::TaskResult& task : point.runs.front().tasks) {
        std::vector<std::string> cells = naming.Cells(one.key);
        Append({std::to_string(point.n), Printable(task.name),
                std::string(TaskClassWord(task.task_class)), std::to_string(task.expected),
                std::to_string(task.completed), std::to_string(task.on_time),
                std::to_string(task.held), std::to_string(task.skipped),
                task.admitted ? fmt::format("({},{})", task.mk_worst, task.mk_k) : "not admitted",
                OneDigit(Ms(task.longest_gap_ns)), OneDigit(Ms(task.response.p50_ns)),
                OneDigit(Ms(task.response.p99_ns)), OneDigit(Ms(task.response.max_ns)),
                fmt::format("{:.3f}", task.utilisation)},
               &cells);
        table.AddRow(std::move(cells));
      }
    }
  }
  return table.Format();
}

std::string LossesText(const std::vector<SimSeries>& series) {
  const Naming naming(series);
  TextTable table;
  naming.AddColumns(&table);
  for (const char* title : {"N", "BOUND FPS", "BOUND BY", "COMPLETED", "NOT OFFERED", "CONTENTION",
                            "SWITCH", "IDLE", "OF BOUND%"}) {
    table.AddColumn(title);
  }
  for (const SimSeries& one : series) {
    for (const SimPoint& point : one.points) {
      model::LossTable sum;
      for (const SimResult& run : point.runs) {
        sum.fluid_bound_fps += run.loss.fluid_bound_fps;
        sum.completed_fps += run.loss.completed_fps;
        sum.not_offered_fps += run.loss.not_offered_fps;
        sum.idle_fps += run.loss.idle_fps;
        sum.switch_fps += run.loss.switch_fps;
        sum.contention_fps += run.loss.contention_fps;
      }
      const auto mean = [&](double value) {
        return OneDigit(value / static_cast<double>(point.runs.size()));
      };
      std::vector<std::string> cells = naming.Cells(one.key);
      Append(
          {std::to_string(point.n), mean(sum.fluid_bound_fps), point.runs.front().loss.bound_by,
           mean(sum.completed_fps), mean(sum.not_offered_fps), mean(sum.contention_fps),
           mean(sum.switch_fps), mean(sum.idle_fps),
           sum.fluid_bound_fps > 0 ? OneDigit(100 * sum.completed_fps / sum.fluid_bound_fps) : "-"},
          &cells);
      table.AddRow(std::move(cells));
    }
  }
  return table.Format();
}

std::string WarningsText(const std::vector<SimSeries>& series) {
  std::string text;
  for (const SimSeries& one : series) {
    for (const SimPoint& point : one.points) {
      for (const std::string& warning : point.runs.front().warnings) {
        text += fmt::format("{}, N = {}: {}\n", SeriesName(one.key), point.n, Printable(warning));
      }
    }
  }
  return text;
}

}  // namespace sgprs::cli
