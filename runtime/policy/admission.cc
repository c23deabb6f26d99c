// SPDX-License-Identifier: Apache-2.0
#include "runtime/policy/admission.h"

#include <algorithm>
#include <cmath>

namespace sgprs::policy {
namespace {

uint64_t RelativeDeadline(const TaskDemand& task) {
  return task.deadline_ns != 0 ? task.deadline_ns : task.period_ns;
}

bool Known(const TaskDemand& task) { return task.period_ns != 0 && task.service_ns != 0; }

// Density: service per the shorter of period and deadline.
double Density(const TaskDemand& task) {
  if (!Known(task)) return 0;
  return static_cast<double>(task.service_ns) /
         static_cast<double>(std::min(task.period_ns, RelativeDeadline(task)));
}

std::string Percent(double value) {
  return std::to_string(static_cast<long>(std::lround(value * 100))) + " %";
}

std::string Milliseconds(uint64_t ns) {
  const std::string tenths = std::to_string((ns + 50'000) / 100'000);
  return (tenths.size() > 1 ? tenths.substr(0, tenths.size() - 1) : "0") + "." + tenths.back() +
         " ms";
}

}  // namespace

std::string_view AdmissionName(AdmissionMode mode) {
  if (mode == AdmissionMode::kOff) return "off";
  return mode == AdmissionMode::kWarn ? "warn" : "reject";
}

std::optional<AdmissionMode> FindAdmission(std::string_view name) {
  for (const AdmissionMode mode :
       {AdmissionMode::kOff, AdmissionMode::kWarn, AdmissionMode::kReject}) {
    if (AdmissionName(mode) == name) return mode;
  }
  return std::nullopt;
}

AdmissionAnswer JudgeAdmission(std::span<const TaskDemand> admitted, const TaskDemand& candidate) {
  AdmissionAnswer answer;
  if (candidate.task_class == SGPRS_CLASS_BEST_EFFORT || !Known(candidate)) return answer;
  answer.utilisation = Density(candidate);
  for (const TaskDemand& task : admitted) {
    if (task.task_class <= candidate.task_class) answer.utilisation += Density(task);
  }
  if (candidate.response_ns > RelativeDeadline(candidate)) {
    answer.fits = false;
    answer.why = "a job takes " + Milliseconds(candidate.response_ns) + ", its deadline is " +
                 Milliseconds(RelativeDeadline(candidate));
  } else if (answer.utilisation > 1.0) {
    answer.fits = false;
    answer.why = "it would bring the pool to " + Percent(answer.utilisation) +
                 " of what it can do (costs as measured beside what runs, stages in order of "
                 "deadline, releases no closer than the period)";
  }
  return answer;
}

}  // namespace sgprs::policy
