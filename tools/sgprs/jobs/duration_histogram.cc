// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/jobs/duration_histogram.h"

#include <cmath>

namespace sgprs::cli {

size_t DurationHistogram::BucketOf(uint64_t ns) {
  if (ns < kLinear) return ns;
  const auto shift = static_cast<uint32_t>(std::bit_width(ns)) - kBits - 1;
  // The top kBits + 1 bits, whose first is 1, and how far they were shifted.
  return (uint64_t{shift} << kBits) + (ns >> shift);
}

uint64_t DurationHistogram::MiddleOf(size_t bucket) {
  if (bucket < kLinear) return bucket;
  const uint64_t shift = (bucket >> kBits) - 1;
  const uint64_t low = (bucket - (shift << kBits)) << shift;
  return low + (uint64_t{1} << shift) / 2;
}

void DurationHistogram::Add(uint64_t ns) {
  const size_t bucket = BucketOf(ns);
  if (bucket >= buckets_.size()) buckets_.resize(bucket + 1, 0);
  ++buckets_[bucket];
  ++count_;
  least_ns_ = std::min(least_ns_, ns);
  most_ns_ = std::max(most_ns_, ns);
}

uint64_t DurationHistogram::QuantileNs(double p) const {
  if (count_ == 0) return 0;
  const double wanted = std::ceil(std::clamp(p, 0.0, 1.0) * static_cast<double>(count_));
  const auto rank = std::max<uint64_t>(1, static_cast<uint64_t>(wanted));
  uint64_t seen = 0;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    seen += buckets_[i];
    if (seen >= rank) return std::clamp(MiddleOf(i), least_ns_, most_ns_);
  }
  return most_ns_;
}

uint64_t DurationHistogram::CountBetween(uint64_t from_ns, uint64_t to_ns) const {
  uint64_t count = 0;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    const uint64_t middle = MiddleOf(i);
    if (middle >= from_ns && middle < to_ns) count += buckets_[i];
  }
  return count;
}

}  // namespace sgprs::cli
