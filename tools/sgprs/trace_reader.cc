// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/trace_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tools/sgprs/state_view.h"

namespace sgprs::cli {
namespace {

constexpr uint64_t kTasksProcess = 1;
constexpr uint64_t kPartitionsProcess = 2;
constexpr size_t kMostTasks = 100'000;
constexpr uint64_t kMostPartitions = SGPRS_MAX_PARTITIONS;

// Events come one by one, so that a long trace is never in memory as JSON.
class TraceParser {
 public:
  // False: no more events are wanted, error() says why.
  bool Take(const Json& event);
  const std::string& error() const { return error_; }
  Result<RecordedTrace> Finish() &&;

 private:
  bool Refuse(std::string why) {
    if (error_.empty()) error_ = std::move(why);
    return false;
  }
  bool TakeFact(const std::string& name, const Json& args);
  bool TakeStage(const Json& event, const Json& args);
  bool TakeJob(const Json& event, const Json& args);
  bool AddTask(const Json& args);
  // Index of the client `id`, made up if it was not announced.
  uint32_t TaskOf(uint64_t id);
  void Touch(uint64_t from_ns, uint64_t to_ns);

  RecordedTrace trace_;
  std::map<uint64_t, uint32_t> task_of_client_;
  bool versioned_ = false;
  std::string error_;
};

// A member that must be there; throws what Take() catches.
uint64_t U64(const Json& object, const char* key) { return object.at(key).get<uint64_t>(); }

// The format counts microseconds with three digits.
uint64_t Ns(const Json& us) {
  const double ns = std::round(us.get<double>() * 1000);
  if (!(ns >= 0) || ns > 9e18) throw std::runtime_error("a time out of range");
  return static_cast<uint64_t>(ns);
}

SgprsTaskClass ClassOf(const std::string& word) {
  for (SgprsTaskClass one : {SGPRS_CLASS_HIGH, SGPRS_CLASS_LOW, SGPRS_CLASS_BEST_EFFORT}) {
    if (TaskClassWord(one) == word) return one;
  }
  throw std::runtime_error("no class '" + word + "'");
}

SgprsLevel LevelOf(const std::string& word) {
  for (SgprsLevel one : {SGPRS_LEVEL_LOW, SGPRS_LEVEL_MEDIUM, SGPRS_LEVEL_HIGH}) {
    if (LevelWord(one) == word) return one;
  }
  throw std::runtime_error("no level '" + word + "'");
}

bool TraceParser::AddTask(const Json& args) {
  RecordedTask task;
  task.name = args.at("name").get<std::string>();
  task.task_class = ClassOf(args.at("class").get<std::string>());
  task.period_ns = U64(args, "period_ns");
  task.deadline_ns = U64(args, "deadline_ns");
  trace_.tasks[TaskOf(U64(args, "task"))] = std::move(task);
  return true;
}

uint32_t TraceParser::TaskOf(uint64_t id) {
  const auto [entry, added] =
      task_of_client_.emplace(id, static_cast<uint32_t>(trace_.tasks.size()));
  if (added) {
    if (trace_.tasks.size() >= kMostTasks) throw std::runtime_error("too many tasks");
    RecordedTask task;
    task.name = fmt::format("client {}", id);
    trace_.tasks.push_back(std::move(task));
  }
  return entry->second;
}

void TraceParser::Touch(uint64_t from_ns, uint64_t to_ns) {
  if (trace_.end_ns == 0) trace_.begin_ns = from_ns;
  trace_.begin_ns = std::min(trace_.begin_ns, from_ns);
  trace_.end_ns = std::max(trace_.end_ns, to_ns);
}

bool TraceParser::TakeFact(const std::string& name, const Json& args) {
  if (name == "sgprs_trace") {
    const auto version = args.at("version").get<int64_t>();
    if (version != kTraceVersion) {
      return Refuse(fmt::format("a trace of version {}; this sgprs reads version {}", version,
                                kTraceVersion));
    }
    versioned_ = true;
  } else if (name == "sgprs_pool") {
    trace_.device = args.at("device").get<std::string>();
    trace_.device_sm_count = args.at("sm_count").get<uint32_t>();
    trace_.policy = args.at("policy").get<std::string>();
  } else if (name == "sgprs_partition") {
    const uint64_t partition = U64(args, "partition");
    if (partition >= kMostPartitions) return Refuse("a partition out of range");
    if (trace_.sm_counts.size() <= partition) trace_.sm_counts.resize(partition + 1);
    trace_.sm_counts[partition] = args.at("sm_count").get<uint32_t>();
  } else if (name == "sgprs_task") {
    return AddTask(args);
  }
  return true;
}

bool TraceParser::TakeStage(const Json& event, const Json& args) {
  RecordedStage stage;
  model::StageRow& row = stage.row;
  row.task = TaskOf(U64(args, "task"));
  row.job = U64(args, "job");
  row.stage = args.at("stage").get<uint32_t>();
  row.stage_count = args.at("stages").get<uint32_t>();
  row.partition = args.at("partition").get<uint32_t>();
  if (row.partition >= kMostPartitions) return Refuse("a partition out of range");
  row.level = LevelOf(args.at("level").get<std::string>());
  row.switched = args.at("switched").get<bool>();
  row.start_ns = Ns(event.at("ts"));
  row.granted_ns = row.start_ns;
  row.end_ns = row.start_ns + Ns(event.at("dur"));
  row.virtual_deadline_ns = args.value("virtual_deadline_ns", UINT64_MAX);
  stage.learning = args.at("learning").get<bool>();
  stage.launches = args.value("launches", uint32_t{0});
  Touch(row.start_ns, row.end_ns);
  trace_.stages.push_back(stage);
  return true;
}

bool TraceParser::TakeJob(const Json& event, const Json& args) {
  model::JobRow job;
  job.task = TaskOf(U64(event, "tid"));
  job.job = U64(args, "job");
  job.release_ns = U64(args, "release_ns");
  job.complete_ns = job.release_ns + U64(args, "response_ns");
  job.deadline_ns = args.value("deadline_ns", UINT64_MAX);
  job.on_time = args.at("on_time").get<bool>();
  Touch(job.release_ns, job.complete_ns);
  trace_.jobs.push_back(job);
  return true;
}

bool TraceParser::Take(const Json& event) {
  static const Json kNone = Json::object();
  try {
    const std::string phase = event.value("ph", "");
    const std::string name = event.value("name", "");
    const Json& args = event.contains("args") ? event.at("args") : kNone;
    if (phase == "M" && name.rfind("sgprs_", 0) == 0) return TakeFact(name, args);
    if (phase != "X") return true;
    if (!versioned_) return Refuse("not a trace of sgprsd, or of one too old to be read back");
    const uint64_t process = event.value("pid", uint64_t{0});
    if (process == kPartitionsProcess) return TakeStage(event, args);
    if (process == kTasksProcess && args.contains("response_ns")) return TakeJob(event, args);
    return true;
  } catch (const std::exception& error) {
    return Refuse(fmt::format("an event that is not whole: {} ({})", event.dump().substr(0, 160),
                              error.what()));
  }
}

Result<RecordedTrace> TraceParser::Finish() && {
  if (error_.empty() && !versioned_) {
    error_ = "not a trace of sgprsd, or of one too old to be read back";
  }
  for (const RecordedStage& stage : trace_.stages) {
    if (stage.row.partition >= trace_.sm_counts.size()) error_ = "a stage in no partition";
  }
  if (!error_.empty()) return Status(ErrorCode::kInvalid, error_);
  std::stable_sort(
      trace_.jobs.begin(), trace_.jobs.end(),
      [](const model::JobRow& a, const model::JobRow& b) { return a.release_ns < b.release_ns; });
  std::stable_sort(trace_.stages.begin(), trace_.stages.end(),
                   [](const RecordedStage& a, const RecordedStage& b) {
                     return a.row.start_ns < b.row.start_ns;
                   });
  return std::move(trace_);
}

}  // namespace

Result<RecordedTrace> ParseTrace(std::istream* text) {
  constexpr int kEventDepth = 2;  // in the array in the object
  TraceParser parser;
  bool wanted = true;
  const Json parsed = Json::parse(
      *text,
      [&](int depth, Json::parse_event_t what, Json& value) {
        if (what != Json::parse_event_t::object_end || depth != kEventDepth) return true;
        wanted = wanted && parser.Take(value);
        return false;  // done with it
      },
      /*allow_exceptions=*/false);
  // What the parser was told first is said first: a file of another version may differ in all else.
  if (!wanted) return Status(ErrorCode::kInvalid, parser.error());
  if (parsed.is_discarded() || !parsed.is_object() || !parsed.contains("traceEvents")) {
    return Status(ErrorCode::kInvalid, "no trace: it is not JSON with traceEvents");
  }
  return std::move(parser).Finish();
}

Result<RecordedTrace> ReadTrace(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    return Status(ErrorCode::kUnavailable,
                  fmt::format("'{}' can not be read: {}", path, std::strerror(errno)));
  }
  Result<RecordedTrace> trace = ParseTrace(&file);
  return trace.ok() ? std::move(trace) : Result<RecordedTrace>(trace.status().WithContext(path));
}

}  // namespace sgprs::cli
