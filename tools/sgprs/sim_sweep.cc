// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/sim_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <thread>

#include "tools/sgprs/sim_json.h"
#include "tools/sgprs/sim_plots.h"
#include "tools/sgprs/sim_runner.h"
#include "tools/sgprs/sim_table.h"

namespace sgprs::cli {
namespace {

using model::Scenario;

// A file name of letters, digits, '-' and '.'.
std::string FileName(std::string_view text) {
  std::string name;
  for (char c : text) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.';
    if (plain) {
      name += c;
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name;
}

bool SameButSeed(const Scenario& a, const Scenario& b) {
  return a.policy == b.policy && a.overload == b.overload && a.partitions == b.partitions &&
         a.oversubscription == b.oversubscription && a.n == b.n;
}

// How many Gantts there will be: one a point, of its first seed.
size_t CountPoints(const std::vector<Scenario>& scenarios) {
  size_t points = 0;
  for (size_t i = 0; i < scenarios.size(); ++i) {
    points += i == 0 || !SameButSeed(scenarios[i - 1], scenarios[i]) ? 1 : 0;
  }
  return points;
}

// What the published curves were measured with (papers.md 1.9).
bool IsPaperExperiment(const Scenario& scenario) {
  return scenario.device == "rtx2080ti" && scenario.groups.size() == 1 &&
         scenario.groups.front().task.network == "resnet18-upstream" &&
         std::llabs(static_cast<long long>(scenario.groups.front().task.period_ns) - 33'333'333) <
             1000;
}

constexpr size_t kMostGantts = 24;

Status CheckSweep(const SimOptions& options, const std::vector<Scenario>& scenarios) {
  size_t pictures = 1;
  if (options.gantt.has_value()) {
    const size_t gantts = CountPoints(scenarios);
    if (gantts > kMostGantts) {
      return Status(
          ErrorCode::kInvalid,
          fmt::format("--gantt would draw {} pictures: narrow it down, as with --tasks 24",
                      gantts));
    }
    if (options.gantt->to_ns > scenarios.front().horizon_ns) {
      return Status(ErrorCode::kInvalid, "--gantt ends after the run: --seconds makes it longer");
    }
    pictures = IsSvgFile(options.svg) ? gantts : gantts + 1;
  }
  return CheckOutputs(options, pictures, true);
}

model::RunOptions RunOptionsFor(const SimOptions& options, const Scenario& scenario,
                                bool first_seed) {
  model::RunOptions run;
  run.switch_loss = options.losses;
  if (!options.gantt.has_value() || !first_seed) return run;
  run.keep_jobs = true;
  run.keep_stages = true;
  run.keep_from_ns = scenario.warmup_ns + options.gantt->from_ns;
  run.keep_to_ns = scenario.warmup_ns + options.gantt->to_ns;
  return run;
}

}  // namespace

Result<std::vector<SimSeries>> RunSeries(const SimOptions& options,
                                         std::vector<Scenario> scenarios) {
  std::vector<SimJob> jobs;
  for (size_t i = 0; i < scenarios.size(); ++i) {
    const bool first_seed = i == 0 || !SameButSeed(scenarios[i - 1], scenarios[i]);
    jobs.push_back({scenarios[i], RunOptionsFor(options, scenarios[i], first_seed)});
  }
  const unsigned threads =
      options.threads != 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  ProgressLine progress;
  Result<std::vector<model::SimResult>> results =
      RunAll(jobs, threads, [&](size_t done, size_t all) { progress.Show(done, all); });
  if (!results.ok()) return results.status();
  return MakeSeries(std::move(results).value());
}

SimReport ReportOf(const SimOptions& options, std::string_view kind, const std::string& title,
                   const std::vector<SimSeries>& series, bool published) {
  SimReport report;
  report.text = title + " " + ConditionsText(series) + "\n\n" + PointsText(series);
  if (const std::string summary = SummaryText(series); !summary.empty()) {
    report.text += "\n" + summary;
  }
  if (options.per_task) report.text += "\n" + PerTaskText(series);
  if (options.losses) report.text += "\n" + LossesText(series);
  if (const std::string warnings = WarningsText(series); !warnings.empty()) {
    report.text += "\n" + warnings;
  }
  report.json = SweepJson(kind, series);
  report.csv = SweepCsv(series);

  const bool only_gantt = options.gantt.has_value() && IsSvgFile(options.svg);
  std::set<uint32_t> counts;
  for (const SimSeries& one : series) {
    for (const SimPoint& point : one.points) counts.insert(point.n);
  }
  if (!only_gantt && !options.svg.empty()) {
    report.pictures.push_back({"rates", counts.size() > 1
                                            ? DrawCurves(SweepFigure(title, series, published))
                                            : DrawRates(PointFigure(title, series))});
  }
  if (!options.gantt.has_value()) return report;
  std::set<std::string> names;
  for (const SimSeries& one : series) {
    for (const SimPoint& point : one.points) {
      const model::SimResult& run = point.runs.front();
      const std::string base = FileName(fmt::format("gantt-{}-{}-n{}", SeriesName(one.key),
                                                    PoolName(one.key.sm_counts), point.n));
      std::string name = base;
      for (int i = 2; !names.insert(name).second; ++i) name = fmt::format("{}-{}", base, i);
      report.pictures.push_back(
          {name, DrawGantt(RunGantt(run, run.warmup_ns + options.gantt->from_ns,
                                    run.warmup_ns + options.gantt->to_ns))});
    }
  }
  return report;
}

Result<SimReport> SweepReport(const SimOptions& options) {
  Result<std::vector<Scenario>> scenarios = PlanSweep(options);
  if (!scenarios.ok()) return scenarios.status();
  if (Status outputs = CheckSweep(options, *scenarios); !outputs.ok()) return outputs;
  const Scenario& first = scenarios->front();
  const std::string title = first.description.empty() ? first.name : first.description;
  const bool published = IsPaperExperiment(first);
  Result<std::vector<SimSeries>> series = RunSeries(options, std::move(*scenarios));
  if (!series.ok()) return series.status();
  return ReportOf(options, "sweep", title, *series, published);
}

}  // namespace sgprs::cli
