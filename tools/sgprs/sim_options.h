// SPDX-License-Identifier: Apache-2.0
// What a line of `sgprs sim` asks for, and the runs that it comes to.
#ifndef SGPRS_TOOLS_SGPRS_SIM_OPTIONS_H_
#define SGPRS_TOOLS_SGPRS_SIM_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/model/scenario.h"

namespace sgprs::cli {

// A stretch of a run, from the beginning of its counted part.
struct SimWindow {
  uint64_t from_ns = 0;
  uint64_t to_ns = 0;
};

enum class SimMode {
  kSweep,  // a scenario, or the default one
  kPaper,
  kAblation,
  kDaris,
  kCalibration,
  kReplay,
  kList,
  kKeys,
};

struct SimOptions {
  SimMode mode = SimMode::kSweep;
  std::string scenario;  // file, or name of one that ships; empty = the default one
  std::string replay;    // trace file

  // Instead of the scenario's own; empty = as it says.
  std::vector<uint32_t> tasks;
  std::vector<std::string> policies;
  std::vector<std::pair<std::string, std::string>> policy_options;
  std::vector<model::Overload> overload;
  std::optional<model::AdmissionMode> admission;
  std::vector<uint32_t> partitions;
  std::vector<double> oversubscription;
  std::string device;
  std::optional<uint32_t> seeds;  // how many
  std::optional<uint64_t> seed;   // the first
  std::optional<uint64_t> horizon_ns;
  // Only for the default scenario.
  std::string network;
  std::optional<uint64_t> period_ns;

  unsigned threads = 0;  // 0 = as many as there are cores
  bool json = false;
  bool per_task = false;
  bool losses = false;
  std::string csv;  // file, "-" = stdout
  std::string svg;  // file ending in .svg, or directory
  std::optional<SimWindow> gantt;
};

// "24", "8,16,24", "10..30", "10..60/10"; ascending, each once. Errors kInvalid; at most 10 000
// tasks.
Result<std::vector<uint32_t>> ParseTaskCounts(std::string_view text);
// "1s..1.1s", "0ms..100ms".
Result<SimWindow> ParseSimWindow(std::string_view text);
// "staging=false".
Result<std::pair<std::string, std::string>> ParsePolicyOption(std::string_view text);
// "10" or "10s": an option called --seconds says its unit itself.
Result<uint64_t> ParseSecondsNs(const std::string& text);

// The runs of a sweep, those that would only repeat another (a policy that sets its own sizes has
// no over-subscription to vary) left out. Errors: kInvalid (what was asked for can not be), or
// kUnavailable (the file can not be read).
Result<std::vector<model::Scenario>> PlanSweep(const SimOptions& options);

// What runs if no scenario is named.
model::ScenarioFile DefaultScenario();
// The file, or the shipped scenario, of that name.
Result<model::ScenarioFile> FindScenario(const std::string& name);

// Fewest runs that give the same results: pools that a policy ignores are not varied.
std::vector<model::Scenario> WithoutRepeats(std::vector<model::Scenario> scenarios);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_SIM_OPTIONS_H_
