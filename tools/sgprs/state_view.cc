// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/state_view.h"

#include <fmt/format.h>

#include "runtime/base/duration.h"
#include "tools/sgprs/task_rates.h"
#include "tools/sgprs/text_table.h"

namespace sgprs::cli {
namespace {

constexpr uint64_t kSilentNs = 2 * kNsPerSecond;  // the loop turns at least every 250 ms

std::string DurationOrDash(uint64_t ns) { return ns == 0 ? "-" : FormatDurationNs(ns); }

// Counters and window over which this row's rates are taken.
struct Window {
  SgprsTaskCounters counters;
  uint64_t ns;
};

Window WindowOf(const StateView& view, const SgprsTaskRow& row) {
  for (const SgprsTaskRow& old : view.before) {
    if (old.client_id != row.client_id) continue;
    return {Difference(row.counters, old.counters), view.now.read_ns - view.before_ns};
  }
  return {row.counters, LifeNs(row, view.now.read_ns)};
}

bool HasDeadline(const SgprsTaskRow& row) { return row.deadline_ns != 0; }

uint64_t AgeNs(uint64_t then_ns, uint64_t now_ns) {
  return now_ns > then_ns ? now_ns - then_ns : 0;
}

// Rates of all tasks together. Windows differ by task, so rates are added, not counters divided.
TaskRates TotalRates(const StateView& view) {
  TaskRates total;
  SgprsTaskCounters sum = {};
  for (const SgprsTaskRow& row : view.now.tasks) {
    if (row.state == SGPRS_TASK_GONE) continue;
    const Window window = WindowOf(view, row);
    const TaskRates rates = RatesOf(window.counters, window.ns);
    total.completed_fps += rates.completed_fps;
    total.on_time_fps += rates.on_time_fps;
    if (HasDeadline(row)) Add(window.counters, &sum);
  }
  total.miss_percent = RatesOf(sum, 1).miss_percent;
  return total;
}

uint64_t CountState(const StateSnapshot& snapshot, SgprsTaskState state) {
  uint64_t count = 0;
  for (const SgprsTaskRow& row : snapshot.tasks) count += row.state == state ? 1 : 0;
  return count;
}

std::string StatesInWords(const StateSnapshot& snapshot) {
  std::string out;
  for (uint32_t state = SGPRS_TASK_JOINING; state <= SGPRS_TASK_GONE; ++state) {
    const uint64_t count = CountState(snapshot, static_cast<SgprsTaskState>(state));
    if (count == 0) continue;
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, TaskStateWord(state));
  }
  return out.empty() ? "none" : out;
}

std::string PoolInWords(const StateSnapshot& snapshot) {
  std::string out;
  uint64_t sms = 0;
  for (const SgprsPartitionRow& row : snapshot.partitions) {
    out += fmt::format("{}{}", out.empty() ? "" : " + ", row.sm_count);
    sms += row.sm_count;
  }
  if (out.empty()) return "none yet";
  out += " SMs";
  const uint32_t device = snapshot.header.sm_count;
  if (device != 0)
    out += fmt::format(" of {} ({:.2f}x)", device, static_cast<double>(sms) / device);
  return out;
}

}  // namespace

std::string_view TaskStateWord(uint32_t state) {
  switch (state) {
    case SGPRS_TASK_NONE:
      return "none";
    case SGPRS_TASK_JOINING:
      return "joining";
    case SGPRS_TASK_LEARNING:
      return "learning";
    case SGPRS_TASK_SCHEDULED:
      return "scheduled";
    case SGPRS_TASK_BYPASSED:
      return "bypassed";
    case SGPRS_TASK_GONE:
      return "gone";
    default:
      return "unknown";
  }
}

std::string_view TaskClassWord(uint32_t task_class) {
  switch (task_class) {
    case SGPRS_CLASS_HIGH:
      return "high";
    case SGPRS_CLASS_LOW:
      return "low";
    case SGPRS_CLASS_BEST_EFFORT:
      return "best-effort";
    default:
      return "unknown";
  }
}

std::string_view LevelWord(uint32_t level) {
  switch (level) {
    case SGPRS_LEVEL_HIGH:
      return "high";
    case SGPRS_LEVEL_MEDIUM:
      return "medium";
    case SGPRS_LEVEL_LOW:
      return "low";
    default:
      return "unknown";
  }
}

