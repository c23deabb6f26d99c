// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/svg_gantt.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "runtime/base/duration.h"
#include "tools/sgprs/state_view.h"
#include "tools/sgprs/svg_document.h"
#include "tools/sgprs/svg_style.h"
#include "tools/sgprs/text_table.h"

namespace sgprs::cli {
namespace {

constexpr double kMargin = 24;
constexpr double kLabels = 168;  // left of the bars
constexpr double kPlot = 1100;
constexpr double kWidth = 2 * kMargin + kLabels + kPlot;
constexpr double kLeft = kMargin + kLabels;
constexpr double kLane = 21;     // of a partition: one concurrent stage
constexpr double kTaskRow = 21;  // of a task
constexpr double kPartGap = 9;   // between partitions
constexpr double kSection = 30;  // heading of a block
constexpr double kAxis = 44;
constexpr double kNoteLine = 16;
constexpr double kBarText = 9.5;
constexpr std::string_view kHighBand = "#1a1a1a";
constexpr std::string_view kMediumBand = "#808080";

using model::JobRow;
using model::StageRow;

uint64_t BeginOf(const StageRow& stage) {
  return stage.start_ns != 0 ? stage.start_ns : stage.granted_ns;
}
uint64_t EndOf(const StageRow& stage) {
  return stage.end_ns != 0 ? stage.end_ns : std::numeric_limits<uint64_t>::max();
}

// What one partition ran in the window, and on which lane each stage is drawn: the first that is
// free when it begins, so that there are as many lanes as stages ran at once.
struct Part {
  std::vector<std::pair<const StageRow*, size_t>> stages;
  size_t lanes = 1;
};

Part PartOf(const Gantt& gantt, uint32_t partition) {
  std::vector<const StageRow*> rows;
  for (const StageRow& stage : gantt.stages) {
    if (stage.partition == partition && BeginOf(stage) < gantt.to_ns &&
        EndOf(stage) > gantt.from_ns) {
      rows.push_back(&stage);
    }
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const StageRow* a, const StageRow* b) { return BeginOf(*a) < BeginOf(*b); });
  std::vector<uint64_t> free_from;
  Part part;
  for (const StageRow* stage : rows) {
    size_t lane = 0;
    while (lane < free_from.size() && free_from[lane] > BeginOf(*stage)) ++lane;
    if (lane == free_from.size()) free_from.push_back(0);
    free_from[lane] = EndOf(*stage);
    part.stages.emplace_back(stage, lane);
  }
  part.lanes = std::max<size_t>(1, free_from.size());
  return part;
}

std::string_view LevelName(SgprsLevel level) { return LevelWord(static_cast<uint32_t>(level)); }

// Everything above and beside the bars, computed once.
struct Layout {
  std::vector<Part> parts;
  std::vector<std::string> subtitle;
  std::vector<std::string> notes;
  size_t task_rows = 0;
  double legend = 0;      // upper edges
  double partitions = 0;  // of the block, below its heading
  double tasks = 0;
  double axis = 0;
  double height = 0;
};

std::vector<std::string> Wrapped(const std::vector<std::string>& lines, double size) {
  std::vector<std::string> out;
  for (const std::string& line : lines) {
    for (std::string& part : svg::WrapPixels(line, kWidth - 2 * kMargin, size)) {
      out.push_back(std::move(part));
    }
  }
  return out;
}

Layout LayoutOf(const Gantt& gantt) {
  Layout layout;
  layout.subtitle = Wrapped(gantt.subtitle, 12);
  layout.task_rows = std::min(gantt.tasks.size(), kGanttTasks);
  std::vector<std::string> notes = gantt.notes;
  if (layout.task_rows < gantt.tasks.size()) {
    notes.push_back(fmt::format("The first {} of {} tasks have a row of their own.",
                                layout.task_rows, gantt.tasks.size()));
  }
  layout.notes = Wrapped(notes, 11);
  layout.legend = kMargin + 22 + 17 * static_cast<double>(layout.subtitle.size());
  layout.partitions = layout.legend + 26 + kSection;
  double y = layout.partitions;
  for (uint32_t i = 0; i < gantt.partition_sms.size(); ++i) {
    layout.parts.push_back(PartOf(gantt, i));
    y += kLane * static_cast<double>(layout.parts.back().lanes) + kPartGap;
  }
  layout.tasks = y - kPartGap + kSection;
  layout.axis = layout.tasks + kTaskRow * static_cast<double>(layout.task_rows);
  layout.height =
      layout.axis + kAxis + kNoteLine * static_cast<double>(layout.notes.size()) + kMargin - 8;
  return layout;
}

class Drawing {
 public:
  explicit Drawing(const Gantt& gantt)
      : gantt_(gantt),
        layout_(LayoutOf(gantt)),
        svg_(kWidth, layout_.height, gantt.title, "Stages on partitions and tasks over time") {}

