// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/paper.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace sgprs::model {
namespace {

constexpr uint64_t kStandstillNs = 66'666'666;  // two periods
constexpr double kMissFloorPercent = 0.5;

Scenario UpstreamScenario(const PaperOptions& options) {
  Scenario s;
  s.name = "paper";
  s.warmup_ns = 1'000'000'000;
  s.horizon_ns = options.horizon_ns;
  TaskGroup group;
  group.count_is_n = true;
  group.task.name = "resnet";
  group.task.network = options.network;
  group.task.jitter_ns = 500'000;
  group.task.cost_noise = 0.1;
  s.groups = {group};
  return s;
}

void Widen(Spread* spread, double value, size_t so_far) {
  spread->least = so_far == 0 ? value : std::min(spread->least, value);
  spread->most = so_far == 0 ? value : std::max(spread->most, value);
  spread->mean += (value - spread->mean) / static_cast<double>(so_far + 1);
}

// Fills a series from its runs: N by N, seed by seed.
void Fill(const std::vector<uint32_t>& n, uint32_t seeds, const SimResult* runs,
          PaperSeries* series) {
  std::vector<uint32_t> pivots(seeds, 0);
  std::vector<bool> held(seeds, true);  // no miss so far
  for (size_t i = 0; i < n.size(); ++i) {
    PaperPoint point;
    point.n = n[i];
    for (uint32_t seed = 0; seed < seeds; ++seed) {
      const SimResult& run = runs[i * seeds + seed];
      Widen(&point.completed_fps, run.completed_fps, seed);
      Widen(&point.on_time_fps, run.on_time_fps, seed);
      Widen(&point.miss_percent, run.miss_percent, seed);
      held[seed] = held[seed] && run.miss_percent < kMissFloorPercent;
      if (held[seed]) pivots[seed] = n[i];
    }
    series->peak_fps = std::max(series->peak_fps, point.completed_fps.mean);
    if (n[i] == 30) series->fps_at_30 = point.completed_fps.mean;
    series->points.push_back(point);
  }
  for (uint32_t seed = 0; seed < seeds; ++seed) Widen(&series->pivot, pivots[seed], seed);
  series->fall_percent = 100 * (1 - series->points.back().completed_fps.mean / series->peak_fps);
  for (size_t i = 0; i < n.size(); ++i) {
    if (n[i] == pivots[0]) series->loss = runs[i * seeds].loss;
  }
}

void AddPublished(PaperSeries* series) {
  const PaperCurve* curve =
      FindPaperCurve(series->policy, series->partitions, series->oversubscription);
  if (curve == nullptr) return;
  series->published_pivot = curve->pivot;
  series->published_peak_fps = *std::max_element(curve->fps.begin(), curve->fps.end());
  series->published_fps_at_30 = curve->fps.back();
  series->published_fall_percent =
      100 * (1 - series->published_fps_at_30 / series->published_peak_fps);
  for (PaperPoint& point : series->points) {
    if (point.n < kPaperFirstN || point.n >= kPaperFirstN + kPaperPoints) continue;
    point.published_fps = curve->fps[point.n - kPaperFirstN];
    point.published_miss_percent = curve->miss_percent[point.n - kPaperFirstN];
  }
}

// Means over `seeds` runs of one scenario.
AblationRow Summarise(std::string what, const SimResult* runs, uint32_t seeds) {
  AblationRow row;
  row.what = std::move(what);
  for (const auto& [name, value] : runs->policy_options) {
    row.options += (row.options.empty() ? "" : ", ") + name + " = " + value;
  }
  double expected[2] = {}, completed[2] = {}, on_time[2] = {};
  for (uint32_t seed = 0; seed < seeds; ++seed) {
    const SimResult& run = runs[seed];
    row.completed_fps += run.completed_fps / seeds;
    row.on_time_fps += run.on_time_fps / seeds;
    row.switches_per_second +=
        run.switches * 1'000'000'000 / (run.warmup_ns + run.horizon_ns) / seeds;
    for (const TaskResult& task : run.tasks) {
      const bool high = task.task_class == SGPRS_CLASS_HIGH;
      expected[high] += static_cast<double>(task.expected);
      completed[high] += static_cast<double>(task.completed);
      on_time[high] += static_cast<double>(task.on_time);
      uint64_t& p99_ns = high ? row.high_p99_ns : row.low_p99_ns;
      p99_ns = std::max(p99_ns, task.response.p99_ns);
      if (high) row.high_max_ns = std::max(row.high_max_ns, task.response.max_ns);
    }
  }
  if (expected[1] > 0) row.high_miss_percent = 100 * (1 - on_time[1] / expected[1]);
  if (expected[0] > 0) row.low_miss_percent = 100 * (1 - on_time[0] / expected[0]);
  if (completed[0] > 0) row.low_late_percent = 100 * (1 - on_time[0] / completed[0]);
  return row;
}

struct Variant {
  std::string what;
  std::vector<std::pair<std::string, std::string>> options;
  double oversubscription;
  uint32_t window = 5;
};

Result<std::vector<AblationRow>> RunVariants(const Scenario& base,
                                             const std::vector<Variant>& variants, uint32_t seeds,
                                             uint32_t threads) {
  std::vector<Scenario> scenarios;
  for (const Variant& variant : variants) {
    Scenario s = base;
    s.oversubscription = variant.oversubscription;
    s.window = variant.window;
    s.policy_options.insert(s.policy_options.end(), variant.options.begin(), variant.options.end());
    for (s.seed = 1; s.seed <= seeds; ++s.seed) scenarios.push_back(s);
  }
  Result<std::vector<SimResult>> runs = RunMany(scenarios, {}, threads);
  if (!runs.ok()) return runs.status();
  std::vector<AblationRow> rows;
  for (size_t i = 0; i < variants.size(); ++i) {
    rows.push_back(Summarise(variants[i].what, &(*runs)[i * seeds], seeds));
  }
  return rows;
}

TaskGroup Group(const char* name, uint32_t count, SgprsTaskClass task_class, const char* network) {
  TaskGroup group;
  group.count = count;
  group.task.name = name;
  group.task.task_class = task_class;
  group.task.network = network;
  group.task.jitter_ns = 500'000;
  group.task.cost_noise = 0.1;
  return group;
}

}  // namespace

