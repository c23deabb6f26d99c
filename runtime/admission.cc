// SPDX-License-Identifier: Apache-2.0
#include "runtime/admission.h"

#include <algorithm>

#include "runtime/observe/text.h"

namespace sgprs::runtime {
namespace {

constexpr size_t kMostKnown = SGPRS_MAX_TASKS;

}  // namespace

policy::TaskDemand DemandOf(const SgprsHello& hello) {
  return {.task_class = static_cast<SgprsTaskClass>(hello.task_class),
          .period_ns = hello.period_ns,
          .deadline_ns = hello.deadline_ns};
}

policy::TaskDemand Admission::Expect(const SgprsHello& hello) const {
  policy::TaskDemand demand = DemandOf(hello);
  const auto known = known_.find({observe::OneLine(hello.name), observe::OneLine(hello.program)});
  if (known == known_.end()) return demand;
  demand.response_ns = known->second.response_ns;
  demand.service_ns = known->second.service_ns;
  return demand;
}

void Admission::Remember(const std::string& name, const std::string& program,
                         const policy::TaskDemand& demand) {
  if (known_.size() >= kMostKnown && known_.count({name, program}) == 0) {
    known_.erase(std::min_element(known_.begin(), known_.end(), [](const auto& a, const auto& b) {
      return a.second.age < b.second.age;
    }));
  }
  known_[{name, program}] = {demand.response_ns, demand.service_ns, ++clock_};
}

}  // namespace sgprs::runtime
