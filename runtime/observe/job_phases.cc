// SPDX-License-Identifier: Apache-2.0
#include "runtime/observe/job_phases.h"

#include <algorithm>
#include <bit>

#include "runtime/base/clock.h"

namespace sgprs::observe {

std::optional<uint64_t> PhaseNs(const SgprsLogJob& job, JobPhase phase) {
  uint64_t from = 0;
  uint64_t to = 0;
  switch (phase) {
#define SGPRS_PHASE(name, from_field, to_field, stamps, help) \
  case JobPhase::k_##name:                                    \
    from = job.from_field;                                    \
    to = job.to_field;                                        \
    break;
#include "runtime/observe/job_phases.inc"
#undef SGPRS_PHASE
  }
  if (from == 0 || to < from) return std::nullopt;
  return to - from;
}

void PhaseHistogram::Add(uint64_t ns) {
  const uint64_t us = ns / kNsPerUs;
  const auto bucket = us == 0 ? 0u : static_cast<uint32_t>(std::bit_width(us)) - 1;
  ++buckets_[std::min(bucket, kBuckets - 1)];
  ++count_;
  sum_ns_ += ns;
}

uint64_t PhaseHistogram::UpperNs(uint32_t i) {
  return i + 1 < kBuckets ? (uint64_t{2} << i) * kNsPerUs : UINT64_MAX;
}

uint64_t PhaseHistogram::QuantileNs(double p) const {
  if (count_ == 0) return 0;
  const double wanted = std::clamp(p, 0.0, 1.0) * static_cast<double>(count_);
  double below = 0;
  for (uint32_t i = 0; i < kBuckets; ++i) {
    const auto here = static_cast<double>(buckets_[i]);
    if (here == 0 || below + here < wanted) {
      below += here;
      continue;
    }
    const uint64_t low = i == 0 ? 0 : UpperNs(i - 1);
    const uint64_t high = i + 1 < kBuckets ? UpperNs(i) : 2 * low;
    return low + static_cast<uint64_t>((wanted - below) / here * static_cast<double>(high - low));
  }
  return UpperNs(kBuckets - 2);
}

void PhaseHistograms::Add(const SgprsLogJob& job) {
  for (const JobPhaseInfo& info : kJobPhases) {
    if (const std::optional<uint64_t> ns = PhaseNs(job, info.phase)) {
      histograms_[static_cast<size_t>(info.phase)].Add(*ns);
    }
  }
}

}  // namespace sgprs::observe