std::string_view BackendWord(uint32_t backend) {
  switch (backend) {
    case SGPRS_BACKEND_GREEN:
      return "green";
    case SGPRS_BACKEND_MPS:
      return "mps";
    case SGPRS_BACKEND_PRIORITY:
      return "priority";
    case SGPRS_BACKEND_NONE:
      return "none";
    default:
      return "unknown";
  }
}

std::vector<std::string> Degradations(const StateSnapshot& snapshot,
                                      const std::optional<RecordingInfo>& recording) {
  std::vector<std::string> out;
  const SgprsStateHeader& header = snapshot.header;
  const uint64_t silent_ns = AgeNs(header.alive_ns, snapshot.read_ns);
  if (header.alive_ns != 0 && silent_ns > kSilentNs) {
    out.push_back(fmt::format("sgprsd (pid {}) has not turned its loop for {}", header.pid,
                              FormatDurationNs(silent_ns)));
  }
  for (const SgprsPartitionRow& row : snapshot.partitions) {
    if (row.stalled == 0) continue;
    out.push_back(
        fmt::format("partition {} is stalled: its oldest stage is over the bound", row.index));
  }
  for (const SgprsTaskRow& row : snapshot.tasks) {
    const std::string who = fmt::format("task {} (pid {})", Printable(row.name), row.pid);
    if (row.state == SGPRS_TASK_BYPASSED) {
      out.push_back(who + " is bypassed: its launches go to the driver unscheduled");
    } else if (row.state != SGPRS_TASK_GONE && row.counters.bypassed > 0) {
      out.push_back(
          fmt::format("{} sent {} launches to the driver unrecorded", who, row.counters.bypassed));
    }
    if (row.state != SGPRS_TASK_GONE && row.over_admission != 0) {
      out.push_back(who + " does not fit into the pool (sgprsd's log says why)");
    }
    if (row.state != SGPRS_TASK_GONE && row.counters.self_granted > 0) {
      out.push_back(
          fmt::format("{} issued {} launches without a grant", who, row.counters.self_granted));
    }
  }
  if (header.clients_refused > 0) {
    out.push_back(
        fmt::format("{} processes were refused (sgprsd's log says why)", header.clients_refused));
  }
  if (header.clients_cut > 0) {
    out.push_back(fmt::format("{} clients were cut for breaking the protocol", header.clients_cut));
  }
  if (snapshot.torn_rows > 0) {
    out.push_back(fmt::format("{} rows of sgprsd's state could not be read", snapshot.torn_rows));
  }
  if (recording.has_value() && recording->log_dropped > 0) {
    out.push_back(fmt::format("{} job records were dropped: {}", recording->log_dropped,
                              recording->log_trouble.empty() ? "the disk was too slow"
                                                             : Printable(recording->log_trouble)));
  }
  return out;
}

namespace {

std::string RecordingText(const StateView& view) {
  if (!view.recording.has_value()) {
    if (view.recording_error.empty()) return "";
    return "probes      not known: " + Printable(view.recording_error) + "\n";
  }
  return "probes      " + ProbesInWords(*view.recording) + "\n            " +
         ProbeCountsInWords(*view.recording) + "\njob log     " + JobLogInWords(*view.recording) +
         "\n";
}

}  // namespace

std::string StatusText(const StateView& view) {
  const SgprsStateHeader& header = view.now.header;
  const TaskRates rates = TotalRates(view);
  const double decision_us =
      header.decisions == 0
          ? 0
          : static_cast<double>(header.decision_ns) / static_cast<double>(header.decisions) / 1e3;
  std::string out;
  out += fmt::format("daemon      sgprsd, pid {}, up {}\n", header.pid,
                     FormatDurationNs(AgeNs(header.started_ns, view.now.read_ns)));
  out += fmt::format("device      {}\n", header.device_name[0] == '\0'
                                             ? "not known until a process registers"
                                             : Printable(header.device_name));
  out += fmt::format("policy      {}, overload {}, admission {}\n", Printable(header.policy),
                     Printable(header.overload), Printable(header.admission));
  out += fmt::format("pool        {} partitions: {}\n", view.now.partitions.size(),
                     PoolInWords(view.now));
  out += fmt::format("tasks       {}\n", StatesInWords(view.now));
  out += fmt::format("rate        {:.1f} FPS completed, {:.1f} FPS on time, {:.1f} % missed\n",
                     rates.completed_fps, rates.on_time_fps, rates.miss_percent);
  out += fmt::format("clients     {} now, {} ever, {} refused, {} cut\n", header.clients,
                     header.clients_total, header.clients_refused, header.clients_cut);
  out += fmt::format("decisions   {}, {:.1f} us each, {} grants\n", header.decisions, decision_us,
                     header.grants);
  out += RecordingText(view);
  const std::vector<std::string> degradations = Degradations(view.now, view.recording);
  out += degradations.empty() ? "health      good\n" : "health      degraded\n";
  for (const std::string& line : degradations) out += "            - " + line + "\n";
  return out;
}

