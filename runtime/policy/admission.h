// SPDX-License-Identifier: Apache-2.0
// Admission control at registration: does one more task fit, by a utilisation bound. Off by
// default. What the bound assumes is in README.md, "Admission", and in its message.
//
// Pure, any thread.
#ifndef SGPRS_RUNTIME_POLICY_ADMISSION_H_
#define SGPRS_RUNTIME_POLICY_ADMISSION_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sgprs/abi/abi.h"

namespace sgprs::policy {

enum class AdmissionMode : uint8_t {
  kOff,
  kWarn,    // said in the log and in status
  kReject,  // refused at registration, or cut when its cost is learnt
};
std::string_view AdmissionName(AdmissionMode mode);
std::optional<AdmissionMode> FindAdmission(std::string_view name);
inline constexpr std::string_view kAdmissionNames = "off, warn, reject";

struct TaskDemand {
  SgprsTaskClass task_class = SGPRS_CLASS_LOW;
  uint64_t period_ns = 0;    // 0: not periodic, does not count
  uint64_t deadline_ns = 0;  // relative, 0 = period
  // Of one job, as measured beside what else ran; 0 = unknown, does not count.
  uint64_t response_ns = 0;  // alone in its stages: the sum of their times
  uint64_t service_ns = 0;   // of the whole pool: that sum divided by the stages that run at once
};

struct AdmissionAnswer {
  bool fits = true;
  double utilisation = 0;  // of the pool, with the candidate, over the classes that count
  std::string why;         // one line if it does not fit
};

// `admitted`: the tasks that are there. Low-class tasks do not count against a high-class one;
// best effort always fits.
AdmissionAnswer JudgeAdmission(std::span<const TaskDemand> admitted, const TaskDemand& candidate);

}  // namespace sgprs::policy

#endif  // SGPRS_RUNTIME_POLICY_ADMISSION_H_
