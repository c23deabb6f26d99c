// SPDX-License-Identifier: Apache-2.0
// Probes that are not there: every level without stamps. Thread: any.
#ifndef SGPRS_RUNTIME_KERNEL_NO_PROBES_H_
#define SGPRS_RUNTIME_KERNEL_NO_PROBES_H_

#include <string>
#include <utility>

#include "runtime/kernel/probes.h"

namespace sgprs::kernel {

class NoProbes : public Probes {
 public:
  NoProbes(ProbeLevel level, std::string why) : level_(level), why_(std::move(why)) {}
  ProbeLevel level() const override { return level_; }
  const std::string& why() const override { return why_; }
  Status Register(int, uint64_t) override {
    return Status(ErrorCode::kUnavailable, "no kernel probes: " + why_);
  }
  void Unregister(int) override {}
  int ring_fd() const override { return -1; }
  size_t Drain(const std::function<void(const SgprsWakeRecord&)>&, size_t) override { return 0; }
  ProbeCounts Counts() const override { return {}; }
  uint64_t RunTimeNs() const override { return 0; }

 private:
  const ProbeLevel level_;
  const std::string why_;
};

}  // namespace sgprs::kernel

#endif  // SGPRS_RUNTIME_KERNEL_NO_PROBES_H_
