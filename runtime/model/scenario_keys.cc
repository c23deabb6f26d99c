// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/scenario_keys.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "runtime/base/duration.h"
#include "runtime/model/device_description.h"
#include "runtime/model/networks.h"
#include "runtime/policy/policy.h"

namespace sgprs::model {
namespace {

constexpr int64_t kMostTasks = 100'000;
constexpr uint64_t kMostNs = 3'600'000'000'000;  // an hour

Status Bad(std::string text) { return Status(ErrorCode::kInvalid, std::move(text)); }

// Values of every kind that keys take.
Status Read(const toml::node& value, std::string* out) {
  const toml::value<std::string>* text = value.as_string();
  if (text == nullptr) return Bad("must be a text");
  *out = text->get();
  return Status::Ok();
}

Status ReadWhole(const toml::node& value, int64_t least, int64_t most, int64_t* out) {
  const toml::value<int64_t>* number = value.as_integer();
  if (number == nullptr || number->get() < least || number->get() > most) {
    return Bad("must be a whole number from " + std::to_string(least) + " to " +
               std::to_string(most));
  }
  *out = number->get();
  return Status::Ok();
}

std::string Short(double number) {
  std::string text = std::to_string(number);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

Status ReadReal(const toml::node& value, double least, double most, double* out) {
  const std::optional<double> number = value.value<double>();
  if (!value.is_number() || !number || !std::isfinite(*number) || *number < least ||
      *number > most) {
    return Bad("must be a number from " + Short(least) + " to " + Short(most));
  }
  *out = *number;
  return Status::Ok();
}

Status ReadDuration(const toml::node& value, uint64_t least_ns, uint64_t* out) {
  const toml::value<std::string>* text = value.as_string();
  if (text == nullptr) return Bad("must be a duration with its unit, like \"33.3ms\"");
  Result<uint64_t> ns = ParseDurationNs(text->get());
  if (!ns.ok()) return Bad(ns.status().text());
  if (*ns < least_ns || *ns > kMostNs) {
    return Bad("must be from " + FormatDurationNs(least_ns) + " to " + FormatDurationNs(kMostNs));
  }
  *out = *ns;
  return Status::Ok();
}

// One value or a list of them.
template <typename T, typename ReadOne>
Status ReadList(const toml::node& value, ReadOne read_one, std::vector<T>* out) {
  out->clear();
  const toml::array* list = value.as_array();
  if (list != nullptr && list->empty()) return Bad("must not be empty");
  const size_t count = list != nullptr ? list->size() : 1;
  for (size_t i = 0; i < count; ++i) {
    T item{};
    Status status = read_one(list != nullptr ? (*list)[i] : value, &item);
    if (!status.ok()) return status;
    out->push_back(item);
  }
  return Status::Ok();
}

template <typename T>
Status ReadWholeAs(const toml::node& value, int64_t least, int64_t most, T* out) {
  int64_t number = 0;
  Status status = ReadWhole(value, least, most, &number);
  if (status.ok()) *out = static_cast<T>(number);
  return status;
}

Status ReadPolicy(const toml::node& value, std::string* out) {
  const toml::value<std::string>* text = value.as_string();
  if (text == nullptr || policy::MakePolicy(text->get()) == nullptr) {
    return Bad("must be one of " + std::string(policy::PolicyNames()));
  }
  *out = text->get();
  return Status::Ok();
}

Status ReadOverload(const toml::node& value, Overload* out) {
  const toml::value<std::string>* text = value.as_string();
  const std::optional<Overload> found =
      text != nullptr ? policy::FindOverload(text->get()) : std::nullopt;
  if (!found) return Bad("must be one of " + std::string(policy::kOverloadNames));
  *out = *found;
  return Status::Ok();
}

// Setters by member.
template <auto Member>
Status SetText(const toml::node& value, const ScenarioTarget& target) {
  return Read(value, &(target.file->scenario.*Member));
}

template <auto Member, int64_t kLeast, int64_t kMost>
Status SetWhole(const toml::node& value, const ScenarioTarget& target) {
  return ReadWholeAs(value, kLeast, kMost, &(target.file->scenario.*Member));
}

template <auto Member, uint64_t kLeastNs>
Status SetDuration(const toml::node& value, const ScenarioTarget& target) {
  return ReadDuration(value, kLeastNs, &(target.file->scenario.*Member));
}

template <auto Member>
Status SetHost(const toml::node& value, const ScenarioTarget& target) {
  return ReadDuration(value, 0, &(target.file->scenario.host.*Member));
}

template <auto Member, uint64_t kLeastNs>
Status SetTaskDuration(const toml::node& value, const ScenarioTarget& target) {
  return ReadDuration(value, kLeastNs, &(target.group->task.*Member));
}

Status SetDevice(const toml::node& value, const ScenarioTarget& target) {
  const toml::value<std::string>* text = value.as_string();
  if (text == nullptr || FindDevice(text->get()) == nullptr) {
    std::string names;
    for (const DeviceDescription& device : AllDevices()) {
      names += (names.empty() ? "" : ", ") + std::string(device.name);
    }
    return Bad("must be one of " + names);
  }
  target.file->scenario.device = text->get();
  return Status::Ok();
}

Status SetPolicy(const toml::node& value, const ScenarioTarget& target) {
  return ReadPolicy(value, &target.file->scenario.policy);
}

Status SetOverload(const toml::node& value, const ScenarioTarget& target) {
  return ReadOverload(value, &target.file->scenario.overload);
}

Status SetAdmission(const toml::node& value, const ScenarioTarget& target) {
  const toml::value<std::string>* text = value.as_string();
  const std::optional<AdmissionMode> found =
      text != nullptr ? policy::FindAdmission(text->get()) : std::nullopt;
  if (!found) return Bad("must be one of " + std::string(policy::kAdmissionNames));
  target.file->scenario.admission = *found;
  return Status::Ok();
}

// A text that stands for one of two values of an enum.
template <typename Enum>
Status ReadChoice(const toml::node& value, const char* first, const char* second, Enum* out) {
  const toml::value<std::string>* text = value.as_string();
  if (text == nullptr || (text->get() != first && text->get() != second)) {
    return Bad(std::string("must be ") + first + " or " + second);
  }
  *out = static_cast<Enum>(text->get() == second);
  return Status::Ok();
}

Status SetCosts(const toml::node& value, const ScenarioTarget& target) {
  return ReadChoice(value, "profile", "learn", &target.file->scenario.costs);
}

Status SetDetail(const toml::node& value, const ScenarioTarget& target) {
  return ReadChoice(value, "stage", "kernel", &target.file->scenario.detail);
}

Status SetPartitions(const toml::node& value, const ScenarioTarget& target) {
  Scenario& scenario = target.file->scenario;
  scenario.sm_counts.clear();
  if (!value.is_array()) return ReadWholeAs(value, 1, SGPRS_MAX_PARTITIONS, &scenario.partitions);
  Status status = ReadList<uint32_t>(
      value, [](const toml::node& item, uint32_t* out) { return ReadWholeAs(item, 1, 65536, out); },
      &scenario.sm_counts);
  if (!status.ok()) return status;
  if (scenario.sm_counts.size() > SGPRS_MAX_PARTITIONS) {
    return Bad("must list at most " + std::to_string(SGPRS_MAX_PARTITIONS) + " SM counts");
  }
  scenario.partitions = static_cast<uint32_t>(scenario.sm_counts.size());
  return Status::Ok();
}

Status ReadOversubscription(const toml::node& value, double* out) {
  return ReadReal(value, 0.1, 32, out);
}

Status SetOversubscription(const toml::node& value, const ScenarioTarget& target) {
  return ReadOversubscription(value, &target.file->scenario.oversubscription);
}

Status SetTaskName(const toml::node& value, const ScenarioTarget& target) {
  return Read(value, &target.group->task.name);
}

Status SetCount(const toml::node& value, const ScenarioTarget& target) {
  const toml::value<std::string>* text = value.as_string();
  target.group->count_is_n = text != nullptr && text->get() == "N";
  if (target.group->count_is_n) return Status::Ok();
  const Status status = ReadWholeAs(value, 0, kMostTasks, &target.group->count);
  return status.ok() ? status : Bad("must be \"N\" or a number from 0 to 100000");
}

Status SetClass(const toml::node& value, const ScenarioTarget& target) {
  constexpr std::pair<std::string_view, SgprsTaskClass> kClasses[] = {
      {"high", SGPRS_CLASS_HIGH},
      {"low", SGPRS_CLASS_LOW},
      {"best-effort", SGPRS_CLASS_BEST_EFFORT}};
  const toml::value<std::string>* text = value.as_string();
  for (const auto& [name, task_class] : kClasses) {
    if (text == nullptr || text->get() != name) continue;
    target.group->task.task_class = task_class;
    return Status::Ok();
  }
  return Bad("must be high, low or best-effort");
}

Status SetPhase(const toml::node& value, const ScenarioTarget& target) {
  const toml::value<std::string>* text = value.as_string();
  target.group->task.random_phase = text != nullptr && text->get() == "random";
  if (target.group->task.random_phase) return Status::Ok();
  const Status status = ReadDuration(value, 0, &target.group->task.phase_ns);
  return status.ok() ? status : Bad("must be \"random\" or a duration like \"5ms\"");
}

Status SetCostNoise(const toml::node& value, const ScenarioTarget& target) {
  return ReadReal(value, 0, 2, &target.group->task.cost_noise);
}

Status SetNetwork(const toml::node& value, const ScenarioTarget& target) {
  const toml::value<std::string>* text = value.as_string();
  if (text == nullptr || FindNetwork(text->get()) == nullptr) {
    return Bad("must be one of " + NetworkNames());
  }
  target.group->task.network = text->get();
  return Status::Ok();
}

Status SetN(const toml::node& value, const ScenarioTarget& target) {
  return ReadWholeAs(value, 0, kMostTasks, &target.file->scenario.n);
}

// A list, or { from = 15, to = 60, step = 5 }.
Status SetSweepTasks(const toml::node& value, const ScenarioTarget& target) {
  std::vector<uint32_t>* out = &target.file->sweep.n;
  const auto read = [](const toml::node& item, uint32_t* n) {
    return ReadWholeAs(item, 0, kMostTasks, n);
  };
  const toml::table* range = value.as_table();
  if (range == nullptr) return ReadList<uint32_t>(value, read, out);
  int64_t from = 0, to = -1, step = 1;
  for (const auto& [name, item] : *range) {
    int64_t* part = name == "from" ? &from : name == "to" ? &to : name == "step" ? &step : nullptr;
    if (part == nullptr) return Bad("must have from, to and step, not " + std::string(name.str()));
    Status status = ReadWhole(item, part == &step, kMostTasks, part);
    if (!status.ok()) return status;
  }
  if (to < from) return Bad("must have from <= to");
  out->clear();
  for (int64_t n = from; n <= to; n += step) out->push_back(static_cast<uint32_t>(n));
  return Status::Ok();
}

// A list, or how many: seeds 1 .. count.
Status SetSweepSeeds(const toml::node& value, const ScenarioTarget& target) {
  std::vector<uint64_t>* out = &target.file->sweep.seeds;
  const auto read = [](const toml::node& item, uint64_t* seed) {
    return ReadWholeAs(item, 0, INT64_MAX, seed);
  };
  if (value.is_array()) return ReadList<uint64_t>(value, read, out);
  int64_t count = 0;
  Status status = ReadWhole(value, 1, 1000, &count);
  if (!status.ok()) return Bad("must be a list of seeds, or how many (1 to 1000)");
  out->clear();
  for (int64_t seed = 1; seed <= count; ++seed) out->push_back(static_cast<uint64_t>(seed));
  return Status::Ok();
}

Status SetSweepPolicies(const toml::node& value, const ScenarioTarget& target) {
  return ReadList<std::string>(value, &ReadPolicy, &target.file->sweep.policies);
}

Status SetSweepPartitions(const toml::node& value, const ScenarioTarget& target) {
  return ReadList<uint32_t>(
      value,
      [](const toml::node& item, uint32_t* out) {
        return ReadWholeAs(item, 1, SGPRS_MAX_PARTITIONS, out);
      },
      &target.file->sweep.partitions);
}

Status SetSweepOversubscription(const toml::node& value, const ScenarioTarget& target) {
  return ReadList<double>(value, &ReadOversubscription, &target.file->sweep.oversubscription);
}

Status SetSweepOverload(const toml::node& value, const ScenarioTarget& target) {
  return ReadList<Overload>(value, &ReadOverload, &target.file->sweep.overload);
}

constexpr ScenarioKey kKeys[] = {
    {"", "version", "1", "of this format; must be 1",
     [](const toml::node& value, const ScenarioTarget&) {
       int64_t version = 0;
       const Status status = ReadWhole(value, 1, 1, &version);
       return status.ok() ? status : Bad("must be 1, the version that this program reads");
     }},
    {"", "name", "\"\"", "what results call it; default: the file's name",
     &SetText<&Scenario::name>},
    {"", "description", "\"\"", "one line for people", &SetText<&Scenario::description>},
    {"", "device", "\"rtx2080ti\"", "which device description", &SetDevice},
    {"", "policy", "\"sgprs\"", "which policy decides", &SetPolicy},
    {"", "overload", "\"late\"", "what happens to too much work: late, hold", &SetOverload},
    {"", "admission", "\"off\"", "at registration: off, warn, reject", &SetAdmission},
    {"", "n", "30", "what count = \"N\" stands for without a sweep", &SetN},
    {"", "seed", "1", "of all draws", &SetWhole<&Scenario::seed, 0, INT64_MAX>},
    {"", "warmup", "\"2s\"", "runs, but is not counted", &SetDuration<&Scenario::warmup_ns, 0>},
    {"", "horizon", "\"10s\"", "counted after it", &SetDuration<&Scenario::horizon_ns, 1'000'000>},
    {"", "standstill", "\"0s\"",
     "in the middle of the warm-up no application runs for so long; then all begin at once",
     &SetDuration<&Scenario::standstill_ns, 0>},
    {"", "detail", "\"stage\"", "a fluid job is a stage, or a kernel (slow)", &SetDetail},

    {"pool", "partitions", "3", "how many equal ones, or a list of SM counts", &SetPartitions},
    {"pool", "oversubscription", "1.5", "sum of the sizes of an equal split, in GPUs",
     &SetOversubscription},

    {"scheduler", "stages", "6", "stages a job is cut into where costs are learnt",
     &SetWhole<&Scenario::stages, 1, SGPRS_MAX_STAGES>},
    {"scheduler", "least", "\"20us\"", "jobs are cut into fewer stages rather than shorter ones",
     &SetDuration<&Scenario::min_stage_ns, 0>},
    {"scheduler", "window", "5", "a stage's cost is taken over this many last jobs",
     &SetWhole<&Scenario::window, 1, 1000>},
    {"scheduler", "costs", "\"profile\"",
     "known from the start (profile: the network's own stages), or learnt while it runs (learn)",
     &SetCosts},

    {"host", "prepare", "\"0us\"", "from a release to the job's first launch",
     &SetHost<&HostCosts::prepare_ns>},
    {"host", "launch", "\"0us\"", "the application's thread, per launch",
     &SetHost<&HostCosts::launch_ns>},
    {"host", "issue", "\"0us\"", "the issuing thread, per launch", &SetHost<&HostCosts::issue_ns>},
    {"host", "grant_round_trip", "\"0us\"",
     "from a stage's completion to the next one's first launch",
     &SetHost<&HostCosts::grant_round_trip_ns>},
    {"host", "switch", "\"0us\"", "more if that is in another partition",
     &SetHost<&HostCosts::switch_ns>},
    {"host", "synchronise", "\"0us\"", "from a job's completion to the application's next move",
     &SetHost<&HostCosts::synchronise_ns>},

    {"tasks", "name", "\"task\"", "copies are NAME-0, NAME-1, ...", &SetTaskName},
    {"tasks", "count", "1", "how many of this kind, or \"N\"", &SetCount},
    {"tasks", "class", "\"low\"", "high, low, best-effort", &SetClass},
    {"tasks", "period", "\"33.333333ms\"", "between two releases",
     &SetTaskDuration<&TaskSpec::period_ns, 1000>},
    {"tasks", "deadline", "\"33.333333ms\"", "after the release; default: the period",
     &SetTaskDuration<&TaskSpec::deadline_ns, 1000>},
    {"tasks", "phase", "\"random\"",
     "the first release; \"random\": whole milliseconds below two periods", &SetPhase},
    {"tasks", "jitter", "\"0us\"", "each release is late by an even draw up to this",
     &SetTaskDuration<&TaskSpec::jitter_ns, 0>},
    {"tasks", "cost_noise", "0.0",
     "each job's work is multiplied by a log-normal draw of mean 1 and this sigma", &SetCostNoise},
    {"tasks", "network", "\"resnet18\"", "what a job runs", &SetNetwork},

    {"sweep", "tasks", "[30]", "values of N: a list, or { from = 15, to = 60, step = 5 }",
     &SetSweepTasks},
    {"sweep", "seeds", "[1]", "a list, or how many", &SetSweepSeeds},
    {"sweep", "policies", "[\"sgprs\"]", "a list", &SetSweepPolicies},
    {"sweep", "partitions", "[3]", "a list of numbers of equal partitions", &SetSweepPartitions},
    {"sweep", "oversubscription", "[1.5]", "a list", &SetSweepOversubscription},
    {"sweep", "overload", "[\"late\"]", "a list", &SetSweepOverload},
};

}  // namespace

std::span<const ScenarioKey> ScenarioKeys() { return kKeys; }

}  // namespace sgprs::model
