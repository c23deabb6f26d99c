// SPDX-License-Identifier: Apache-2.0
// What $SGPRS_JOB may say, for those who set it and those who read it: auto, launches:N, marked,
// nvtx:NAME (design.md 5).
#ifndef SGPRS_RUNTIME_BASE_JOB_RULE_H_
#define SGPRS_RUNTIME_BASE_JOB_RULE_H_

#include <cstddef>
#include <string_view>

namespace sgprs {

inline constexpr std::string_view kNvtxRule = "nvtx:";
// Longest name of a range, bytes.
inline constexpr size_t kNvtxNameBytes = 255;

// Variable by which NVTX in a program finds the library that its calls go to.
inline constexpr const char* kNvtxInjection = "NVTX_INJECTION64_PATH";

// The range's name in an nvtx rule, in `rule`'s memory; nullptr if it is another rule, or none.
inline const char* NvtxJobName(const char* rule) {
  if (rule == nullptr) return nullptr;
  const std::string_view text = rule;
  if (!text.starts_with(kNvtxRule) || text.size() == kNvtxRule.size()) return nullptr;
  return rule + kNvtxRule.size();
}

}  // namespace sgprs

#endif  // SGPRS_RUNTIME_BASE_JOB_RULE_H_
