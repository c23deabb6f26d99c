// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/report/report_plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/duration.h"
#include "tools/sgprs/state_view.h"
#include "tools/sgprs/svg_bars.h"
#include "tools/sgprs/svg_document.h"
#include "tools/sgprs/svg_gantt.h"
#include "tools/sgprs/svg_style.h"
#include "tools/sgprs/text_table.h"
#include "tools/sgprs/top/top_view.h"

namespace sgprs::cli {
namespace {

constexpr int kDecades = 7;  // from 1 us
constexpr int kBarsPerDecade = 5;
constexpr int kBars = kDecades * kBarsPerDecade;
constexpr double kWidth = 330;
constexpr double kHeight = 150;
constexpr SvgBox kPlot = {12, 44, kWidth - 24, kHeight - 66};

// From which duration bar `i` counts; the first counts from 0 on, the last everything beyond.
uint64_t BarFromNs(int i) {
  if (i <= 0) return 0;
  if (i >= kBars) return UINT64_MAX;
  return static_cast<uint64_t>(1e3 * std::pow(10.0, static_cast<double>(i) / kBarsPerDecade));
}

// Pictures lie inside HTML, where there is no XML declaration.
std::string Inline(std::string svg) {
  const size_t begin = svg.find("<svg");
  return begin == std::string::npos ? svg : svg.substr(begin);
}

void DrawAxis(SvgDocument* svg) {
  static constexpr const char* kLabels[] = {"1us",  "10us",  "100us", "1ms",
                                            "10ms", "100ms", "1s",    "10s"};
  for (int decade = 0; decade <= kDecades; ++decade) {
    const double x = kPlot.x + kPlot.width * decade / kDecades;
    svg->Line({x, kPlot.y}, {x, kPlot.bottom()}, {.stroke = svg::kGrid});
    const SvgAnchor anchor = decade == 0          ? SvgAnchor::kStart
                             : decade == kDecades ? SvgAnchor::kEnd
                                                  : SvgAnchor::kMiddle;
    svg->Text({x, kPlot.bottom() + 13}, kLabels[decade],
              {.size = 9, .fill = svg::kQuiet, .anchor = anchor});
  }
  svg->Line({kPlot.x, kPlot.bottom()}, {kPlot.right(), kPlot.bottom()}, {.stroke = svg::kAxis});
}

}  // namespace

std::string PhaseSvg(const DurationHistogram& histogram, std::string_view name,
                     std::string_view help) {
  SvgDocument svg(kWidth, kHeight, name, help);
  svg.Text({kPlot.x, 16}, name, {.size = 13, .bold = true});
  svg.Text(
      {kPlot.x, 32},
      fmt::format("{} jobs, p50 {}, p99 {}, most {}", histogram.count(),
                  ShortDuration(histogram.QuantileNs(0.5)),
                  ShortDuration(histogram.QuantileNs(0.99)), ShortDuration(histogram.most_ns())),
      {.size = 11, .fill = svg::kQuiet});
  DrawAxis(&svg);
  std::vector<uint64_t> counts;
  for (int i = 0; i < kBars; ++i) {
    counts.push_back(histogram.CountBetween(BarFromNs(i), BarFromNs(i + 1)));
  }
  const uint64_t most = std::max<uint64_t>(1, *std::max_element(counts.begin(), counts.end()));
  const double step = kPlot.width / kBars;
  for (int i = 0; i < kBars; ++i) {
    const uint64_t count = counts[static_cast<size_t>(i)];
    if (count == 0) continue;
    // One job among thousands is still to be seen.
    const double height =
        std::max(1.5, kPlot.height * static_cast<double>(count) / static_cast<double>(most));
    const std::string to = i + 1 == kBars ? "" : " to " + ShortDuration(BarFromNs(i + 1));
    svg.Rect({kPlot.x + step * i, kPlot.bottom() - height, step - 1, height},
             {.fill = svg::SeriesColour(0)},
             fmt::format("{}{}: {} jobs", ShortDuration(BarFromNs(i)), to, count));
  }
  return Inline(std::move(svg).Finish());
}

std::string FpsSvg(const ReportData& data, size_t most) {
  RateFigure figure;
  figure.title = "Frames per second by task";
  figure.axis = "frames per second";
  for (size_t i = 0; i < std::min(most, data.tasks.size()); ++i) {
    const TaskRates rates = data.tasks[i].rates();
    figure.bars.push_back(
        {data.tasks[i].label, 0, rates.completed_fps, rates.on_time_fps, rates.miss_percent});
  }
  if (data.tasks.size() > most) {
    figure.notes.push_back(
        fmt::format("{} more tasks are in the table.", data.tasks.size() - most));
  }
  return Inline(DrawRates(figure));
}

std::string TimelineSvg(const ReportData& data, const ReportWindow& window) {
  Gantt gantt;
  const ReportTask& about = data.tasks[window.task];
  gantt.title = fmt::format("{}, job {}: {}", about.label, window.job,
                            window.missed ? "deadline missed" : "the slowest of all");
  gantt.subtitle = {
      fmt::format("{} of the run, beginning {} after its first release",
                  ShortDuration(window.to_ns - window.from_ns),
                  ShortDuration(window.from_ns - std::min(window.from_ns, data.from_ns)))};
  const uint32_t partitions = std::min<uint32_t>(data.header.partition_count, SGPRS_MAX_PARTITIONS);
  for (uint32_t i = 0; i < partitions; ++i) {
    gantt.partition_sms.push_back(data.header.partitions[i].sm_count);
  }
  for (const model::StageRow& stage : window.stages) {  // of a pool that was laid out anew since
    if (stage.partition >= gantt.partition_sms.size()) {
      gantt.partition_sms.resize(stage.partition + 1, 0);
    }
  }
  for (const ReportTask& task : data.tasks) {
    gantt.tasks.push_back({task.label, std::string(TaskClassWord(task.task.task_class))});
  }
  gantt.jobs = window.jobs;
  gantt.stages = window.stages;
  gantt.from_ns = window.from_ns;
  gantt.to_ns = window.to_ns;
  gantt.zero_ns = window.from_ns;
  gantt.notes = {"A bar reaches from a stage's first kernel (or its issue) to its completion."};
  if (window.left_out != 0) {
    gantt.notes.push_back(fmt::format("{} jobs are left out.", window.left_out));
  }
  return Inline(DrawGantt(gantt));
}

}  // namespace sgprs::cli