std::vector<uint32_t> PaperN() {
  std::vector<uint32_t> n;
  for (uint32_t i = 15; i <= 34; ++i) n.push_back(i);
  n.insert(n.end(), {36, 40, 45, 50, 60});
  return n;
}

Result<std::vector<SimResult>> RunMany(const std::vector<Scenario>& scenarios,
                                       const RunOptions& options, uint32_t threads) {
  std::vector<SimResult> results(scenarios.size());
  std::vector<Status> errors(scenarios.size());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    // Relaxed: only hands out numbers; join() orders the results.
    for (size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < scenarios.size();) {
      Result<SimResult> result = Run(scenarios[i], options);
      if (result.ok()) {
        results[i] = std::move(result).value();
      } else {
        errors[i] = result.status();
      }
    }
  };
  std::vector<std::thread> pool;
  for (uint32_t i = 1; i < threads; ++i) pool.emplace_back(work);
  work();
  for (std::thread& thread : pool) thread.join();
  for (const Status& error : errors) {
    if (!error.ok()) return error;
  }
  return results;
}

Result<PaperReport> RunPaper(const PaperOptions& options) {
  const std::vector<uint32_t> n = options.n.empty() ? PaperN() : options.n;
  PaperReport report;
  std::vector<Scenario> scenarios;
  for (const bool standstill : {false, true}) {
    for (const PaperCurve& curve : PaperCurves()) {
      PaperSeries series;
      series.policy = curve.policy;
      series.partitions = curve.partitions;
      series.oversubscription = curve.oversubscription;
      series.standstill = standstill;
      report.series.push_back(series);
      Scenario s = UpstreamScenario(options);
      s.policy = curve.policy;
      s.partitions = curve.partitions;
      if (curve.oversubscription != 0) s.oversubscription = curve.oversubscription;
      s.standstill_ns = standstill ? kStandstillNs : 0;
      for (const uint32_t tasks : n) {
        s.n = tasks;
        for (s.seed = 1; s.seed <= options.seeds; ++s.seed) scenarios.push_back(s);
      }
    }
  }
  Result<std::vector<SimResult>> runs = RunMany(scenarios, {}, options.threads);
  if (!runs.ok()) return runs.status();
  for (size_t i = 0; i < report.series.size(); ++i) {
    Fill(n, options.seeds, &(*runs)[i * n.size() * options.seeds], &report.series[i]);
    AddPublished(&report.series[i]);
  }
  return report;
}

