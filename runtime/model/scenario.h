// SPDX-License-Identifier: Apache-2.0
// A scenario: which tasks run on which device under which policy, for how long in virtual time.
// Written as TOML (README.md, "Scenarios"), every key said once in scenario_keys.cc; refused with
// file and line: unknown keys, wrong types, values out of range.
//
// Plain data. Pure but for LoadScenario(), which reads a file. Any thread.
#ifndef SGPRS_RUNTIME_MODEL_SCENARIO_H_
#define SGPRS_RUNTIME_MODEL_SCENARIO_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/policy/admission.h"
#include "runtime/policy/overload.h"
#include "sgprs/abi/abi.h"

namespace sgprs::model {

// What a stage of a job was measured to take, where no network says it (a recorded trace).
struct MeasuredStage {
  uint64_t time_ns = 0;   // alone or as recorded ...
  uint32_t sm_count = 0;  // ... in a partition of so many SMs; other sizes are scaled
  uint32_t launches = 1;
};

// One job of a task that does not release by itself.
struct RecordedJob {
  uint64_t release_ns = 0;  // since the beginning of the run
  std::vector<MeasuredStage> stages;
};

struct TaskSpec {
  std::string name = "task";
  SgprsTaskClass task_class = SGPRS_CLASS_LOW;
  uint64_t period_ns = 33'333'333;  // 30 per second
  uint64_t deadline_ns = 0;         // relative, 0 = period
  bool random_phase = true;  // first release uniform in [0, 2 periods), whole ms (papers.md 1.1)
  uint64_t phase_ns = 0;     // else
  // Each release is late by a uniform draw from [0, jitter_ns].
  uint64_t jitter_ns = 0;
  // Each kernel's work is multiplied by a log-normal draw of mean 1 and this sigma.
  double cost_noise = 0;

  // Exactly one of the two: a network (FindNetwork in networks.h), or jobs as recorded.
  std::string network = "resnet18";
  std::vector<RecordedJob> jobs;
};

// Tasks of one kind: `count` copies named NAME-0, NAME-1, ...
struct TaskGroup {
  TaskSpec task;
  uint32_t count = 1;
  bool count_is_n = false;  // count = "N": what the sweep says
};

using Overload = policy::OverloadMode;
using AdmissionMode = policy::AdmissionMode;
using policy::AdmissionName;
using policy::OverloadName;
// Where the scheduler's stage costs come from at the start (papers.md 1.3: an offline profile).
enum class CostSource : uint8_t { kProfile, kLearn };
// What one fluid job stands for (README.md, "Detail").
enum class Detail : uint8_t { kStage, kKernel };

// The host: everything that is neither GPU nor decision.
struct HostCosts {
  uint64_t prepare_ns = 0;           // from a release to the job's first launch
  uint64_t launch_ns = 0;            // the application's thread per launch
  uint64_t issue_ns = 0;             // the issuing thread per launch (issue overlaps the GPU)
  uint64_t grant_round_trip_ns = 0;  // a stage's completion to the first launch of the next
  uint64_t switch_ns = 0;            // more, when that is in another partition
  uint64_t synchronise_ns = 0;       // the end of a job to the application's return from it
};

struct Scenario {
  std::string name;
  std::string description;
  std::string device = "rtx2080ti";

  // Pool, as in sgprsd's configuration.
  uint32_t partitions = 3;
  std::vector<uint32_t> sm_counts;  // sizes; empty = an equal split
  double oversubscription = 1.5;

  std::string policy = "sgprs";
  // By the names of policy::PolicyOptionTable(), e.g. {"preset", "date-code"}.
  std::vector<std::pair<std::string, std::string>> policy_options;
  Overload overload = Overload::kLate;
  AdmissionMode admission = AdmissionMode::kOff;

  uint32_t stages = 6;
  uint32_t window = 5;
  uint64_t min_stage_ns = 20'000;
  CostSource costs = CostSource::kProfile;
  HostCosts host;

  uint64_t seed = 1;
  uint64_t warmup_ns = 2'000'000'000;    // jobs released before it are not counted
  uint64_t horizon_ns = 10'000'000'000;  // of the counted part
  // In the middle of the warm-up no application runs for so long; then all begin at once, so that
  // it is seen who gets out of a backlog (README.md, "Standstill").
  uint64_t standstill_ns = 0;
  Detail detail = Detail::kStage;

  std::vector<TaskGroup> groups;
  uint32_t n = 30;  // what count = "N" stands for

  // All tasks one by one, in the order in which they register.
  std::vector<TaskSpec> Tasks() const;
};

// Empty list = the scenario's own value.
struct Sweep {
  std::vector<uint32_t> n;
  std::vector<uint64_t> seeds;
  std::vector<std::string> policies;
  std::vector<uint32_t> partitions;
  std::vector<double> oversubscription;
  std::vector<Overload> overload;
};

struct ScenarioFile {
  Scenario scenario;
  Sweep sweep;
  // Every combination, in the order policy, partitions, over-subscription, overload, N, seed (the
  // last changes fastest). One entry without a sweep.
  std::vector<Scenario> Expand() const;
};

// Errors: kInvalid with "NAME:LINE: what is wrong, with which value, what is right".
Result<ScenarioFile> ParseScenario(std::string_view text, std::string_view name);
// Also kNotFound and kUnavailable.
Result<ScenarioFile> LoadScenario(const std::string& path);
// Every key with its default and meaning, as a TOML file that changes nothing but tasks.
std::string ScenarioHelp();

// The scenarios that ship, built in (runtime/model/scenarios/*.toml).
struct ShippedScenario {
  std::string_view name;  // of the file, without .toml
  std::string_view text;
};
const std::vector<ShippedScenario>& ShippedScenarios();

}  // namespace sgprs::model

#endif  // SGPRS_RUNTIME_MODEL_SCENARIO_H_