  std::string Draw() && {
    svg::Heading(&svg_, kMargin, kMargin, gantt_.title, layout_.subtitle);
    Legend();
    Grid();
    Partitions();
    Tasks();
    double y = layout_.axis + kAxis + 6;
    for (const std::string& note : layout_.notes) {
      svg_.Text({kMargin, y}, note, {.size = 11, .fill = svg::kQuiet});
      y += kNoteLine;
    }
    return std::move(svg_).Finish();
  }

 private:
  // Clamped to the window.
  double X(uint64_t ns) const {
    const uint64_t inside = std::clamp(ns, gantt_.from_ns, gantt_.to_ns);
    return kLeft + static_cast<double>(inside - gantt_.from_ns) /
                       static_cast<double>(gantt_.to_ns - gantt_.from_ns) * kPlot;
  }
  bool Inside(uint64_t ns) const { return ns >= gantt_.from_ns && ns <= gantt_.to_ns; }
  double Ms(uint64_t ns) const {
    return (static_cast<double>(ns) - static_cast<double>(gantt_.zero_ns)) / 1e6;
  }
  std::string NameOf(uint32_t task) const {
    return task < gantt_.tasks.size() ? Printable(gantt_.tasks[task].name)
                                      : fmt::format("task {}", task);
  }

  std::string Tooltip(const StageRow& stage) const;
  void Legend();
  double LegendBar(double x, double y, std::string_view band, bool late, std::string_view text);
  void Grid();
  void Partitions();
  void Tasks();
  void TaskLabel(size_t task, double y);
  void Bar(const StageRow& stage, double y, const std::vector<std::string>& labels);
  void Held(const JobRow& job, double y);
  void Marks(const JobRow& job, double y);
  void Release(double x, double bottom, std::string_view tooltip);
  void Deadline(double x, double top, bool met, std::string_view tooltip);

