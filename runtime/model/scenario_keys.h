// SPDX-License-Identifier: Apache-2.0
// One row a key of a scenario file. Only scenario.cc and scenario_keys.cc include it.
#ifndef SGPRS_RUNTIME_MODEL_SCENARIO_KEYS_H_
#define SGPRS_RUNTIME_MODEL_SCENARIO_KEYS_H_

#include <span>
#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/model/scenario.h"

// Part of the table's contract: setters see one TOML value.
#include "runtime/pool/toml.h"

namespace sgprs::model {

// What a setter may change; `group` only in [[tasks]].
struct ScenarioTarget {
  ScenarioFile* file = nullptr;
  TaskGroup* group = nullptr;
};

struct ScenarioKey {
  std::string_view section;  // "" = top level
  std::string_view name;
  std::string_view example;  // as TOML: the default, where there is one
  std::string_view help;     // one line
  // Takes the value; an error's text says what it should have been.
  Status (*set)(const toml::node& value, const ScenarioTarget& target);
};

// THE list of keys, sections in order. [options] has a policy's options instead
// (policy::PolicyOptionTable()).
std::span<const ScenarioKey> ScenarioKeys();

inline constexpr std::string_view kOptionsSection = "options";
inline constexpr std::string_view kTasksSection = "tasks";

}  // namespace sgprs::model

#endif  // SGPRS_RUNTIME_MODEL_SCENARIO_KEYS_H_
