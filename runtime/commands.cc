// SPDX-License-Identifier: Apache-2.0
#include "runtime/commands.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <charconv>
#include <string_view>

#include "runtime/daemon.h"
#include "runtime/observe/text.h"
#include "runtime/policy/policy.h"
#include "sgprs/abi/abi.h"

namespace sgprs::runtime {
namespace {

using Reply = ingress::ControlHandler::Reply;
using observe::JsonString;
using observe::OneLine;

constexpr uint32_t kFailed = 1;
constexpr uint32_t kUsage = 2;

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// Takes the first word off `*rest`.
std::string_view NextWord(std::string_view* rest) {
  *rest = Trim(*rest);
  const size_t end = std::min(rest->find(' '), rest->size());
  const std::string_view word = rest->substr(0, end);
  *rest = Trim(rest->substr(end));
  return word;
}

Reply Failed(const Status& status) {
  return {status.code() == ErrorCode::kInvalid ? kUsage : kFailed, OneLine(status.text())};
}

// `note`: what else there is to say of a change; empty = nothing.
Reply Policies(const Daemon& daemon, const std::string& note = "") {
  std::string rows;
  for (const policy::PolicyRow& row : policy::PolicyTable()) {
    if (!rows.empty()) rows += ',';
    rows += fmt::format(R"({{"name":{},"help":{}}})", JsonString(row.name), JsonString(row.help));
  }
  std::string options;
  for (const policy::PolicyOptionRow& row : policy::PolicyOptionTable()) {
    options += fmt::format("{}{}:{}", options.empty() ? "" : ",", JsonString(row.name),
                           JsonString(row.show(daemon.policy_options())));
  }
  return {0, fmt::format(R"({{"policy":{},"overload":{},"admission":{},"options":{{{}}},)"
                         R"("note":{},"policies":[{}]}})",
                         JsonString(daemon.policy_name()),
                         JsonString(policy::OverloadName(daemon.overload())),
                         JsonString(policy::AdmissionName(daemon.admission())), options,
                         JsonString(OneLine(note)), rows)};
}

Reply RunPolicy(Daemon* daemon, std::string_view rest) {
  if (rest.empty()) return Policies(*daemon);
  Result<std::string> note = daemon->SetPolicy(rest);
  return note.ok() ? Policies(*daemon, *note) : Failed(note.status());
}

Reply RunOverload(Daemon* daemon, std::string_view rest) {
  if (!rest.empty()) {
    const std::optional<policy::OverloadMode> mode = policy::FindOverload(rest);
    if (!mode) {
      return {kUsage, "no overload mode '" + OneLine(rest) + "': use one of " +
                          std::string(policy::kOverloadNames)};
    }
    daemon->SetOverload(*mode);
  }
  return Policies(*daemon);
}

Reply RunTrace(Daemon* daemon, std::string_view rest) {
  const std::string_view word = NextWord(&rest);
  if (word == "start" && !rest.empty()) {
    if (rest.front() != '/') {
      return {kUsage, "trace start: '" + OneLine(rest) + "' is not an absolute path"};
    }
    if (Status started = daemon->StartTrace(std::string(rest)); !started.ok()) {
      return Failed(started);
    }
    return {0, fmt::format(R"({{"trace":{},"writing":true}})", JsonString(OneLine(rest)))};
  }
  if (word == "stop" && rest.empty()) {
    Result<std::string> path = daemon->StopTrace();
    if (!path.ok()) return Failed(path.status());
    return {0, fmt::format(R"({{"trace":{},"writing":false}})", JsonString(OneLine(*path)))};
  }
  return {kUsage, "'trace " + OneLine(word) + "': use trace start FILE or trace stop"};
}

Reply RunShutdown(Daemon* daemon, std::string_view rest) {
  if (!rest.empty()) return {kUsage, "shutdown takes no argument, not '" + OneLine(rest) + "'"};
  spdlog::info("told to stop");
  daemon->Shutdown();
  return {0, R"({"shutdown":true})"};
}

Reply RunVersion(Daemon*, std::string_view rest) {
  if (!rest.empty()) return {kUsage, "version takes no argument, not '" + OneLine(rest) + "'"};
  return {0, fmt::format(R"({{"version":"{}","abi":"{}.{}"}})", SGPRS_VERSION, SGPRS_ABI_MAJOR,
                         SGPRS_ABI_MINOR)};
}

Reply RunRecording(Daemon* daemon, std::string_view rest) {
  if (!rest.empty()) return {kUsage, "recording takes no argument, not '" + OneLine(rest) + "'"};
  return {0, daemon->recording().Json()};
}

Reply RunProfile(Daemon* daemon, std::string_view rest) {
  const std::string_view word = NextWord(&rest);
  if (word != "load" || rest.empty() || rest.front() != '/') {
    return {kUsage, "use profile load FILE, FILE an absolute path"};
  }
  const Result<profile::Profile> loaded = daemon->LoadProfile(std::string(rest));
  if (!loaded.ok()) return Failed(loaded.status());
  return {0, fmt::format(
                 R"({{"profile":{},"task":{},"signature":"{:016x}","launches":{},"stages":{}}})",
                 JsonString(OneLine(rest)), JsonString(OneLine(loaded->task)), loaded->signature(),
                 loaded->launches.size(), loaded->stages.size())};
}

Reply RunStages(Daemon* daemon, std::string_view rest) {
  uint32_t pid = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), pid);
  if (error != std::errc() || end != rest.data() + rest.size()) {
    return {kUsage, "use stages PID"};
  }
  Result<std::string> stages = daemon->Stages(pid);
  return stages.ok() ? Reply{0, *stages} : Failed(stages.status());
}

struct CommandRow {
  std::string_view name;
  bool reads_without_argument;  // allowed for everybody as long as it has no argument
  Reply (*run)(Daemon*, std::string_view rest);
};
constexpr CommandRow kCommands[] = {
    {"policy", true, &RunPolicy},    {"overload", true, &RunOverload},
    {"trace", false, &RunTrace},     {"shutdown", false, &RunShutdown},
    {"version", true, &RunVersion},  {"recording", true, &RunRecording},
    {"profile", false, &RunProfile}, {"stages", false, &RunStages},
};

}  // namespace

Reply RunCommand(Daemon* daemon, const std::string& line, bool privileged) {
  std::string_view rest = line;
  const std::string_view word = NextWord(&rest);
  std::string names;
  for (const CommandRow& row : kCommands) {
    names += (names.empty() ? "" : ", ") + std::string(row.name);
    if (row.name != word) continue;
    if (privileged || (row.reads_without_argument && rest.empty())) return row.run(daemon, rest);
    return {kFailed, "only the user that sgprsd runs as may use '" + std::string(row.name) + "'"};
  }
  return {kUsage, "no command '" + OneLine(word) + "': use one of " + names};
}

}  // namespace sgprs::runtime
