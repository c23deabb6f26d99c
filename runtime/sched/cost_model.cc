// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/cost_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>

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
  Add(stage, sizes_->of_partition(partition), ns);
}

void CostModel::Seed(size_t stage, uint32_t sm_count, uint64_t ns) {
  size_t nearest = 0;
  const auto distance = [&](size_t c) {
    const uint32_t size = sizes_->sm_count(c);
    return size > sm_count ? size - sm_count : sm_count - size;
  };
  for (size_t c = 1; c < sizes_->count(); ++c) {
    if (distance(c) <= distance(nearest)) nearest = c;
  }
  const double scale = RelativeTime(sizes_->sm_count(nearest)) / RelativeTime(sm_count);
  Add(stage, nearest, static_cast<uint64_t>(std::llround(static_cast<double>(ns) * scale)));
}

void CostModel::Add(size_t stage, size_t size_class, uint64_t ns) {
  Row& row = rows_[stage];
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

uint64_t CostModel::CostOfClass(size_t stage, size_t size_class) const {
  for (uint32_t p = 0; p < sizes_->partitions(); ++p) {
    if (sizes_->of_partition(p) == size_class) return rows_[stage].cost_ns[p];
  }
  return kUnknownCostNs;
}

uint64_t CostModel::LargestCost(size_t stage) const {
  return rows_[stage].cost_ns[sizes_->largest_partition()];
}

uint64_t CostModel::TotalLargestCost() const {
  uint64_t total = 0;
  for (size_t i = 0; i < rows_.size(); ++i) total += LargestCost(i);
  return total;
}

uint64_t CostModel::Measurement(const std::vector<uint64_t>& samples) const {
  if (!mean_) return *std::max_element(samples.begin(), samples.end());
  return std::accumulate(samples.begin(), samples.end(), uint64_t{0}) / samples.size();
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
    const uint64_t measured = Measurement(row->samples[nearest]);
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
