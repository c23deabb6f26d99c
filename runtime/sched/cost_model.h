// SPDX-License-Identifier: Apache-2.0
// What a stage costs in a partition: the maximum of the last W measurements per stage and partition
// size (papers.md 1.3, 2.2), or their mean, and an estimate where nothing was measured yet.
//
// Estimate: scaled from the nearest measured size by T(n) ~ 1 - f + f / n with f = 0.97, which fits
// the network curve of papers.md 1.8 within 5 % from 8 to 68 SMs. Then the monotone clamp of
// papers.md 1.3: a larger partition is never slower than a smaller one. Never measured at all: a
// default of 1 ms.
#ifndef SGPRS_RUNTIME_SCHED_COST_MODEL_H_
#define SGPRS_RUNTIME_SCHED_COST_MODEL_H_

#include <cstdint>
#include <span>
#include <vector>

namespace sgprs::sched {

inline constexpr uint64_t kUnknownCostNs = 1'000'000;

// Partitions grouped by their number of SMs. Made once per pool; outlives the models.
class SizeClasses {
 public:
  explicit SizeClasses(std::span<const uint32_t> sm_counts);

  size_t count() const { return sizes_.size(); }
  size_t partitions() const { return class_of_.size(); }
  uint32_t sm_count(size_t size_class) const { return sizes_[size_class]; }  // ascending
  size_t of_partition(uint32_t partition) const { return class_of_[partition]; }
  // A partition of the largest size.
  uint32_t largest_partition() const { return largest_; }

 private:
  std::vector<uint32_t> sizes_;
  std::vector<size_t> class_of_;
  uint32_t largest_ = 0;
};

class CostModel {
 public:
  // `mean`: a cost is the mean of its measurements instead of their maximum (papers.md 1.10).
  CostModel(const SizeClasses* sizes, uint32_t window, bool mean = false)
      : sizes_(sizes), window_(window), mean_(mean) {}

  // Forgets everything and starts with `stages` stages.
  void Reset(size_t stages);
  void Record(size_t stage, uint32_t partition, uint64_t ns);
  // As if it had been measured, in a partition of so many SMs; of a size that the pool has not, it
  // counts for the nearest one, scaled.
  void Seed(size_t stage, uint32_t sm_count, uint64_t ns);

  size_t stages() const { return rows_.size(); }
  bool Measured(size_t stage, size_t size_class) const;
  // What was measured there, not clamped; only if it was.
  uint64_t MeasuredCost(size_t stage, size_t size_class) const {
    return Measurement(rows_[stage].samples[size_class]);
  }
  // One entry a partition; valid until the next Reset() or Record().
  std::span<const uint64_t> Costs(size_t stage) const { return rows_[stage].cost_ns; }
  uint64_t CostOfClass(size_t stage, size_t size_class) const;
  // In the largest partition.
  uint64_t LargestCost(size_t stage) const;
  uint64_t TotalLargestCost() const;

 private:
  struct Row {
    std::vector<std::vector<uint64_t>> samples;  // per size class, the last W, oldest replaced
    std::vector<uint32_t> next;                  // per size class, where the next sample goes
    std::vector<uint64_t> cost_ns;               // per partition
  };
  void Add(size_t stage, size_t size_class, uint64_t ns);
  void Estimate(Row* row) const;
  uint64_t Measurement(const std::vector<uint64_t>& samples) const;

  const SizeClasses* sizes_;
  const uint32_t window_;
  const bool mean_;
  std::vector<Row> rows_;
};

}  // namespace sgprs::sched

#endif  // SGPRS_RUNTIME_SCHED_COST_MODEL_H_
