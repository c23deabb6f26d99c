// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>

#include "runtime/policy/policies.h"
#include "runtime/policy/policy.h"

namespace sgprs::policy {
namespace {

constexpr std::array<PolicyRow, 7> kPolicies = {{
    {"sgprs",
     "stages with virtual deadlines on an over-subscribed pool, three levels, EDF (default)",
     &MakeSgprs},
    {"naive", "the paper's baseline: each task bound to a full-size partition, no deadlines",
     &MakeNaive},
    {"fifo", "stages in the order in which they became ready, on the partition that ends first",
     &MakeFifo},
    {"edf", "whole jobs by earliest deadline on full-size partitions", &MakeEdf},
    {"static", "a fixed, disjoint partition per task, stages by virtual deadline, no switching",
     &MakeStatic},
    {"rm", "stages of the task of shortest period first, on the partition that ends first",
     &MakeRm},
    {"daris", "tasks bound to partitions, low-class jobs admitted by utilisation, eight lists, EDF",
     &MakeDaris},
}};

}  // namespace

std::span<const PolicyRow> PolicyTable() { return kPolicies; }

std::unique_ptr<Policy> MakePolicy(std::string_view name, const PolicyOptions& options) {
  for (const PolicyRow& row : kPolicies) {
    if (row.name == name) return row.make(options);
  }
  return nullptr;
}

std::string_view PolicyNames() {
  static const std::string names = [] {
    std::string text;
    for (const PolicyRow& row : kPolicies) {
      if (!text.empty()) text += ", ";
      text += row.name;
    }
    return text;
  }();
  return names;
}

}  // namespace sgprs::policy
