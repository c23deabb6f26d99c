// SPDX-License-Identifier: Apache-2.0
// Durations in fixed memory: quantiles within 1/64 of the value, at every size from ns to hours.
// Log-linear: 64 equal buckets per power of two. Pure; one thread at a time.
#ifndef SGPRS_TOOLS_SGPRS_JOBS_DURATION_HISTOGRAM_H_
#define SGPRS_TOOLS_SGPRS_JOBS_DURATION_HISTOGRAM_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sgprs::cli {

class DurationHistogram {
 public:
  void Add(uint64_t ns);
  uint64_t count() const { return count_; }
  uint64_t least_ns() const { return count_ != 0 ? least_ns_ : 0; }
  uint64_t most_ns() const { return most_ns_; }
  // The p-quantile, 0 <= p <= 1: the middle of the bucket it falls into, but never outside what was
  // seen; 0 if empty.
  uint64_t QuantileNs(double p) const;
  uint64_t MedianNs() const { return QuantileNs(0.5); }
  // How many of them lie in [from_ns, to_ns); a bucket that is cut counts where its middle is.
  uint64_t CountBetween(uint64_t from_ns, uint64_t to_ns) const;

 private:
  static constexpr uint32_t kBits = 6;
  static constexpr uint64_t kLinear = uint64_t{1} << (kBits + 1);  // below: a bucket each
  static size_t BucketOf(uint64_t ns);
  static uint64_t MiddleOf(size_t bucket);

  uint64_t count_ = 0;
  uint64_t least_ns_ = UINT64_MAX;
  uint64_t most_ns_ = 0;
  std::vector<uint32_t> buckets_;  // grows to the largest one seen, 16 KiB at most
};

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_JOBS_DURATION_HISTOGRAM_H_
