// SPDX-License-Identifier: Apache-2.0
// Names of the release rules (include/sgprs/abi/job_log.h): command line, environment and
// configuration say them alike.
#ifndef SGPRS_RUNTIME_BASE_RELEASE_RULE_H_
#define SGPRS_RUNTIME_BASE_RELEASE_RULE_H_

#include <array>
#include <optional>
#include <string_view>

#include "sgprs/abi/job_log.h"

namespace sgprs {

// By SgprsReleaseRule.
inline constexpr std::array<const char*, SGPRS_RELEASE_RULES> kReleaseRuleNames = {
    "first-launch", "timer", "input", "grid"};
inline constexpr const char* kReleaseRuleList = "grid, timer, input, first-launch";

inline std::optional<SgprsReleaseRule> FindReleaseRule(std::string_view name) {
  for (size_t i = 0; i < kReleaseRuleNames.size(); ++i) {
    if (name == kReleaseRuleNames[i]) return static_cast<SgprsReleaseRule>(i);
  }
  return std::nullopt;
}

}  // namespace sgprs

#endif  // SGPRS_RUNTIME_BASE_RELEASE_RULE_H_
