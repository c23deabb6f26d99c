// SPDX-License-Identifier: Apache-2.0
#include "runtime/policy/policy_options.h"

#include <array>
#include <charconv>
#include <cmath>

namespace sgprs::policy {
namespace {

Status Bad(std::string text) { return Status(ErrorCode::kInvalid, std::move(text)); }

// The submitted code of the SGPRS paper, papers.md 1.10.
PolicyOptions DateCode() {
  PolicyOptions options;
  options.deadline_margin = 0.99;
  options.high_stages = 2;
  options.medium_level = false;
  options.queue_order = QueueOrder::kArrival;
  options.assignment = Assignment::kCode;
  options.early_release_gate = true;
  options.cost_rule = CostRule::kMean;
  return options;
}

Status SetPreset(std::string_view value, PolicyOptions* options) {
  if (value != "paper" && value != "date-code") return Bad("must be paper or date-code");
  *options = value == "paper" ? PolicyOptions() : DateCode();
  return Status::Ok();
}

std::string ShowPreset(const PolicyOptions& options) {
  return options == DateCode() ? "date-code" : "paper";
}

template <auto Member, uint32_t kLeast, uint32_t kMost>
Status SetNumber(std::string_view value, PolicyOptions* options) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || number < kLeast ||
      number > kMost) {
    return Bad("must be a whole number from " + std::to_string(kLeast) + " to " +
               std::to_string(kMost));
  }
  options->*Member = number;
  return Status::Ok();
}

template <auto Member>
std::string ShowNumber(const PolicyOptions& options) {
  return std::to_string(options.*Member);
}

Status SetCapacity(std::string_view value, PolicyOptions* options) {
  if (value == "auto") {
    options->capacity = 0;
    return Status::Ok();
  }
  const Status set = SetNumber<&PolicyOptions::capacity, 1, 1024>(value, options);
  return set.ok() ? set : Bad("must be auto or a number from 1 to 1024");
}

std::string ShowCapacity(const PolicyOptions& options) {
  return options.capacity == 0 ? "auto" : std::to_string(options.capacity);
}

template <auto Member>
Status SetFlag(std::string_view value, PolicyOptions* options) {
  if (value != "true" && value != "false") return Bad("must be true or false");
  options->*Member = value == "true";
  return Status::Ok();
}

template <auto Member>
std::string ShowFlag(const PolicyOptions& options) {
  return options.*Member ? "true" : "false";
}

Status SetMargin(std::string_view value, PolicyOptions* options) {
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || !std::isfinite(number) ||
      number < 0.01 || number > 1.0) {
    return Bad("must be a number from 0.01 to 1");
  }
  options->deadline_margin = number;
  return Status::Ok();
}

std::string ShowMargin(const PolicyOptions& options) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, options.deadline_margin);
  return error == std::errc() ? std::string(text, end) : "1";
}

// Two names for an enum of two values, the first for 0.
template <auto Member, const char* const* kNames>
Status SetChoice(std::string_view value, PolicyOptions* options) {
  for (int i = 0; i < 2; ++i) {
    if (value != kNames[i]) continue;
    options->*Member = static_cast<std::remove_reference_t<decltype(options->*Member)>>(i);
    return Status::Ok();
  }
  return Bad(std::string("must be ") + kNames[0] + " or " + kNames[1]);
}

template <auto Member, const char* const* kNames>
std::string ShowChoice(const PolicyOptions& options) {
  return kNames[static_cast<int>(options.*Member)];
}

constexpr const char* kOrders[] = {"edf", "arrival"};
constexpr const char* kAssignments[] = {"paper", "code"};
constexpr const char* kCostRules[] = {"maximum", "mean"};

#define SGPRS_NUMBER(member, least, most) \
  &SetNumber<&PolicyOptions::member, least, most>, &ShowNumber<&PolicyOptions::member>