Result<std::vector<AblationRow>> RunAblation(uint32_t n, uint32_t seeds, uint32_t threads) {
  Scenario base;
  base.name = "ablation";
  base.horizon_ns = 5'000'000'000;
  base.groups = {Group("high", n / 3, SGPRS_CLASS_HIGH, "resnet18-upstream"),
                 Group("low", n - n / 3, SGPRS_CLASS_LOW, "resnet18-upstream")};
  return RunVariants(base,
                     {{"sgprs (paper)", {}, 1.5},
                      {"date-code preset", {{"preset", "date-code"}}, 1.5},
                      {"no last-stage level", {{"high_stages", "0"}}, 1.5},
                      {"no medium level", {{"medium_level", "false"}}, 1.5},
                      {"no levels at all", {{"high_stages", "0"}, {"medium_level", "false"}}, 1.5},
                      {"no class levels", {{"class_levels", "false"}}, 1.5},
                      {"no EDF", {{"queue_order", "arrival"}}, 1.5},
                      {"no staging", {{"staging", "false"}}, 1.5},
                      {"no switching", {{"switching", "false"}}, 1.5},
                      {"over-subscription 1.0", {}, 1.0},
                      {"over-subscription 2.0", {}, 2.0}},
                     seeds, threads);
}

Result<std::vector<AblationRow>> RunDaris(uint32_t seeds, uint32_t threads) {
  Scenario base;
  base.name = "daris";
  base.policy = "daris";
  base.partitions = 6;
  base.stages = 4;
  base.horizon_ns = 5'000'000'000;
  base.policy_options = {{"capacity", "1"}};
  base.groups = {Group("high", 16, SGPRS_CLASS_HIGH, "resnet18"),
                 Group("low", 32, SGPRS_CLASS_LOW, "resnet18")};
  std::vector<Variant> variants;
  for (const double oversubscription : {1.0, 1.5, 2.0, 6.0}) {
    const std::string text = std::to_string(oversubscription).substr(0, 3);
    variants.push_back({"6x1, over-subscription " + text, {}, oversubscription});
  }
  const size_t first_ablation = variants.size();
  variants.insert(variants.end(), {{"no staging", {{"staging", "false"}}, 6},
                                   {"no last-stage boost", {{"high_stages", "0"}}, 6},
                                   {"no delayed boost", {{"medium_level", "false"}}, 6},
                                   {"no fixed HP/LP levels", {{"class_levels", "false"}}, 6},
                                   {"window 10", {}, 6, 10}});
  Result<std::vector<AblationRow>> rows = RunVariants(base, variants, seeds, threads);
  if (!rows.ok()) return rows.status();
  for (const DarisCell& cell : DarisCells()) {
    for (size_t i = 0; i < first_ablation; ++i) {
      if (cell.contexts != 6 || cell.oversubscription != variants[i].oversubscription) continue;
      (*rows)[i].published_fps = cell.jobs_per_second;
    }
  }
  for (const DarisAblation& published : DarisAblations()) {
    for (size_t i = first_ablation - 1; i < rows->size(); ++i) {
      AblationRow& row = (*rows)[i];
      const bool full = i == first_ablation - 1 && published.what == "full";
      if (!full && row.what != published.what) continue;
      row.published_fps = published.jobs_per_second;
      row.published_high_miss_percent = published.high_miss_percent_most;
      row.published_low_late_percent = published.low_miss_percent_most;
    }
  }
  return rows;
}

}  // namespace sgprs::model