std::string TasksText(const StateView& view) {
  if (view.now.tasks.empty()) return "no tasks\n";
  TextTable table;
  table.AddColumn("TASK", TextTable::Align::kLeft);
  for (const char* title : {"PID"}) table.AddColumn(title);
  for (const char* title : {"CLASS", "STATE", "VIA"})
    table.AddColumn(title, TextTable::Align::kLeft);
  for (const char* title :
       {"PERIOD", "DEADLINE", "STAGES", "FPS", "ON-TIME", "MISS%", "SKIP%", "LAST", "WORST",
        "SWITCHES", "HELD", "RECORDED", "GRANTED", "ISSUED", "COMPLETED", "BYPASSED"}) {
    table.AddColumn(title);
  }
  for (const SgprsTaskRow& row : view.now.tasks) {
    const Window window = WindowOf(view, row);
    const TaskRates rates = RatesOf(window.counters, window.ns);
    const SgprsTaskCounters& all = row.counters;
    table.AddRow({Printable(row.name),
                  std::to_string(row.pid),
                  std::string(TaskClassWord(row.task_class)),
                  std::string(TaskStateWord(row.state)),
                  row.state == SGPRS_TASK_JOINING ? "-" : std::string(BackendWord(row.backend)),
                  DurationOrDash(row.period_ns),
                  DurationOrDash(row.deadline_ns),
                  row.stages == 0 ? "-" : std::to_string(row.stages),
                  fmt::format("{:.1f}", rates.completed_fps),
                  HasDeadline(row) ? fmt::format("{:.1f}", rates.on_time_fps) : "-",
                  HasDeadline(row) ? fmt::format("{:.1f}", rates.miss_percent) : "-",
                  row.period_ns != 0 ? fmt::format("{:.1f}", rates.skip_percent) : "-",
                  DurationOrDash(row.last_response_ns),
                  DurationOrDash(row.worst_response_ns),
                  std::to_string(all.switches),
                  std::to_string(row.jobs_held),
                  std::to_string(all.recorded),
                  std::to_string(all.granted),
                  std::to_string(all.issued),
                  std::to_string(all.completed),
                  std::to_string(all.bypassed)});
  }
  return table.Format();
}

std::string PartitionsText(const StateView& view) {
  if (view.now.partitions.empty())
    return "no partitions yet: they are built for the first process\n";
  TextTable table;
  for (const char* title : {"PARTITION", "SMS", "PLANNED", "BUILT", "RUNNING", "QUEUED", "BUSY%",
                            "STAGES", "SWITCHES-IN"}) {
    table.AddColumn(title);
  }
  table.AddColumn("STATE", TextTable::Align::kLeft);
  const uint64_t up_ns = AgeNs(view.now.header.started_ns, view.now.read_ns);
  for (const SgprsPartitionRow& row : view.now.partitions) {
    const double busy =
        up_ns == 0 ? 0 : 100.0 * static_cast<double>(row.busy_ns) / static_cast<double>(up_ns);
    const uint32_t last_sm = row.first_sm + (row.sm_count == 0 ? 0 : row.sm_count - 1);
    table.AddRow(
        {std::to_string(row.index), fmt::format("{}-{}", row.first_sm, last_sm),
         std::to_string(row.sm_count), row.sm_actual == 0 ? "-" : std::to_string(row.sm_actual),
         std::to_string(row.running), std::to_string(row.queued), fmt::format("{:.1f}", busy),
         std::to_string(row.stages_completed), std::to_string(row.switches_in),
         row.stalled != 0  ? "stalled"
         : row.running > 0 ? "busy"
                           : "idle"});
  }
  return table.Format();
}

