// SPDX-License-Identifier: Apache-2.0
// A job record as durations: which phase took how long, and histograms of that. Pure.
#ifndef SGPRS_RUNTIME_OBSERVE_JOB_PHASES_H_
#define SGPRS_RUNTIME_OBSERVE_JOB_PHASES_H_

#include <array>
#include <cstdint>
#include <optional>

#include "sgprs/abi/job_log.h"
#include "sgprs/abi/state.h"

namespace sgprs::observe {

enum class JobPhase : uint32_t {
#define SGPRS_PHASE(name, from, to, stamps, help) k_##name,
#include "runtime/observe/job_phases.inc"
#undef SGPRS_PHASE
};

struct JobPhaseInfo {
  JobPhase phase;
  const char* name;
  bool needs_stamps;
  const char* help;
};

inline constexpr std::array kJobPhases = {
#define SGPRS_PHASE(name, from, to, stamps, help) \
  JobPhaseInfo{JobPhase::k_##name, #name, stamps != 0, help},
#include "runtime/observe/job_phases.inc"
#undef SGPRS_PHASE
};

// nullopt: one of its two moments was not seen, or they are out of order.
std::optional<uint64_t> PhaseNs(const SgprsLogJob& job, JobPhase phase);

// Bucket i counts [2^i, 2^(i+1)) us, bucket 0 from 0 on, the last one everything beyond.
class PhaseHistogram {
 public:
  static constexpr uint32_t kBuckets = SGPRS_HISTOGRAM_BUCKETS;

  void Add(uint64_t ns);
  uint64_t count() const { return count_; }
  uint64_t sum_ns() const { return sum_ns_; }
  uint64_t bucket(uint32_t i) const { return buckets_[i]; }
  // First value beyond bucket i; UINT64_MAX for the last one.
  static uint64_t UpperNs(uint32_t i);
  // The p-quantile, 0 <= p <= 1, linear within its bucket; 0 if empty.
  uint64_t QuantileNs(double p) const;

 private:
  uint64_t count_ = 0;
  uint64_t sum_ns_ = 0;
  std::array<uint64_t, kBuckets> buckets_ = {};
};

// One task's phases.
class PhaseHistograms {
 public:
  void Add(const SgprsLogJob& job);
  const PhaseHistogram& of(JobPhase phase) const { return histograms_[static_cast<size_t>(phase)]; }

 private:
  std::array<PhaseHistogram, kJobPhases.size()> histograms_;
};

}  // namespace sgprs::observe

#endif  // SGPRS_RUNTIME_OBSERVE_JOB_PHASES_H_
