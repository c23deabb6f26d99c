// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/cost_model.h"

#include <algorithm>
#include <cmath>

namespace sgprs::sched {
namespace {

constexpr double kParallelFraction = 0.97;

double RelativeTime(uint32_t sm_count) {
  return 1.0 - kParallelFraction + kParallelFraction / std::max(1u, sm_count);
}

}  // namespace

SizeClasses::SizeClasses(std::span<const uint32_t> sm_counts)
    : sizes_(sm_counts.begin(), sm_counts.end()) {
  std::sort(sizes_.begin(), sizes_.end());
  sizes_.erase(std::unique(sizes_.begin(), sizes_.end()), sizes_.end());
  for (uint32_t i = 0; i < sm_counts.size(); ++i) {
    const auto at = std::lower_bound(sizes_.begin(), sizes_.end(), sm_counts[i]);
    class_of_.push_back(static_cast<size_t>(at - sizes_.begin()));
    if (sm_counts[i] > sm_counts[largest_]) largest_ = i;
  }
}

void CostModel::Reset(size_t stages) {
  Row row;
  row.samples.resize(sizes_->count());
  row.next.assign(sizes_->count(), 0);
  row.cost_ns.assign(sizes_->partitions(), kUnknownCostNs);
  rows_.assign(stages, row);
}

void CostModel::Record(size_t stage, uint32_t partition, uint64_t ns) {
  Row& row = rows_[stage];
  const size_t size_class = sizes_->of_partition(partition);
  std::vector<uint64_t>& samples = row.samples[size_class];
  if (samples.size() < window_) {
    samples.push_back(ns);
  } else {
    samples[row.next[size_class]] = ns;
    row.next[size_class] = (row.next[size_class] + 1) % window_;
  }
  Estimate(&row);
}

bool CostModel::Measured(size_t stage, size_t size_class) const {
  return !rows_[stage].samples[size_class].empty();
}

uint64_t CostModel::LargestCost(size_t stage) const {
  return rows_[stage].cost_ns[sizes_->largest_partition()];
}

uint64_t CostModel::TotalLargestCost() const {
  uint64_t total = 0;
  for (size_t i = 0; i < rows_.size(); ++i) total += LargestCost(i);
  return total;
}

void CostModel::Estimate(Row* row) const {
  const size_t count = sizes_->count();
  std::vector<uint64_t> cost(count, 0);
  for (size_t c = 0; c < count; ++c) {
    // The nearest measured size; of two equally near ones the larger.
    size_t nearest = count;
    for (size_t m = 0; m < count; ++m) {
      if (row->samples[m].empty()) continue;
      const auto distance = [&](size_t x) { return x > c ? x - c : c - x; };
      if (nearest == count || distance(m) <= distance(nearest)) nearest = m;
    }
    if (nearest == count) return;
    const uint64_t measured =
        *std::max_element(row->samples[nearest].begin(), row->samples[nearest].end());
    const double scale =
        RelativeTime(sizes_->sm_count(c)) / RelativeTime(sizes_->sm_count(nearest));
    cost[c] = nearest == c
                  ? measured
                  : static_cast<uint64_t>(std::llround(static_cast<double>(measured) * scale));
    if (c > 0) cost[c] = std::min(cost[c], cost[c - 1]);
  }
  for (uint32_t p = 0; p < row->cost_ns.size(); ++p)
    row->cost_ns[p] = cost[sizes_->of_partition(p)];
}

}  // namespace sgprs::sched