  const Gantt& gantt_;
  const Layout layout_;
  SvgDocument svg_;
};

std::string Drawing::Tooltip(const StageRow& stage) const {
  std::string text = fmt::format("{}, job {}, stage {} of {}\npartition {}, level {}{}\n{:.3f} to ",
                                 NameOf(stage.task), stage.job, stage.stage + 1, stage.stage_count,
                                 stage.partition, LevelName(stage.level),
                                 stage.switched ? ", switched" : "", Ms(BeginOf(stage)));
  text +=
      stage.end_ns == 0
          ? std::string("beyond the end")
          : fmt::format("{:.3f} ms ({})", Ms(stage.end_ns),
                        FormatDurationNs(stage.end_ns - std::min(stage.end_ns, BeginOf(stage))));
  if (stage.virtual_deadline_ns != UINT64_MAX) {
    text += fmt::format("\nvirtual deadline {:.3f} ms", Ms(stage.virtual_deadline_ns));
  }
  return text;
}

double Drawing::LegendBar(double x, double y, std::string_view band, bool late,
                          std::string_view text) {
  svg_.Rect({x, y - 8, 24, 15}, {.fill = svg::TaskColour(7), .corner = 1.5});
  if (!band.empty()) svg_.Rect({x, y + 4, 24, 3}, {.fill = band});
  if (late) svg_.Rect({x + 22, y - 8, 2.5, 15}, {.fill = svg::kMissed});
  svg_.Text({x + 31, y + 4}, text, {.size = 12});
  return x + 31 + SvgTextWidth(text, 12) + 16;
}

void Drawing::Legend() {
  svg_.BeginGroup("legend");
  const double y = layout_.legend + 14;
  double x = kMargin;
  x = LegendBar(x, y, {}, false, "level low");
  x = LegendBar(x, y, kMediumBand, false, "medium");
  x = LegendBar(x, y, kHighBand, false, "high");
  x = LegendBar(x, y, {}, true, "ended after its virtual deadline");
  const auto entry = [&](std::string_view text) {
    svg_.Text({x + 8, y + 4}, text, {.size = 12});
    x += 8 + SvgTextWidth(text, 12) + 20;
  };
  Release(x, y + 6, {});
  entry("release");
  Deadline(x, y - 6, true, {});
  entry("deadline, met");
  Deadline(x, y - 6, false, {});
  entry("deadline, missed");
  svg_.EndGroup();
}

void Drawing::Grid() {
  const double from = Ms(gantt_.from_ns);
  const double to = Ms(gantt_.to_ns);
  const std::vector<double> ticks = svg::InnerTicks(from, to, 11);
  const double step = ticks.size() > 1 ? ticks[1] - ticks[0] : 1;
  svg_.BeginGroup("axis");
  for (double tick : ticks) {
    const double x = kLeft + (tick - from) / (to - from) * kPlot;
    svg_.Line({x, layout_.partitions - 4}, {x, layout_.axis}, {.stroke = svg::kGrid});
    svg_.Line({x, layout_.axis}, {x, layout_.axis + 4}, {.stroke = svg::kAxis});
    svg_.Text({x, layout_.axis + 17}, svg::TickText(tick, step),
              {.size = 11, .fill = svg::kQuiet, .anchor = SvgAnchor::kMiddle});
  }
  svg_.Line({kLeft, layout_.axis}, {kLeft + kPlot, layout_.axis}, {.stroke = svg::kAxis});
  svg_.Text({kLeft + kPlot / 2, layout_.axis + 35}, "time, ms",
            {.size = 11.5, .fill = svg::kQuiet, .anchor = SvgAnchor::kMiddle});
  svg_.EndGroup();
}

void Drawing::Bar(const StageRow& stage, double y, const std::vector<std::string>& labels) {
  const double left = X(BeginOf(stage));
  const double width = std::max(0.6, X(EndOf(stage)) - left);
  constexpr double kHeight = 17;
  svg_.Rect({left, y, width, kHeight},
            {.fill = svg::TaskColour(stage.task),
             .stroke = "#ffffff",
             .stroke_width = 0.6,
             .corner = 1.5},
            Tooltip(stage));
  if (stage.level != SGPRS_LEVEL_LOW) {
    svg_.Rect({left + 0.3, y + kHeight - 3, width - 0.6, 3},
              {.fill = stage.level == SGPRS_LEVEL_HIGH ? kHighBand : kMediumBand});
  }
  if (stage.end_ns > stage.virtual_deadline_ns && stage.end_ns <= gantt_.to_ns && width > 3) {
    svg_.Rect({left + width - 2.2, y, 2.2, kHeight}, {.fill = svg::kMissed});
  }
  for (const std::string& label : labels) {  // the longest that fits
    if (SvgTextWidth(label, kBarText) + 5 > width) continue;
    svg_.Text({left + width / 2, y + 11}, label, {.size = kBarText, .anchor = SvgAnchor::kMiddle});
    break;
  }
}

void Drawing::Partitions() {
  svg_.Text({kMargin, layout_.partitions - 13}, "Partitions", {.size = 12.5, .bold = true});
  svg_.Text({kLeft, layout_.partitions - 13}, "bars: task.stage",
            {.size = 11, .fill = svg::kQuiet});
  double y = layout_.partitions;
  for (size_t i = 0; i < layout_.parts.size(); ++i) {
    const Part& part = layout_.parts[i];
    const double height = kLane * static_cast<double>(part.lanes);
    svg_.BeginGroup("partition");
    svg_.Rect({kLeft, y - 1, kPlot, height}, {.fill = "#000000", .fill_opacity = 0.035});
    svg_.Text({kMargin, y + height / 2 + 3},
              fmt::format("partition {}, {} SMs", i, gantt_.partition_sms[i]), {.size = 12});
    for (const auto& [stage, lane] : part.stages) {
      Bar(*stage, y + kLane * static_cast<double>(lane) + 1,
          {fmt::format("{}.{}", stage->task, stage->stage + 1), fmt::format("{}", stage->task)});
    }
    svg_.EndGroup();
    y += height + kPartGap;
  }
}

void Drawing::TaskLabel(size_t task, double y) {
  svg_.Rect({kMargin, y + 2, 22, 15}, {.fill = svg::TaskColour(task), .corner = 1.5});
  svg_.Text({kMargin + 11, y + 13}, fmt::format("{}", task),
            {.size = kBarText, .anchor = SvgAnchor::kMiddle});
  std::string name = NameOf(static_cast<uint32_t>(task));
  const std::string& remark = gantt_.tasks[task].remark;
  if (!remark.empty()) name += ", " + remark;
  const size_t whole = name.size();
  while (SvgTextWidth(name, 11.5) > kLabels - 40) name.pop_back();
  if (name.size() < whole) name += "…";
  svg_.Text({kMargin + 29, y + 13.5}, name, {.size = 11.5});
}

void Drawing::Tasks() {
  svg_.Text({kMargin, layout_.tasks - 11}, "Tasks", {.size = 12.5, .bold = true});
  svg_.Text({kLeft, layout_.tasks - 11}, "bars: the partition that ran the stage",
            {.size = 11, .fill = svg::kQuiet});
  svg_.BeginGroup("tasks");
  const auto row = [&](size_t task) {
    return layout_.tasks + kTaskRow * static_cast<double>(task);
  };
  for (size_t i = 0; i < layout_.task_rows; ++i) {
    svg_.Line({kLeft, row(i) + kTaskRow - 1}, {kLeft + kPlot, row(i) + kTaskRow - 1},
              {.stroke = svg::kGrid});
    TaskLabel(i, row(i));
  }
  for (const JobRow& job : gantt_.jobs) {
    if (job.task < layout_.task_rows) Held(job, row(job.task));
  }
  for (const StageRow& stage : gantt_.stages) {
    if (stage.task >= layout_.task_rows || BeginOf(stage) >= gantt_.to_ns ||
        EndOf(stage) <= gantt_.from_ns) {
      continue;
    }
    Bar(stage, row(stage.task) + 2,
        {fmt::format("p{}", stage.partition), fmt::format("{}", stage.partition)});
  }
  for (const JobRow& job : gantt_.jobs) {
    if (job.task < layout_.task_rows) Marks(job, row(job.task));
  }
  svg_.EndGroup();
}

void Drawing::Release(double x, double bottom, std::string_view tooltip) {
  const SvgPoint triangle[] = {{x - 3.5, bottom}, {x + 3.5, bottom}, {x, bottom - 6}};
  svg_.Polygon(triangle, {.fill = "#ffffff", .stroke = svg::kInk, .stroke_width = 0.9}, tooltip);
}

void Drawing::Deadline(double x, double top, bool met, std::string_view tooltip) {
  const std::string_view colour = met ? svg::kInk : svg::kMissed;
  if (!met) svg_.Line({x, top}, {x, top + 19}, {.stroke = colour, .stroke_width = 1.4});
  const SvgPoint triangle[] = {{x - 3.8, top}, {x + 3.8, top}, {x, top + 6}};
  svg_.Polygon(triangle, {.fill = colour, .stroke = colour, .stroke_width = 0.9}, tooltip);
}

// A line from the release of a held job to its first grant, if it got one.
void Drawing::Held(const JobRow& job, double y) {
  if (!job.held || job.release_ns >= gantt_.to_ns || job.deadline_ns <= gantt_.from_ns) return;
  const double left = X(job.release_ns);
  const double right = X(job.first_grant_ns != 0 ? job.first_grant_ns : job.deadline_ns);
  if (right <= left) return;
  svg_.Line({left, y + 11}, {right, y + 11},
            {.stroke = svg::kQuiet, .stroke_width = 1.2, .dash = "2 3"});
  if (right - left < 34) return;
  svg_.Text({(left + right) / 2, y + 8}, "held",
            {.size = kBarText, .fill = svg::kQuiet, .anchor = SvgAnchor::kMiddle});
}

void Drawing::Marks(const JobRow& job, double y) {
  const std::string what = fmt::format("{}, job {}", NameOf(job.task), job.job);
  if (Inside(job.release_ns)) {
    Release(X(job.release_ns), y + kTaskRow - 1,
            fmt::format("{}: release at {:.3f} ms", what, Ms(job.release_ns)));
  }
  if (job.deadline_ns != UINT64_MAX && Inside(job.deadline_ns)) {
    Deadline(X(job.deadline_ns), y, job.on_time,
             fmt::format("{}: deadline {:.3f} ms, {}", what, Ms(job.deadline_ns),
                         job.on_time ? "met" : "missed"));
  }
}

}  // namespace

std::string DrawGantt(const Gantt& gantt) { return Drawing(gantt).Draw(); }

}  // namespace sgprs::cli