#define SGPRS_FLAG(member) &SetFlag<&PolicyOptions::member>, &ShowFlag<&PolicyOptions::member>
#define SGPRS_CHOICE(member, names) \
  &SetChoice<&PolicyOptions::member, names>, &ShowChoice<&PolicyOptions::member, names>

constexpr PolicyOptionRow kRows[] = {
    {"preset", "paper, date-code", "sets all others: as the SGPRS paper says, or as its code does",
     &SetPreset, &ShowPreset},
    {"deadline_margin", "0.01 to 1", "part of the deadline that virtual deadlines share out",
     &SetMargin, &ShowMargin},
    {"high_stages", "0 to 32", "the last so many stages of a job are at level high",
     SGPRS_NUMBER(high_stages, 0, 32)},
    {"medium_level", "true, false", "a stage whose predecessor was late is at level medium",
     SGPRS_FLAG(medium_level)},
    {"class_levels", "true, false", "high class goes before low class at every level",
     SGPRS_FLAG(class_levels)},
    {"queue_order", "edf, arrival", "order inside a level", SGPRS_CHOICE(queue_order, kOrders)},
    {"assignment", "paper, code", "how a stage's partition is chosen",
     SGPRS_CHOICE(assignment, kAssignments)},
    {"early_release_gate", "true, false",
     "low stages that find no partition idle sleep until near their virtual deadline",
     SGPRS_FLAG(early_release_gate)},
    {"cost_rule", "maximum, mean", "a stage's cost, of its last measurements",
     SGPRS_CHOICE(cost_rule, kCostRules)},
    {"capacity", "auto, 1 to 1024",
     "stages at once in a partition; auto: 3 with two partitions, 2 with more", &SetCapacity,
     &ShowCapacity},
    {"level_slots", "true, false", "half of them for level high, half for the other levels",
     SGPRS_FLAG(level_slots)},
    {"staging", "true, false", "false: a job is one stage", SGPRS_FLAG(staging)},
    {"switching", "true, false", "false: a task stays in the partition of its first stage",
     SGPRS_FLAG(switching)},
};

#undef SGPRS_NUMBER
#undef SGPRS_FLAG
#undef SGPRS_CHOICE

}  // namespace

std::span<const PolicyOptionRow> PolicyOptionTable() { return kRows; }

Status SetPolicyOption(std::string_view name, std::string_view value, PolicyOptions* options) {
  std::string names;
  for (const PolicyOptionRow& row : kRows) {
    names += (names.empty() ? "" : ", ") + std::string(row.name);
    if (row.name != name) continue;
    const Status set = row.set(value, options);
    if (set.ok()) return set;
    return Bad(std::string(name) + " = " + std::string(value) + ": " + set.text());
  }
  return Bad("no policy option \"" + std::string(name) + "\"; there are " + names);
}

Result<PolicyOptions> ParsePolicyOptions(
    std::span<const std::pair<std::string, std::string>> options) {
  PolicyOptions parsed;
  for (const bool presets : {true, false}) {
    for (const auto& [name, value] : options) {
      if ((name == "preset") != presets) continue;
      if (Status set = SetPolicyOption(name, value, &parsed); !set.ok()) return set;
    }
  }
  return parsed;
}

std::string DescribePolicyOptions(const PolicyOptions& options) {
  const PolicyOptions paper;
  if (options == paper) return "";
  const bool date_code = options == DateCode();
  std::string text;
  for (const PolicyOptionRow& row : kRows) {
    const std::string value = row.show(options);
    if (date_code ? row.name != "preset" : value == row.show(paper)) continue;
    text += (text.empty() ? "" : ", ") + std::string(row.name) + " " + value;
  }
  return text;
}

uint32_t PartitionCapacity(const PolicyOptions& options, uint32_t partition_count) {
  if (options.capacity != 0) return options.capacity;
  if (partition_count <= 1) return 4;
  return partition_count == 2 ? 3 : 2;
}

}  // namespace sgprs::policy