namespace {

Json TaskJson(const StateView& view, const SgprsTaskRow& row) {
  const Window window = WindowOf(view, row);
  const TaskRates rates = RatesOf(window.counters, window.ns);
  Json json = {{"name", row.name},
               {"program", row.program},
               {"pid", row.pid},
               {"client_id", row.client_id},
               {"class", TaskClassWord(row.task_class)},
               {"state", TaskStateWord(row.state)},
               {"backend", BackendWord(row.backend)},
               {"period_ns", row.period_ns},
               {"deadline_ns", row.deadline_ns},
               {"stages", row.stages},
               {"job_launches", row.job_launches},
               {"cost_ns", row.cost_ns},
               {"partition", row.partition},
               {"level", LevelWord(row.level)},
               {"window_ns", window.ns},
               {"completed_fps", rates.completed_fps},
               {"on_time_fps", rates.on_time_fps},
               {"miss_percent", rates.miss_percent},
               {"skip_percent", rates.skip_percent},
               {"last_response_ns", row.last_response_ns},
               {"worst_response_ns", row.worst_response_ns},
               {"jobs_held", row.jobs_held},
               {"longest_hold", row.longest_hold},
               {"window_slots", row.window_slots},
               {"worst_window", row.worst_window},
               {"over_admission", row.over_admission != 0}};
  Json counters = Json::object();
#define SGPRS_COUNTER(name, unit, help) counters[#name] = row.counters.name;
#include "sgprs/abi/task_counters.inc"
#undef SGPRS_COUNTER
  json["counters"] = std::move(counters);
  json["response_histogram_log2_us"] = row.response_histogram;
  return json;
}

}  // namespace

Json StatusJson(const StateView& view) {
  const SgprsStateHeader& header = view.now.header;
  const TaskRates rates = TotalRates(view);
  Json states = Json::object();
  for (uint32_t state = SGPRS_TASK_JOINING; state <= SGPRS_TASK_GONE; ++state) {
    states[std::string(TaskStateWord(state))] =
        CountState(view.now, static_cast<SgprsTaskState>(state));
  }
  Json json = {{"version", kJsonVersion},
               {"pid", header.pid},
               {"up_ns", AgeNs(header.started_ns, view.now.read_ns)},
               {"heartbeat_age_ns", AgeNs(header.alive_ns, view.now.read_ns)},
               {"device", header.device_name},
               {"sm_count", header.sm_count},
               {"policy", header.policy},
               {"overload", header.overload},
               {"admission", header.admission},
               {"partitions", view.now.partitions.size()},
               {"tasks", std::move(states)},
               {"completed_fps", rates.completed_fps},
               {"on_time_fps", rates.on_time_fps},
               {"miss_percent", rates.miss_percent},
               {"clients",
                {{"now", header.clients},
                 {"total", header.clients_total},
                 {"refused", header.clients_refused},
                 {"cut", header.clients_cut}}},
               {"decisions", header.decisions},
               {"decision_ns", header.decision_ns},
               {"grants", header.grants},
               {"degraded", Degradations(view.now, view.recording)}};
  json["probes"] = view.recording.has_value() ? ProbesJson(*view.recording) : Json();
  json["job_log"] = view.recording.has_value() ? JobLogJson(*view.recording) : Json();
  return json;
}

Json TasksJson(const StateView& view) {
  Json tasks = Json::array();
  for (const SgprsTaskRow& row : view.now.tasks) tasks.push_back(TaskJson(view, row));
  return {{"version", kJsonVersion}, {"tasks", std::move(tasks)}};
}

Json PartitionsJson(const StateView& view) {
  Json partitions = Json::array();
  for (const SgprsPartitionRow& row : view.now.partitions) {
    partitions.push_back({{"index", row.index},
                          {"first_sm", row.first_sm},
                          {"sm_count", row.sm_count},
                          {"sm_actual", row.sm_actual},
                          {"running", row.running},
                          {"queued", row.queued},
                          {"stalled", row.stalled != 0},
                          {"busy_ns", row.busy_ns},
                          {"stages_completed", row.stages_completed},
                          {"switches_in", row.switches_in}});
  }
  return {{"version", kJsonVersion},
          {"sm_count", view.now.header.sm_count},
          {"up_ns", AgeNs(view.now.header.started_ns, view.now.read_ns)},
          {"partitions", std::move(partitions)}};
}

std::string JsonText(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sgprs::cli
