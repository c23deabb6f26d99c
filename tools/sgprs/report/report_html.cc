// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/report/report_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <string_view>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/kernel/probe_level.h"
#include "tools/sgprs/report/report_plots.h"
#include "tools/sgprs/state_view.h"
#include "tools/sgprs/svg_document.h"
#include "tools/sgprs/text_table.h"
#include "tools/sgprs/top/top_view.h"

namespace sgprs::cli {
namespace {

constexpr size_t kMostDrawnTasks = 32;  // with pictures of their own

// The policy forbids whatever would be loaded or run, should a name ever get past the escaping.
constexpr std::string_view kHead = R"(<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" lang="en">
<head>
<meta charset="utf-8"/>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>SGPRS report</title>
<style>
body { font: 15px/1.45 Inter, "Helvetica Neue", Arial, sans-serif; color: #222; background: #fff;
       max-width: 1180px; margin: 24px auto; padding: 0 20px; }
h1 { font-size: 26px; margin: 0 0 4px; } h2 { font-size: 19px; margin: 34px 0 8px; }
p { margin: 6px 0; max-width: 80ch; } .quiet { color: #666; } .bad { color: #c40000; }
table { border-collapse: collapse; margin: 8px 0; } .scroll { overflow-x: auto; }
th, td { padding: 4px 12px 4px 0; text-align: right; border-bottom: 1px solid #e4e4e4;
         white-space: nowrap; vertical-align: top; }
th { font-weight: 600; } th.l, td.l { text-align: left; } td.w { white-space: normal; }
.facts th { text-align: left; color: #666; font-weight: 400; } .facts td { text-align: left; }
.grid { display: flex; flex-wrap: wrap; gap: 6px; } svg { max-width: 100%; height: auto; }
summary { cursor: pointer; padding: 6px 0; } figure { margin: 12px 0; }
</style>
</head>
<body>
)";

std::string Escaped(std::string_view text) { return XmlEscape(Printable(text)); }

std::string NsText(uint64_t ns) { return ns == 0 ? "-" : ShortDuration(ns); }

class Table {
 public:
  // Titles that begin with '<' are of columns to the left.
  explicit Table(const std::vector<std::string_view>& titles) {
    out_ = "<div class=\"scroll\"><table><thead><tr>";
    for (const std::string_view title : titles) {
      left_.push_back(title.starts_with('<'));
      out_ += fmt::format("<th{}>{}</th>", left_.back() ? " class=\"l\"" : "",
                          Escaped(left_.back() ? title.substr(1) : title));
    }
    out_ += "</tr></thead><tbody>\n";
  }
  // Escapes each cell. `bad`: index of one that is to be seen.
  void Row(const std::vector<std::string>& cells, size_t bad = SIZE_MAX) {
    out_ += "<tr>";
    for (size_t i = 0; i < cells.size(); ++i) {
      const bool wraps = i + 1 == cells.size() && left_[i];
      out_ += fmt::format("<td class=\"{}{}{}\">{}</td>", left_[i] ? "l" : "", wraps ? " w" : "",
                          i == bad ? " bad" : "", Escaped(cells[i]));
    }
    out_ += "</tr>\n";
  }
  std::string Finish() { return out_ + "</tbody></table></div>\n"; }

 private:
  std::vector<bool> left_;
  std::string out_;
};

std::string Facts(const std::vector<std::pair<std::string, std::string>>& facts) {
  std::string out = "<table class=\"facts\"><tbody>\n";
  for (const auto& [name, text] : facts) {
    out +=
        fmt::format("<tr><th>{}</th><td class=\"w\">{}</td></tr>\n", Escaped(name), Escaped(text));
  }
  return out + "</tbody></table>\n";
}

std::string WallClock(const SgprsLogHeader& header, uint64_t at_ns) {
  const int64_t offset_ns = static_cast<int64_t>(at_ns) - static_cast<int64_t>(header.begun_ns);
  const auto seconds = static_cast<time_t>(
      (static_cast<int64_t>(header.begun_unix_ns) + offset_ns) / int64_t{kNsPerSecond});
  tm parts = {};
  if (gmtime_r(&seconds, &parts) == nullptr) return "not known";
  char text[64];
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text;
}

std::string Pool(const SgprsLogHeader& header) {
  std::string sizes;
  const uint32_t count = std::min<uint32_t>(header.partition_count, SGPRS_MAX_PARTITIONS);
  for (uint32_t i = 0; i < count; ++i) {
    sizes += fmt::format("{}{}", i == 0 ? "" : " + ", header.partitions[i].sm_count);
  }
  return count == 0 ? "not known"
                    : fmt::format("{} partitions: {} of {} SMs", count, sizes, header.sm_count);
}

std::string HeaderHtml(const ReportData& data) {
  const SgprsLogHeader& header = data.header;
  std::string level = NameOf(kernel::ProbeLevel{header.probe_level});
  if (!HasStamps(level)) level += ": releases are first launches";
  if (data.recording.has_value()) level = ProbesInWords(*data.recording);
  const double percent = data.all.with_deadline() == 0
                             ? 0
                             : 100.0 * static_cast<double>(data.all.missed()) /
                                   static_cast<double>(data.all.with_deadline());
  std::string out = "<h1>SGPRS report</h1>\n";
  out += fmt::format(
      "<p>{} tasks, {} jobs in {}; <span class=\"{}\">{} jobs ({:.2f} %) missed their "
      "deadline</span>.</p>\n",
      data.tasks.size(), data.all.jobs(), NsText(data.to_ns - data.from_ns),
      data.all.missed() == 0 ? "quiet" : "bad", data.all.missed(), percent);
  const std::string_view device = header.device_name;
  out += Facts({{"Device", device.empty() ? "not known" : std::string(device)},
                {"Policy", header.policy},
                {"Pool", Pool(header)},
                {"Kernel probes", level},
                {"From", WallClock(header, data.from_ns)},
                {"To", WallClock(header, data.to_ns)},
                {"Job log", data.log}});
  return out;
}

std::string CountsHtml(const ReportData& data) {
  std::vector<std::pair<std::string, std::string>> facts = {
      {"Jobs", std::to_string(data.all.jobs())},
      {"missed", std::to_string(data.all.missed())},
      {"while learning", std::to_string(data.all.learning())},
      {"off their launch sequence", std::to_string(data.all.off_signature())},
      {"with stamps of the kernel", std::to_string(data.all.stamped())},
      {"of these incomplete",
       std::to_string(data.all.stamped() - std::min(data.all.stamped(), data.all.whole()))},
      {"Records dropped by sgprsd", std::to_string(data.counts.dropped)},
      {"overwritten before they were read", std::to_string(data.counts.overwritten)},
      {"damaged", std::to_string(data.counts.damaged)}};
  if (data.recording.has_value()) {
    facts.emplace_back("Waits, of the daemon's life", ProbeCountsInWords(*data.recording));
  }
  return "<h2>Counts</h2>\n" + Facts(facts) +
         "<p class=\"quiet\">Incomplete and lost stamps are counted and never used. Skipped frames "
         "are "
         "jobs that never were, so they are in no log: sgprs tasks counts them.</p>\n";
}

std::string TasksHtml(const ReportData& data) {
  Table table({"<Task", "<Class", "Period", "Deadline", "Jobs", "FPS", "On-time FPS", "Missed",
               "Missed %", "Response p50", "p99", "most"});
  for (const ReportTask& task : data.tasks) {
    const TaskRates rates = task.rates();
    const DurationHistogram& response = task.statistics.phase(observe::JobPhase::k_response);
    table.Row({task.label, std::string(TaskClassWord(task.task.task_class)),
               NsText(task.task.period_ns), NsText(task.task.deadline_ns),
               std::to_string(task.statistics.jobs()), fmt::format("{:.1f}", rates.completed_fps),
               fmt::format("{:.1f}", rates.on_time_fps), std::to_string(task.statistics.missed()),
               fmt::format("{:.2f}", rates.miss_percent), NsText(response.QuantileNs(0.5)),
               NsText(response.QuantileNs(0.99)), NsText(response.most_ns())},
              task.statistics.missed() != 0 ? 7 : SIZE_MAX);
  }
  return "<h2>Tasks</h2>\n" + table.Finish() + "<figure>" + FpsSvg(data, kMostDrawnTasks) +
         "</figure>\n";
}

std::string CausesHtml(const ReportData& data) {
  if (data.all.missed() == 0) return "<h2>Misses</h2>\n<p>No deadline was missed.</p>\n";
  std::vector<std::pair<JobPart, CauseCount>> causes(data.causes.begin(), data.causes.end());
  std::stable_sort(causes.begin(), causes.end(),
                   [](const auto& a, const auto& b) { return a.second.jobs > b.second.jobs; });
  Table table({"<What cost the deadline", "Jobs", "%", "Latest by", "<What that is", "<Tasks"});
  const auto missed = static_cast<double>(data.all.missed());
  for (const auto& [part, count] : causes) {
    std::string tasks;
    for (const ReportTask& task : data.tasks) {
      const auto found = task.causes.find(part);
      if (found == task.causes.end() || tasks.size() > 80) continue;
      tasks += fmt::format("{}{} {}", tasks.empty() ? "" : ", ", task.label, found->second.jobs);
    }
    table.Row({InfoOf(part).words, std::to_string(count.jobs),
               fmt::format("{:.1f}", 100.0 * static_cast<double>(count.jobs) / missed),
               NsText(count.worst_late_ns), InfoOf(part).help, tasks});
  }
  if (data.missed_learning != 0) {
    table.Row({"learning", std::to_string(data.missed_learning),
               fmt::format("{:.1f}", 100.0 * static_cast<double>(data.missed_learning) / missed),
               "-", "its stages were not known yet; not looked into", ""});
  }
  return "<h2>Misses</h2>\n<p class=\"quiet\">The part of the response that took most beyond what "
         "is usual for "
         "the task (its on-time jobs); sgprs why TASK JOB says more of one.</p>\n" +
         table.Finish();
}

std::string WorstHtml(const ReportData& data) {
  if (data.worst.empty()) return "";
  Table table({"<Task", "Job", "At", "Response", "Late by", "<What cost the deadline", "took",
               "usually", "<On the CPU meanwhile"});
  for (const ReportMiss& miss : data.worst) {
    const Diagnosis& diagnosis = miss.diagnosis;
    const SgprsLogJob& job = miss.job.job;
    uint64_t took_ns = 0;
    uint64_t usual_ns = 0;
    if (!diagnosis.parts.empty()) {
      took_ns = diagnosis.parts.front().took_ns;
      usual_ns = diagnosis.parts.front().usual_ns;
    }
    const std::string comm(job.culprit_comm, strnlen(job.culprit_comm, sizeof(job.culprit_comm)));
    table.Row({data.tasks[miss.task].label, std::to_string(job.job),
               NsText(job.release_ns - std::min(job.release_ns, data.from_ns)),
               NsText(diagnosis.response_ns), NsText(diagnosis.late_ns),
               InfoOf(diagnosis.cause).words, NsText(took_ns),
               diagnosis.compared ? NsText(usual_ns) : "not known",
               job.culprit_ns == 0 ? "" : fmt::format("{} {}", comm, NsText(job.culprit_ns))});
  }
  return fmt::format("<h2>The {} worst misses</h2>\n", data.worst.size()) + table.Finish();
}

std::string TimelineHtml(const ReportData& data) {
  if (data.windows.empty()) return "";
  std::string out = "<h2>Timeline</h2>\n";
  for (const ReportWindow& window : data.windows) {
    out += "<figure>" + TimelineSvg(data, window) + "</figure>\n";
  }
  return out;
}

std::string PhaseGrid(const TaskStatistics& statistics) {
  std::string out = "<div class=\"grid\">\n";
  for (const observe::JobPhaseInfo& info : observe::kJobPhases) {
    const DurationHistogram& histogram = statistics.phase(info.phase);
    if (histogram.count() != 0) out += PhaseSvg(histogram, info.name, info.help);
  }
  return out + "</div>\n";
}

std::string JitterHtml(const ReportData& data) {
  std::string out =
      "<h2>Jitter</h2>\n<p class=\"quiet\">How long each phase of a job took; height is jobs, the "
      "axis is logarithmic. Phases whose moments were not seen are left out.</p>\n";
  Table table({"<Phase", "<What that is"});
  for (const observe::JobPhaseInfo& info : observe::kJobPhases) table.Row({info.name, info.help});
  out += "<h3>All tasks</h3>\n" + PhaseGrid(data.all);
  for (size_t i = 0; i < std::min(data.tasks.size(), kMostDrawnTasks); ++i) {
    out += fmt::format("<details><summary>{}</summary>\n{}</details>\n",
                       Escaped(data.tasks[i].label), PhaseGrid(data.tasks[i].statistics));
  }
  if (data.tasks.size() > kMostDrawnTasks) {
    out +=
        fmt::format("<p>{} more tasks: sgprs jitter.</p>\n", data.tasks.size() - kMostDrawnTasks);
  }
  return out + "<details><summary>What the phases are</summary>\n" + table.Finish() +
         "</details>\n";
}

// Inside a script element that is data: no text in it may look like markup.
std::string DataHtml(const ReportData& data) {
  std::string text = ReportJson(data).dump(-1, ' ', true, Json::error_handler_t::replace);
  for (const auto& [from, to] : {std::pair{'<', "\\u003c"}, {'>', "\\u003e"}, {'&', "\\u0026"}}) {
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
      text.replace(at, 1, to);
    }
  }
  return "<script type=\"application/json\" id=\"sgprs-report\">" + text + "</script>\n";
}

}  // namespace

std::string ReportHtml(const ReportData& data) {
  return std::string(kHead) + HeaderHtml(data) + TasksHtml(data) + CausesHtml(data) +
         WorstHtml(data) + TimelineHtml(data) + JitterHtml(data) + CountsHtml(data) +
         DataHtml(data) + "</body>\n</html>\n";
}

}  // namespace sgprs::cli
