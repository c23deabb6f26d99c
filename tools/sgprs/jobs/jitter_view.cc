// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/jobs/jitter_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/clock.h"
#include "runtime/kernel/probe_level.h"
#include "tools/sgprs/jobs/job_source.h"
#include "tools/sgprs/text_table.h"

namespace sgprs::cli {
namespace {

constexpr uint32_t kOctaves = 21;  // below 1 us, then powers of two up to 1 s and beyond
constexpr uint64_t kBarColumns = 50;
constexpr const char* kShades = " .:-=+*#%@";

// Octave i is [2^(i-1), 2^i) us; octave 0 all below 1 us, the last one all beyond.
uint64_t OctaveFromNs(uint32_t i) { return i == 0 ? 0 : (kNsPerUs << (i - 1)); }
uint64_t OctaveToNs(uint32_t i) { return i + 1 < kOctaves ? kNsPerUs << i : UINT64_MAX; }

std::vector<uint64_t> Octaves(const DurationHistogram& histogram) {
  std::vector<uint64_t> counts(kOctaves);
  for (uint32_t i = 0; i < kOctaves; ++i) {
    counts[i] = histogram.CountBetween(OctaveFromNs(i), OctaveToNs(i));
  }
  return counts;
}

// A character an octave, darker = more; what is there at all is never blank.
std::string Line(const DurationHistogram& histogram) {
  const std::vector<uint64_t> counts = Octaves(histogram);
  const uint64_t most = *std::max_element(counts.begin(), counts.end());
  std::string line = "|";
  for (const uint64_t count : counts) line += kShades[count == 0 ? 0 : 1 + count * 8 / most];
  return line + "|";
}

std::string Bars(const DurationHistogram& histogram) {
  const std::vector<uint64_t> counts = Octaves(histogram);
  const uint64_t most = *std::max_element(counts.begin(), counts.end());
  uint32_t first = 0;
  uint32_t last = kOctaves;
  while (first < last && counts[first] == 0) ++first;
  while (last > first && counts[last - 1] == 0) --last;
  std::string out;
  for (uint32_t i = first; i < last; ++i) {
    const uint64_t length =
        counts[i] == 0 ? 0 : std::max<uint64_t>(1, counts[i] * kBarColumns / most);
    out += fmt::format("    {:>8} {:<{}} {}\n", "< " + TimeWords(OctaveToNs(i)),
                       std::string(length, '#'), kBarColumns, counts[i]);
    if (i + 1 == kOctaves) out.replace(out.rfind("< "), 2, ">=");
  }
  return out;
}

void AddRow(TextTable* table, const char* name, const DurationHistogram& histogram) {
  if (histogram.count() == 0) return;
  table->AddRow({std::string("  ") + name, std::to_string(histogram.count()),
                 TimeWords(histogram.least_ns()), TimeWords(histogram.MedianNs()),
                 TimeWords(histogram.QuantileNs(0.9)), TimeWords(histogram.QuantileNs(0.99)),
                 TimeWords(histogram.most_ns()), Line(histogram)});
}

std::string Heading(const JitterTask& row) {
  const TaskStatistics& all = row.statistics;
  std::string out = row.label;
  if (!row.task.program.empty()) {
    out += fmt::format(" ({}, pid {})", row.task.program, row.task.pid);
  }
  if (row.task.period_ns != 0) out += ", period " + TimeWords(row.task.period_ns);
  out += ": " + Counted(all.jobs(), "job");
  if (all.with_deadline() != 0) out += ", " + Share(all.missed(), all.with_deadline()) + " missed";
  if (all.learning() != 0) out += fmt::format(", {} while learning", all.learning());
  return out + "\n";
}

std::string Stamps(const JitterTask& row) {
  const TaskStatistics& all = row.statistics;
  std::string out = fmt::format("  kernel stamps: {} complete, {} incomplete, {} without\n",
                                Share(all.whole(), all.jobs()), all.stamped() - all.whole(),
                                all.jobs() - all.stamped());
  const StampAgreement& agreement = row.agreement;
  if (agreement.apart().count() == 0) return out;
  out += fmt::format(
      "  released to running, median: {} by the kernel (return of its wait), {} by the process's "
      "own\n  clock (first launch); {} apart in the same job\n",
      TimeWords(agreement.kernel().MedianNs()), TimeWords(agreement.process().MedianNs()),
      TimeWords(agreement.apart().MedianNs()));
  if (agreement.impossible() != 0) {
    out += fmt::format("  {} launched before the kernel let them go: not used\n",
                       Counted(agreement.impossible(), "job"));
  }
  return out;
}

std::string TaskText(const JitterTask& row, bool bars) {
  std::string out = Heading(row) + Stamps(row);
  TextTable table;
  table.AddColumn("  PHASE", TextTable::Align::kLeft);
  for (const char* title : {"JOBS", "LEAST", "MEDIAN", "P90", "P99", "MOST"}) {
    table.AddColumn(title);
  }
  table.AddColumn("|<1us <1ms <1s|", TextTable::Align::kLeft);
  for (const observe::JobPhaseInfo& info : observe::kJobPhases) {
    AddRow(&table, info.name, row.statistics.phase(info.phase));
  }
  out += table.Format();
  if (!bars) return out;
  for (const observe::JobPhaseInfo& info : observe::kJobPhases) {
    const DurationHistogram& histogram = row.statistics.phase(info.phase);
    if (histogram.count() == 0) continue;
    out += fmt::format("\n  {}: {}\n{}", info.name, info.help, Bars(histogram));
  }
  return out;
}

Json HistogramJson(const DurationHistogram& histogram) {
  Json octaves = Json::array();
  const std::vector<uint64_t> counts = Octaves(histogram);
  for (uint32_t i = 0; i < kOctaves; ++i) {
    if (counts[i] == 0) continue;
    Json octave = {{"from_ns", OctaveFromNs(i)}, {"to_ns", nullptr}, {"count", counts[i]}};
    if (i + 1 < kOctaves) octave["to_ns"] = OctaveToNs(i);
    octaves.push_back(octave);
  }
  return {{"jobs", histogram.count()},
          {"least_ns", histogram.least_ns()},
          {"median_ns", histogram.MedianNs()},
          {"p90_ns", histogram.QuantileNs(0.9)},
          {"p99_ns", histogram.QuantileNs(0.99)},
          {"most_ns", histogram.most_ns()},
          {"histogram", octaves}};
}

Json TaskJson(const JitterTask& row) {
  const TaskStatistics& all = row.statistics;
  Json json = {{"task", row.label},
               {"name", row.task.name},
               {"client_id", row.task.client_id},
               {"pid", row.task.pid},
               {"period_ns", row.task.period_ns},
               {"jobs", all.jobs()},
               {"with_deadline", all.with_deadline()},
               {"missed", all.missed()},
               {"learning", all.learning()},
               {"complete", all.whole()},
               {"incomplete", all.stamped() - all.whole()},
               {"without_stamps", all.jobs() - all.stamped()},
               {"kernel_released_to_running", HistogramJson(row.agreement.kernel())},
               {"process_released_to_running", HistogramJson(row.agreement.process())},
               {"stamps_apart", HistogramJson(row.agreement.apart())},
               {"stamps_impossible", row.agreement.impossible()},
               {"phases", Json::object()}};
  for (const observe::JobPhaseInfo& info : observe::kJobPhases) {
    json["phases"][info.name] = HistogramJson(all.phase(info.phase));
  }
  return json;
}

}  // namespace

void StampAgreement::Add(const SgprsLogJob& job) {
  if (!HasWholeStamps(job)) return;
  const uint64_t from_ns = job.due_ns != 0 ? job.due_ns : job.wakeup_ns;
  if (job.first_launch_ns < job.wait_exit_ns || job.wait_exit_ns < from_ns) {
    ++impossible_;
    return;
  }
  kernel_.Add(job.wait_exit_ns - from_ns);
  process_.Add(job.first_launch_ns - from_ns);
  apart_.Add(job.first_launch_ns - job.wait_exit_ns);
}

Result<JitterView> ReadJitter(JobHistory* history, const std::string& word) {
  struct Gathered {
    TaskStatistics statistics;
    StampAgreement agreement;
  };
  std::map<const HistoryTask*, Gathered> gathered;
  for (;;) {
    Result<std::optional<HistoryJob>> job = history->Next();
    if (!job.ok()) return job.status();
    if (!job->has_value()) break;
    Gathered& one = gathered[(*job)->task];
    one.statistics.Add(**job);
    one.agreement.Add((*job)->job);
  }
  std::vector<const HistoryTask*> wanted = history->Tasks();
  if (!word.empty() || wanted.empty()) {
    Result<std::vector<const HistoryTask*>> found = history->Find(word);
    if (!found.ok()) return found.status();
    wanted = std::move(*found);
  }
  JitterView view = {.log = history->path(),
                     .probe_level = history->header().probe_level,
                     .tasks = {},
                     .counts = history->counts(),
                     .recording = {}};
  for (const HistoryTask* task : wanted) {
    Gathered& one = gathered[task];
    view.tasks.push_back({.label = history->Label(*task),
                          .task = *task,
                          .statistics = std::move(one.statistics),
                          .agreement = std::move(one.agreement)});
  }
  return view;
}

std::string JitterText(const JitterView& view, bool bars) {
  std::string out;
  for (const JitterTask& row : view.tasks) {
    if (!out.empty()) out += "\n";
    out += TaskText(row, bars);
  }
  const auto level = static_cast<kernel::ProbeLevel>(view.probe_level);
  out += fmt::format("\nprobes  {}\n",
                     view.recording ? ProbesInWords(*view.recording) : NameOf(level));
  if (view.recording) out += fmt::format("waits   {}\n", ProbeCountsInWords(*view.recording));
  out += fmt::format("log     {}: {}, {} dropped, {} damaged\n", Printable(view.log),
                     Counted(view.counts.jobs, "job"), view.counts.dropped, view.counts.damaged);
  return out;
}

Json JitterJson(const JitterView& view) {
  Json json = {{"version", kJsonVersion},
               {"log", view.log},
               {"probe_level", NameOf(static_cast<kernel::ProbeLevel>(view.probe_level))},
               {"records",
                {{"jobs", view.counts.jobs},
                 {"dropped", view.counts.dropped},
                 {"overwritten", view.counts.overwritten},
                 {"damaged", view.counts.damaged}}},
               {"probes", nullptr},
               {"tasks", Json::array()}};
  if (view.recording) json["probes"] = ProbesJson(*view.recording);
  for (const JitterTask& row : view.tasks) json["tasks"].push_back(TaskJson(row));
  return json;
}

}  // namespace sgprs::cli
