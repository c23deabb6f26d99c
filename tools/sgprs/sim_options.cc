// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/sim_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "runtime/base/duration.h"
#include "runtime/policy/policy.h"
#include "tools/sgprs/suggestion.h"

namespace sgprs::cli {
namespace {

using model::Scenario;

constexpr uint32_t kMostTasks = 10'000;
constexpr size_t kMostCounts = 1'000;

Status Invalid(std::string text) { return Status(ErrorCode::kInvalid, std::move(text)); }

bool ParseNumber(std::string_view text, uint32_t* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

// "A", "A..B" or "A..B/STEP" added to `counts`.
Status ParseRange(std::string_view text, std::vector<uint32_t>* counts) {
  const Status wrong = Invalid(
      fmt::format("'{}' is no number of tasks: write 24, 8,16,24, 10..30 or 10..60/10", text));
  const size_t dots = text.find("..");
  const size_t slash = text.find('/');
  uint32_t from = 0;
  uint32_t to = 0;
  uint32_t step = 1;
  if (!ParseNumber(text.substr(0, dots), &from)) return wrong;
  to = from;
  if (dots != std::string_view::npos) {
    const std::string_view upper =
        text.substr(dots + 2, slash == std::string_view::npos ? slash : slash - dots - 2);
    if (!ParseNumber(upper, &to)) return wrong;
  } else if (slash != std::string_view::npos) {
    return wrong;
  }
  if (slash != std::string_view::npos && !ParseNumber(text.substr(slash + 1), &step)) return wrong;
  if (from == 0 || step == 0 || to < from || to > kMostTasks) {
    return Invalid(
        fmt::format("'{}': from 1 to {} tasks, the smaller number first", text, kMostTasks));
  }
  if ((to - from) / step >= kMostCounts) {
    return Invalid(fmt::format("'{}' is more than {} numbers: take a step, as in 10..60/10", text,
                               kMostCounts));
  }
  for (uint32_t n = from; n <= to; n += step) counts->push_back(n);
  return Status::Ok();
}

// The sweep that `options` leaves of `file`'s.
void Override(const SimOptions& options, model::ScenarioFile* file) {
  Scenario& scenario = file->scenario;
  model::Sweep& sweep = file->sweep;
  if (!options.tasks.empty()) sweep.n = options.tasks;
  if (!options.policies.empty()) sweep.policies = options.policies;
  if (!options.overload.empty()) sweep.overload = options.overload;
  if (!options.partitions.empty()) {
    sweep.partitions = options.partitions;
    scenario.sm_counts.clear();
  }
  if (!options.oversubscription.empty()) {
    sweep.oversubscription = options.oversubscription;
    scenario.sm_counts.clear();
  }
  if (!options.device.empty()) scenario.device = options.device;
  if (options.admission.has_value()) scenario.admission = *options.admission;
  if (options.horizon_ns.has_value()) scenario.horizon_ns = *options.horizon_ns;
  for (const auto& option : options.policy_options) {
    std::erase_if(scenario.policy_options,
                  [&](const auto& own) { return own.first == option.first; });
    scenario.policy_options.push_back(option);
  }
  if (options.seed.has_value() || options.seeds.has_value()) {
    const uint64_t first =
        options.seed.value_or(sweep.seeds.empty() ? scenario.seed : sweep.seeds.front());
    const size_t count = options.seeds.value_or(sweep.seeds.empty() ? 1 : sweep.seeds.size());
    sweep.seeds.clear();
    for (size_t i = 0; i < count; ++i) sweep.seeds.push_back(first + i);
  }
}

// What only the default scenario can be told.
Status OverrideTask(const SimOptions& options, model::ScenarioFile* file) {
  if (options.network.empty() && !options.period_ns.has_value()) return Status::Ok();
  if (!options.scenario.empty()) {
    return Invalid("--network and --fps are for runs without a scenario: change the scenario");
  }
  model::TaskSpec& task = file->scenario.groups.front().task;
  if (!options.network.empty()) {
    task.network = options.network;
    task.name = options.network;
  }
  if (options.period_ns.has_value()) task.period_ns = *options.period_ns;
  return Status::Ok();
}

Status CheckTasks(const SimOptions& options, const model::ScenarioFile& file) {
  const std::vector<model::TaskGroup>& groups = file.scenario.groups;
  const bool has_n = std::any_of(groups.begin(), groups.end(),
                                 [](const model::TaskGroup& group) { return group.count_is_n; });
  if (options.tasks.empty() || has_n) return Status::Ok();
  return Invalid("--tasks: the scenario has no task with count = \"N\" that it could stand for");
}

}  // namespace

Result<std::vector<uint32_t>> ParseTaskCounts(std::string_view text) {
  std::vector<uint32_t> counts;
  while (true) {
    const size_t comma = text.find(',');
    if (Status range = ParseRange(text.substr(0, comma), &counts); !range.ok()) return range;
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

Result<SimWindow> ParseSimWindow(std::string_view text) {
  const size_t dots = text.find("..");
  if (dots == std::string_view::npos) {
    return Invalid(fmt::format("'{}' is no window: write FROM..TO, such as 1s..1.1s", text));
  }
  const Result<uint64_t> from = ParseDurationNs(text.substr(0, dots));
  if (!from.ok()) return from.status();
  const Result<uint64_t> to = ParseDurationNs(text.substr(dots + 2));
  if (!to.ok()) return to.status();
  if (*to <= *from) return Invalid(fmt::format("'{}' ends before it begins", text));
  return SimWindow{*from, *to};
}

Result<std::pair<std::string, std::string>> ParsePolicyOption(std::string_view text) {
  const size_t sign = text.find('=');
  if (sign == std::string_view::npos) {
    return Invalid(fmt::format("'{}': write NAME=VALUE, such as staging=false", text));
  }
  std::pair<std::string, std::string> option(text.substr(0, sign), text.substr(sign + 1));
  policy::PolicyOptions scratch;
  const Status set = policy::SetPolicyOption(option.first, option.second, &scratch);
  if (!set.ok()) return set;
  return option;
}

Result<uint64_t> ParseSecondsNs(const std::string& text) {
  const bool bare = text.find_first_not_of("0123456789.") == std::string::npos;
  Result<uint64_t> ns = ParseDurationNs(bare ? text + "s" : text);
  if (ns.ok() && (*ns < kNsPerMs || *ns > 3600 * kNsPerSecond)) {
    return Invalid("'" + text + "' is not between 0.001 and 3600 seconds");
  }
  return ns;
}

model::ScenarioFile DefaultScenario() {
  model::ScenarioFile file;
  file.scenario.name = "default";
  file.scenario.description = "ResNet18 at 30 fps, N times";
  file.scenario.horizon_ns = 5 * kNsPerSecond;
  model::TaskGroup group;
  group.task.name = group.task.network;
  group.count_is_n = true;
  file.scenario.groups.push_back(group);
  file.sweep.n = {20, 30, 40, 44, 50, 60};
  file.sweep.policies = {"naive", "sgprs"};
  return file;
}

Result<model::ScenarioFile> FindScenario(const std::string& name) {
  std::vector<std::string> names;
  for (const model::ShippedScenario& shipped : model::ShippedScenarios()) {
    if (shipped.name == name) return model::ParseScenario(shipped.text, shipped.name);
    names.emplace_back(shipped.name);
  }
  std::error_code error;
  if (std::filesystem::exists(name, error)) return model::LoadScenario(name);
  return Status(ErrorCode::kNotFound,
                fmt::format("no file '{}', and no scenario of that name{}{}", name,
                            DidYouMean(name, names), " (`sgprs sim --list` shows them)"));
}

std::vector<Scenario> WithoutRepeats(std::vector<Scenario> scenarios) {
  std::vector<Scenario> out;
  for (Scenario& scenario : scenarios) {
    const std::unique_ptr<policy::Policy> policy = policy::MakePolicy(scenario.policy);
    if (policy != nullptr && policy->traits().pool != policy::PoolShape::kConfigured) {
      const bool known = std::any_of(out.begin(), out.end(), [&](const Scenario& other) {
        return other.policy == scenario.policy && other.partitions == scenario.partitions &&
               other.overload == scenario.overload && other.n == scenario.n &&
               other.seed == scenario.seed;
      });
      if (known) continue;
    }
    out.push_back(std::move(scenario));
  }
  return out;
}

Result<std::vector<Scenario>> PlanSweep(const SimOptions& options) {
  Result<model::ScenarioFile> file = DefaultScenario();
  if (!options.scenario.empty()) file = FindScenario(options.scenario);
  if (!file.ok()) return file.status();
  if (Status task = OverrideTask(options, &*file); !task.ok()) return task;
  if (Status tasks = CheckTasks(options, *file); !tasks.ok()) return tasks;
  Override(options, &*file);
  return WithoutRepeats(file->Expand());
}

}  // namespace sgprs::cli
