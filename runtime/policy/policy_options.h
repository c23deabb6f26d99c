// SPDX-License-Identifier: Apache-2.0
// What the papers leave open (facts: papers.md 1.10) and what an ablation turns off, as options by
// name. Said once, in policy_options.cc: sgprsd's configuration, scenarios, help and tests come
// from that table. A policy reads what concerns it and ignores the rest.
//
// Plain data, pure, any thread.
#ifndef SGPRS_RUNTIME_POLICY_POLICY_OPTIONS_H_
#define SGPRS_RUNTIME_POLICY_POLICY_OPTIONS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/result.h"

namespace sgprs::policy {

// Order inside a level of a partition's queue.
enum class QueueOrder : uint8_t {
  kEdf,      // absolute virtual deadline (paper)
  kArrival,  // as stages became ready: the code's waiting threads, woken in no order (DATE code)
};

// Which partition a ready stage goes to.
enum class Assignment : uint8_t {
  // The smallest idle one that meets the virtual deadline, else the idle one that ends first, else
  // the smallest busy one expected to meet it, else the earliest estimated end.
  kPaper,
  // papers.md 1.5: the first idle one in pool order that meets it, else the idle one that ends
  // first, else the earliest estimated end.
  kCode,
};

// What a stage is expected to cost, of its last `window` measurements.
enum class CostRule : uint8_t { kMaximum, kMean };

struct PolicyOptions {
  double deadline_margin = 1.0;  // virtual deadlines share out margin * D
  uint32_t high_stages = 1;      // the last so many stages are at level high; 0 = none
  bool medium_level = true;      // a stage whose predecessor was late is at level medium
  bool class_levels = true;      // high class before low class, whatever the level
  QueueOrder queue_order = QueueOrder::kEdf;
  Assignment assignment = Assignment::kPaper;
  // A stage of level low that finds no partition idle sleeps until its absolute virtual deadline
  // minus twice its relative one before it is placed (papers.md 1.5).
  bool early_release_gate = false;
  CostRule cost_rule = CostRule::kMaximum;
  uint32_t capacity = 0;  // stages at once in a partition; 0 = auto (PartitionCapacity)
  // Half of the slots are for level high, half for the others (2 high + 2 low streams of the
  // paper); else any stage takes any slot (DATE code).
  bool level_slots = false;
  bool staging = true;    // false: a job is one stage
  bool switching = true;  // false: a task stays in the partition of its first stage

  friend bool operator==(const PolicyOptions&, const PolicyOptions&) = default;
};

struct PolicyOptionRow {
  std::string_view name;    // "high_stages"
  std::string_view values;  // "0, 1 or 2"
  std::string_view help;    // one line
  // Error kInvalid: the text says what it should have been.
  Status (*set)(std::string_view value, PolicyOptions* options);
  std::string (*show)(const PolicyOptions& options);
};

// THE list. The first row is `preset`, which sets all others: paper (default), date-code.
std::span<const PolicyOptionRow> PolicyOptionTable();

// One option by name. Error kInvalid, one line: no such option (with the list), or
// "NAME = VALUE: what it should have been".
Status SetPolicyOption(std::string_view name, std::string_view value, PolicyOptions* options);

// All of a list, presets before the rest wherever they stand. Errors as above.
Result<PolicyOptions> ParsePolicyOptions(
    std::span<const std::pair<std::string, std::string>> options);

// What differs from the default preset: "preset date-code" or "high_stages 2, staging false"; empty
// if nothing does.
std::string DescribePolicyOptions(const PolicyOptions& options);

// Stages at once in a partition (papers.md 1.4): the configured number, else 3 with two partitions,
// 2 with three or more; 4 with one.
uint32_t PartitionCapacity(const PolicyOptions& options, uint32_t partition_count);

}  // namespace sgprs::policy

#endif  // SGPRS_RUNTIME_POLICY_POLICY_OPTIONS_H_
