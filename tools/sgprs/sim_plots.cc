// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/sim_plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "runtime/base/duration.h"
#include "runtime/model/paper_data.h"
#include "tools/sgprs/sim_paper.h"
#include "tools/sgprs/sim_table.h"
#include "tools/sgprs/state_view.h"
#include "tools/sgprs/svg_style.h"

namespace sgprs::cli {
namespace {

constexpr double kFramesPerSecond = 30;  // of each task in the published experiment

// The three numbers that are drawn.
enum Metric { kCompleted, kOnTime, kMissed, kMetrics };

Spread Of(const SimPoint& point, Metric metric) {
  switch (metric) {
    case kCompleted:
      return point.completed_fps();
    case kOnTime:
      return point.on_time_fps();
    default:
      return point.miss_percent();
  }
}

Curve OursCurve(const PlotRow::Line& line, Metric metric, size_t colour) {
  Curve curve{line.name, colour, CurveKind::kOurs, {}};
  for (const SimPoint& point : line.series->points) {
    const Spread spread = Of(point, metric);
    curve.points.push_back({static_cast<double>(point.n), spread.mean, spread.least, spread.most});
  }
  return curve;
}

Curve PublishedCurve(const model::PaperCurve& paper, Metric metric, size_t colour) {
  Curve curve{std::string(paper.policy) + ", published", colour, CurveKind::kPublished, {}};
  for (size_t i = 0; i < model::kPaperPoints; ++i) {
    const double n = model::kPaperFirstN + static_cast<double>(i);
    double value = paper.fps[i];
    if (metric == kMissed) value = paper.miss_percent[i];
    // (expected - on time) / expected is how the miss rate was made (papers.md 1.9).
    if (metric == kOnTime) value = n * kFramesPerSecond * (1 - paper.miss_percent[i] / 100);
    curve.points.push_back({n, value, value, value});
  }
  return curve;
}

// What the tasks ask for.
Curve OfferedCurve(const PlotRow& row) {
  std::map<uint32_t, double> offered;
  for (const PlotRow::Line& line : row.lines) {
    for (const SimPoint& point : line.series->points) {
      const model::SimResult& run = point.runs.front();
      offered[point.n] = static_cast<double>(run.expected) * 1e9 /
                         static_cast<double>(std::max<uint64_t>(1, run.horizon_ns));
    }
  }
  Curve curve{"due", 0, CurveKind::kGuide, {}};
  for (const auto& [n, fps] : offered)
    curve.points.push_back({static_cast<double>(n), fps, fps, fps});
  return curve;
}

// A baseline stands in every row with as many partitions; if there is none, in one of its own.
std::vector<PlotRow> RowsByPool(const std::vector<SimSeries>& all) {
  std::vector<PlotRow> rows;
  for (const bool baselines : {false, true}) {
    for (const SimSeries& one : all) {
      if (IsBaseline(one.key) != baselines) continue;
      bool placed = false;
      for (PlotRow& row : rows) {
        const SeriesKey& key = row.lines.front().series->key;
        const bool beside = baselines && key.partitions() == one.key.partitions();
        if (!beside && key.sm_counts != one.key.sm_counts) continue;
        row.lines.push_back({SeriesName(one.key), &one});
        placed = true;
      }
      if (!placed) rows.push_back({"", {{SeriesName(one.key), &one}}});
    }
  }
  for (PlotRow& row : rows) {
    const SeriesKey& key = row.lines.front().series->key;
    row.title = fmt::format("{}, {:.2f}x", PoolName(key.sm_counts), key.oversubscription);
  }
  return rows;
}

CurvePanel PanelOf(const PlotRow& row, Metric metric, const std::map<std::string, size_t>& colours,
                   bool published) {
  static constexpr const char* kLabels[] = {"completed FPS", "on-time FPS", "missed, %"};
  static constexpr const char* kTitles[] = {"completed", "on time", "missed"};
  CurvePanel panel;
  panel.title = fmt::format("{}: {}", row.title, kTitles[metric]);
  panel.y_label = kLabels[metric];
  panel.y_key = kLabels[metric];
  panel.percent = metric == kMissed;
  std::set<const model::PaperCurve*> drawn;
  for (const PlotRow::Line& line : row.lines) {
    const size_t colour = colours.at(line.name);
    panel.curves.push_back(OursCurve(line, metric, colour));
    const model::PaperCurve* paper = published ? PublishedFor(*line.series) : nullptr;
    if (paper == nullptr || !drawn.insert(paper).second) continue;
    panel.curves.push_back(PublishedCurve(*paper, metric, colour));
  }
  if (metric != kMissed) panel.curves.push_back(OfferedCurve(row));
  return panel;
}

std::map<std::string, size_t> ColoursOf(const std::vector<std::string>& names) {
  std::map<std::string, size_t> colours;
  size_t next = 2;
  for (const std::string& name : names) {
    if (colours.count(name) != 0) continue;
    const size_t colour = ColourOf(name, next);
    if (colour == next) ++next;
    colours[name] = colour;
  }
  return colours;
}

}  // namespace

size_t ColourOf(const std::string& name, size_t next) {
  if (name == "sgprs") return 0;
  if (name == "naive") return 1;
  return next;
}

CurveFigure RowsFigure(const std::string& title, const std::string& conditions,
                       const std::vector<PlotRow>& rows, bool published) {
  CurveFigure figure;
  figure.title = title;
  figure.subtitle = {conditions};
  figure.x_label = "tasks N";
  figure.columns = kMetrics;
  std::vector<std::string> names;
  for (const PlotRow& row : rows) {
    for (const PlotRow::Line& line : row.lines) names.push_back(line.name);
  }
  const std::map<std::string, size_t> colours = ColoursOf(names);
  bool any_published = false;
  for (const PlotRow& row : rows) {
    for (Metric metric : {kCompleted, kOnTime, kMissed}) {
      figure.panels.push_back(PanelOf(row, metric, colours, published));
      for (const Curve& curve : figure.panels.back().curves) {
        any_published |= curve.kind == CurveKind::kPublished;
      }
    }
  }
  figure.notes = {
      "Completed counts late frames, on time does not; missed is the part of the frames due that "
      "were late or skipped. Lines: mean over the seeds; bands: least to most."};
  if (any_published) {
    figure.notes.push_back(
        "Published: read off the figures of the SGPRS paper's repository (one run each, floored "
        "to whole percents); its on-time rates are computed from its miss rates.");
  }
  return figure;
}

CurveFigure SweepFigure(const std::string& title, const std::vector<SimSeries>& series,
                        bool published) {
  return RowsFigure(title, ConditionsText(series), RowsByPool(series), published);
}

RateFigure PointFigure(const std::string& title, const std::vector<SimSeries>& series) {
  RateFigure figure;
  figure.title = title;
  figure.subtitle = {ConditionsText(series)};
  std::vector<std::string> names;
  for (const SimSeries& one : series) names.push_back(SeriesName(one.key));
  const std::map<std::string, size_t> colours = ColoursOf(names);
  bool pools = false;
  for (const SimSeries& one : series) pools |= one.key.sm_counts != series.front().key.sm_counts;
  for (const SimSeries& one : series) {
    for (const SimPoint& point : one.points) {
      RateBar bar;
      bar.name = SeriesName(one.key);
      bar.colour = colours.at(bar.name);
      if (pools) bar.name += ", " + PoolName(one.key.sm_counts);
      bar.completed_fps = point.completed_fps().mean;
      bar.on_time_fps = point.on_time_fps().mean;
      bar.miss_percent = point.miss_percent().mean;
      figure.bars.push_back(std::move(bar));
      const model::SimResult& run = point.runs.front();
      figure.offered_fps = static_cast<double>(run.expected) * 1e9 /
                           static_cast<double>(std::max<uint64_t>(1, run.horizon_ns));
    }
  }
  return figure;
}

Gantt RunGantt(const model::SimResult& run, uint64_t from_ns, uint64_t to_ns) {
  Gantt gantt;
  SeriesKey key;
  key.policy = run.policy;
  key.policy_options = run.policy_options;
  key.overload = run.overload;
  key.admission = run.admission;
  key.standstill_ns = run.standstill_ns;
  gantt.title = fmt::format("{}: {} tasks on {}", SeriesName(key), run.tasks.size(), run.device);
  for (const model::PartitionResult& partition : run.partitions) {
    gantt.partition_sms.push_back(partition.sm_count);
  }
  gantt.subtitle = {fmt::format(
      "{} of {} SMs, modelled; {:.1f} FPS completed, {:.1f} on time; seed {}; time from the start "
      "of the counted part",
      PoolName(gantt.partition_sms), run.device_sm_count, run.completed_fps, run.on_time_fps,
      run.seed)};
  for (const model::TaskResult& task : run.tasks) {
    const bool low = task.task_class == SGPRS_CLASS_LOW;
    gantt.tasks.push_back({task.name, low ? "" : std::string(TaskClassWord(task.task_class))});
  }
  gantt.jobs = run.jobs;
  gantt.stages = run.stages;
  gantt.from_ns = from_ns;
  gantt.to_ns = to_ns;
  gantt.zero_ns = run.warmup_ns;
  return gantt;
}

}  // namespace sgprs::cli
