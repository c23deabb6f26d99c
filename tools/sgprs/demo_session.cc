// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/demo_session.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>
#include <sstream>
#include <utility>

#include "runtime/base/environment.h"
#include "tools/sgprs/daemon.h"
#include "tools/sgprs/simgpu_client.h"
#include "tools/sgprs/simulation.h"
#include "tools/sgprs/task_name.h"

namespace sgprs::cli {
namespace {

constexpr uint64_t kStartLimitNs = 10 * kNsPerSecond;
constexpr uint64_t kLearnLimitNs = 20 * kNsPerSecond;
constexpr uint64_t kProgramLearnLimitNs = 120 * kNsPerSecond;  // an interpreter, its libraries
constexpr uint64_t kSettleNs = kNsPerSecond / 2;  // after learning: new stage cuts take hold
constexpr uint64_t kEndLimitNs = 10 * kNsPerSecond;
constexpr uint64_t kProgramEndLimitNs = 60 * kNsPerSecond;
constexpr uint64_t kPollNs = 20 * kNsPerMs;
constexpr uint64_t kProgressNs = 2 * kNsPerSecond;
// The workloads are ended by a signal; this only bounds them should everything else fail.
constexpr uint64_t kMarginSeconds = 120;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

std::string DemoSubject(const DemoOptions& options) {
  if (options.program.empty()) return options.workload;
  std::string words;
  for (const std::string& word : options.program) {
    if (!words.empty()) words += ' ';
    words += word.substr(word.rfind('/') + 1);  // npos + 1 is 0: the whole word
  }
  return words;
}

std::string DemoTracePath(const DemoOptions& options, const std::string& policy) {
  if (options.trace.empty()) return fmt::format("sgprs-demo-{}.trace.json", policy);
  if (options.policies.size() == 1) return options.trace;
  const size_t slash = options.trace.rfind('/');
  const size_t name = slash == std::string::npos ? 0 : slash + 1;
  const size_t point = std::min(options.trace.find('.', name + 1), options.trace.size());
  return options.trace.substr(0, point) + "-" + policy + options.trace.substr(point);
}

std::string DemoConfig(const DemoOptions& options, const std::string& policy,
                       const std::string& control_socket, const std::string& trace_path,
                       const std::string& job_log) {
  const auto quoted = [](const std::string& text) { return Json(text).dump(); };  // TOML's too
  return fmt::format(
      "policy = {}\n"
      "[pool]\npartitions = {}\noversubscription = {}\n"
      "[socket]\npath = {}\n"
      "[trace]\nfile = {}\n"
      "[job_log]\ndirectory = {}\n",
      quoted(policy), options.partitions, options.oversubscription, quoted(control_socket),
      quoted(trace_path), quoted(job_log));
}

DemoSession::DemoSession(const DemoOptions& options, const Installation& installation,
                         ChildGroup* children, std::string policy, std::string directory,
                         std::string trace_path, Progress progress)
    : options_(options),
      installation_(installation),
      children_(children),
      directory_(std::move(directory)),
      progress_(std::move(progress)),
      simgpu_socket_(directory_ + "/simgpu.sock"),
      control_socket_(directory_ + "/control.sock") {
  result_.policy = std::move(policy);
  result_.trace_path = std::move(trace_path);
}

Result<DemoResult> DemoSession::Run() {
  using Step = Status (DemoSession::*)();
  for (Step step :
       {&DemoSession::StartDevice, &DemoSession::StartDaemon, &DemoSession::StartWorkloads,
        &DemoSession::WaitUntilLearnt, &DemoSession::Measure, &DemoSession::EndWorkloads,
        &DemoSession::ReadLastRows, &DemoSession::EndServers}) {
    Status status = (this->*step)();
    if (!status.ok()) return status.WithContext(result_.policy);
  }
  return std::move(result_);
}

Result<ChildProcess*> DemoSession::Start(const std::string& name,
                                         std::vector<std::string> arguments) {
  ChildSpec spec;
  spec.name = name;
  spec.arguments = std::move(arguments);
  spec.environment = {{env::kRuntimeDir, directory_},
                      {env::kSocket, control_socket_},
                      {env::kSimgpuSocket, simgpu_socket_}};
  spec.output_path = fmt::format("{}/{}.out", directory_, name);
  spec.log_path = fmt::format("{}/{}.log", directory_, name);
  return children_->Start(spec);
}

Status DemoSession::WaitForSocket(const std::string& path, const ChildProcess& server) {
  const uint64_t limit_ns = NowNs() + kStartLimitNs;
  while (!Answers(path)) {
    if (NowNs() > limit_ns) {
      return Status(ErrorCode::kUnavailable, server.Epitaph() + "; nothing answers at " + path);
    }
    Status status = children_->WaitUntil(NowNs() + kPollNs);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Status DemoSession::StartDevice() {
  Result<ChildProcess*> device = Start("simgpu", {installation_.Program("simgpu"), "--device",
                                                  options_.device, "--socket", simgpu_socket_});
  if (!device.ok()) return device.status();
  device_ = *device;
  return WaitForSocket(simgpu_socket_, *device_);
}

Status DemoSession::StartDaemon() {
  const std::string config = directory_ + "/sgprsd.toml";
  std::ofstream(config) << DemoConfig(options_, result_.policy, control_socket_, result_.trace_path,
                                      directory_ + "/jobs");
  Result<ChildProcess*> daemon =
      Start("sgprsd", {installation_.Program("sgprsd"), "--config", config});
  if (!daemon.ok()) return daemon.status();
  daemon_ = *daemon;
  Status up = WaitForSocket(control_socket_, *daemon_);
  if (!up.ok()) return up;
  Result<Daemon> opened = OpenDaemon(control_socket_);
  if (!opened.ok()) return opened.status();
  reader_ = std::move(opened->state);
  return Status::Ok();
}

Status DemoSession::StartWorkloads() {
  progress_(fmt::format("starting {} x {} at {} fps", options_.tasks, DemoSubject(options_),
                        options_.fps));
  const std::string subject =
      options_.program.empty() ? options_.workload : DefaultTaskName(options_.program);
  for (uint32_t i = 0; i < options_.tasks; ++i) {
    // A task's name is bounded (abi.h), a program's is not.
    const std::string name = fmt::format("{:.40}-{}", subject, i);
    Result<ChildProcess*> workload = Start(name, TaskCommand(name));
    if (!workload.ok()) return workload.status();
    workloads_.push_back(*workload);
    // Spread over a period, so that releases do not all fall together (papers.md 1.1).
    Status status = children_->WaitUntil(NowNs() + options_.period_ns / options_.tasks);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

std::vector<std::string> DemoSession::TaskCommand(const std::string& name) const {
  std::vector<std::string> words = {installation_.Program("sgprs"),
                                    "run",
                                    "--simulate",
                                    "--require",
                                    "--name",
                                    name,
                                    "--fps",
                                    options_.fps,
                                    "--"};
  if (!options_.program.empty()) {
    words.insert(words.end(), options_.program.begin(), options_.program.end());
    return words;
  }
  const uint64_t seconds = options_.window_ns / kNsPerSecond + kMarginSeconds;
  words.insert(words.end(), {installation_.Program(options_.workload), "--fps", options_.fps,
                             "--seconds", std::to_string(seconds), "--json"});
  return words;
}

const SgprsTaskRow* DemoSession::RowOf(const StateSnapshot& snapshot, size_t index) const {
  for (const SgprsTaskRow& row : snapshot.tasks) {
    if (row.pid == static_cast<uint32_t>(workloads_[index]->pid())) return &row;
  }
  return nullptr;
}

Status DemoSession::WaitUntilLearnt() {
  const uint64_t patience_ns = options_.program.empty() ? kLearnLimitNs : kProgramLearnLimitNs;
  const uint64_t limit_ns = NowNs() + patience_ns;
  uint64_t progress_ns = NowNs();
  size_t learnt = 0;
  while (learnt < workloads_.size()) {
    Status status = children_->WaitUntil(NowNs() + kPollNs);
    if (status.ok()) status = CheckStillRunning();
    if (!status.ok()) return status;
    Result<StateSnapshot> snapshot = Snapshot();
    if (!snapshot.ok()) return snapshot.status();
    learnt = 0;
    for (size_t i = 0; i < workloads_.size(); ++i) {
      const SgprsTaskRow* row = RowOf(*snapshot, i);
      const bool done = row != nullptr &&
                        (row->state == SGPRS_TASK_SCHEDULED || row->state == SGPRS_TASK_BYPASSED);
      learnt += done ? 1 : 0;
    }
    if (NowNs() > limit_ns) {
      result_.learnt = false;
      progress_(fmt::format("only {} of {} tasks are learnt after {} s: measuring all the same",
                            learnt, workloads_.size(), patience_ns / kNsPerSecond));
      break;
    }
    if (NowNs() - progress_ns > kProgressNs) {
      progress_(fmt::format("{} of {} tasks learnt", learnt, workloads_.size()));
      progress_ns = NowNs();
    }
  }
  return children_->WaitUntil(NowNs() + kSettleNs);
}

Status DemoSession::Measure() {
  progress_(fmt::format("measuring for {:g} s", static_cast<double>(options_.window_ns) / 1e9));
  Result<StateSnapshot> before = Snapshot();
  if (!before.ok()) return before.status();
  Status status = children_->WaitUntil(before->read_ns + options_.window_ns);
  if (status.ok()) status = CheckStillRunning();
  if (!status.ok()) return status;
  Result<StateSnapshot> after = Snapshot();
  if (!after.ok()) return after.status();
  result_.window_begin_ns = before->read_ns;
  result_.window_ns = after->read_ns - before->read_ns;
  result_.device = after->header.device_name;
  for (size_t i = 0; i < workloads_.size(); ++i) {
    const SgprsTaskRow* first = RowOf(*before, i);
    const SgprsTaskRow* last = RowOf(*after, i);
    if (first == nullptr || last == nullptr) {
      return Status(ErrorCode::kUnavailable,
                    workloads_[i]->spec().name + " is not in sgprsd's state");
    }
    DemoTask task;
    task.window = Difference(last->counters, first->counters);
    result_.tasks.push_back(std::move(task));
  }
  return Status::Ok();
}

Status DemoSession::CheckStillRunning() {
  for (ChildProcess* workload : workloads_) {
    if (options_.program.empty() || !workload->Poll()) continue;
    return Status(ErrorCode::kUnavailable,
                  workload->spec().name +
                      " ended by itself: the program has to run until it is sent SIGTERM");
  }
  return Status::Ok();
}

Status DemoSession::EndWorkloads() {
  for (ChildProcess* workload : workloads_) workload->Signal(SIGTERM);
  const uint64_t limit_ns = NowNs() + (options_.program.empty() ? kEndLimitNs : kProgramEndLimitNs);
  for (size_t i = 0; i < workloads_.size(); ++i) {
    Status status = children_->WaitForEnd(workloads_[i], limit_ns);
    const int end = workloads_[i]->Poll().value_or(0);
    // Without a handler of its own, that is how a program ends; its last launches stay incomplete.
    result_.tasks[i].killed =
        !options_.program.empty() && WIFSIGNALED(end) && WTERMSIG(end) == SIGTERM;
    if (!status.ok() && !result_.tasks[i].killed) return status;
    Json printed = Json::parse(ReadFile(workloads_[i]->spec().output_path), nullptr, false);
    if (!printed.is_discarded()) result_.tasks[i].workload = std::move(printed);
  }
  return Status::Ok();
}

Status DemoSession::ReadLastRows() {
  const uint64_t limit_ns = NowNs() + kEndLimitNs;
  for (;;) {
    Result<StateSnapshot> snapshot = Snapshot();
    if (!snapshot.ok()) return snapshot.status();
    size_t gone = 0;
    for (size_t i = 0; i < workloads_.size(); ++i) {
      const SgprsTaskRow* row = RowOf(*snapshot, i);
      if (row == nullptr || row->state != SGPRS_TASK_GONE) continue;
      result_.tasks[i].last = *row;
      ++gone;
    }
    if (gone == workloads_.size()) break;
    if (NowNs() > limit_ns) {
      return Status(ErrorCode::kUnavailable, "sgprsd does not notice that the workloads ended");
    }
    Status status = children_->WaitUntil(NowNs() + kPollNs);
    if (!status.ok()) return status;
  }
  Result<Json> stats = ReadSimgpuStats(simgpu_socket_);
  if (!stats.ok()) return stats.status();
  result_.device_kernels = stats->value("kernels_total", uint64_t{0});
  return Status::Ok();
}

Status DemoSession::EndServers() {
  for (ChildProcess* server : {daemon_, device_}) {
    server->Signal(SIGTERM);
    Status status = children_->WaitForEnd(server, NowNs() + kEndLimitNs);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

}  // namespace sgprs::cli
