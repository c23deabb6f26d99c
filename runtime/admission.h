// SPDX-License-Identifier: Apache-2.0
// Admission control of sgprsd: what tasks were learnt to cost, kept beyond their end, and the
// judgement (policy/admission.h) at registration and when a cost is learnt.
//
// Thread: the loop's.
#ifndef SGPRS_RUNTIME_ADMISSION_H_
#define SGPRS_RUNTIME_ADMISSION_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/policy/admission.h"
#include "sgprs/abi/control.h"

namespace sgprs::runtime {

class Admission {
 public:
  // Jobs of a task that are complete before its cost is believed: it has then run beside the others
  // for a while.
  static constexpr uint64_t kJobsBeforeJudgement = 10;

  explicit Admission(policy::AdmissionMode mode) : mode_(mode) {}

  policy::AdmissionMode mode() const { return mode_; }
  // The demand of one that registers: what a task of that name and program cost the last time; with
  // unknown cost it fits.
  policy::TaskDemand Expect(const SgprsHello& hello) const;
  // A cost was learnt. Bounded: the oldest is forgotten.
  void Remember(const std::string& name, const std::string& program,
                const policy::TaskDemand& demand);

 private:
  struct Cost {
    uint64_t response_ns = 0;
    uint64_t service_ns = 0;
    uint64_t age = 0;
  };

  const policy::AdmissionMode mode_;
  std::map<std::pair<std::string, std::string>, Cost> known_;
  uint64_t clock_ = 0;
};

// What `hello` says of class, period and deadline; no cost.
policy::TaskDemand DemandOf(const SgprsHello& hello);

}  // namespace sgprs::runtime

#endif  // SGPRS_RUNTIME_ADMISSION_H_
