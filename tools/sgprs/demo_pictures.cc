// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/demo_pictures.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/duration.h"
#include "tools/sgprs/report/report_data.h"
#include "tools/sgprs/report/report_html.h"
#include "tools/sgprs/sim_plots.h"
#include "tools/sgprs/sim_report.h"
#include "tools/sgprs/text_table.h"

namespace sgprs::cli {
namespace {

constexpr size_t kMostSubjectBytes = 32;  // a title fits into the picture

// "dir/t.trace.json" -> "dir/t" + suffix.
std::string WithSuffix(const std::string& path, std::string_view suffix) {
  const size_t slash = path.rfind('/');
  const size_t name = slash == std::string::npos ? 0 : slash + 1;
  return path.substr(0, path.find('.', name + 1)) + std::string(suffix);
}

std::string TitleOf(const DemoOptions& options, const std::string& device) {
  std::string subject = DemoSubject(options);
  if (subject.size() > kMostSubjectBytes) {
    subject = subject.substr(0, kMostSubjectBytes - 3) + "...";
  }
  return fmt::format("{} x {} at {} fps on a {}", options.tasks, subject, options.fps,
                     Printable(device));
}

}  // namespace

std::string DemoRatesPath(const DemoOptions& options) {
  return WithSuffix(options.trace.empty() ? "sgprs-demo." : options.trace, ".rates.svg");
}

std::string DemoGanttPath(const DemoOptions& options, const std::string& policy) {
  return WithSuffix(DemoTracePath(options, policy), ".gantt.svg");
}

std::string DemoHtmlPath(const DemoOptions& options, const std::string& policy) {
  return WithSuffix(DemoTracePath(options, policy), ".report.html");
}

RateFigure DemoRateFigure(const DemoOptions& options, const std::vector<DemoResult>& results) {
  RateFigure figure;
  figure.title = TitleOf(options, results.front().device);
  figure.subtitle = {fmt::format(
      "{} partitions, {:g}x over-subscribed (naive: full-size); {} a policy", options.partitions,
      options.oversubscription, FormatDurationNs(options.window_ns))};
  figure.offered_fps =
      static_cast<double>(options.tasks) * 1e9 / static_cast<double>(options.period_ns);
  size_t next = 2;
  for (const DemoResult& result : results) {
    const TaskRates rates = DemoRates(result);
    const size_t colour = ColourOf(result.policy, next);
    if (colour == next) ++next;
    figure.bars.push_back(
        {result.policy, colour, rates.completed_fps, rates.on_time_fps, rates.miss_percent});
  }
  figure.notes = {"Measured on a simulated device: kernels take the time that a model says."};
  return figure;
}

Gantt DemoGantt(const DemoOptions& options, const DemoResult& result, const RecordedTrace& trace) {
  Gantt gantt;
  const TaskRates rates = DemoRates(result);
  gantt.title = fmt::format("{}: {}", result.policy, TitleOf(options, result.device));
  gantt.subtitle = {fmt::format(
      "{:.1f} FPS completed, {:.1f} on time; recorded by sgprsd; time from the start of the window",
      rates.completed_fps, rates.on_time_fps)};
  gantt.partition_sms = trace.sm_counts;
  for (const RecordedTask& task : trace.tasks) gantt.tasks.push_back({task.name, ""});
  gantt.jobs = trace.jobs;
  for (const RecordedStage& stage : trace.stages) gantt.stages.push_back(stage.row);
  const uint64_t length_ns =
      std::min(result.window_ns, std::max(kNsPerSecond / 10, 3 * options.period_ns));
  gantt.zero_ns = result.window_begin_ns;
  gantt.from_ns = result.window_begin_ns + (result.window_ns - length_ns) / 2;
  gantt.to_ns = gantt.from_ns + std::max<uint64_t>(1, length_ns);
  gantt.notes = {"A bar reaches from the stage's first issued launch to its completion."};
  return gantt;
}

Result<std::vector<std::string>> WriteDemoPictures(const DemoOptions& options,
                                                   const std::vector<DemoResult>& results) {
  std::vector<std::string> paths;
  const auto write = [&](const std::string& path, const std::string& svg) {
    Status written = WriteFile(path, svg);
    if (written.ok()) paths.push_back(path);
    return written;
  };
  Status status = write(DemoRatesPath(options), DrawRates(DemoRateFigure(options, results)));
  if (!status.ok()) return status;
  for (const DemoResult& result : results) {
    const Result<RecordedTrace> trace = ReadTrace(result.trace_path);
    if (!trace.ok()) return trace.status();
    status =
        write(DemoGanttPath(options, result.policy), DrawGantt(DemoGantt(options, result, *trace)));
    if (!status.ok()) return status;
  }
  return paths;
}

Status WriteDemoHtml(const DemoOptions& options, const std::string& policy,
                     const std::string& job_log) {
  Result<ReportData> data = ReadReport(job_log);
  if (!data.ok()) return data.status();
  data->log = "of sgprs demo, not kept";
  return WriteFile(DemoHtmlPath(options, policy), ReportHtml(*data));
}

}  // namespace sgprs::cli
