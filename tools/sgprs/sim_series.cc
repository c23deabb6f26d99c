// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/sim_series.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/model/scenario.h"
#include "runtime/policy/policy.h"
#include "runtime/policy/policy_options.h"

namespace sgprs::cli {
namespace {

using model::SimResult;

template <typename Number>
Spread SpreadOf(const std::vector<SimResult>& runs, Number number) {
  Spread spread;
  for (const SimResult& run : runs) {
    const double value = number(run);
    if (&run == &runs.front()) spread.least = spread.most = value;
    spread.mean += value;
    spread.least = std::min(spread.least, value);
    spread.most = std::max(spread.most, value);
  }
  if (!runs.empty()) spread.mean /= static_cast<double>(runs.size());
  return spread;
}

SeriesKey KeyOf(const SimResult& result) {
  SeriesKey key;
  key.policy = result.policy;
  key.policy_options = result.policy_options;
  key.overload = result.overload;
  key.admission = result.admission;
  key.standstill_ns = result.standstill_ns;
  uint64_t sum = 0;
  for (const model::PartitionResult& partition : result.partitions) {
    key.sm_counts.push_back(partition.sm_count);
    sum += partition.sm_count;
  }
  key.oversubscription =
      static_cast<double>(sum) / static_cast<double>(std::max(1u, result.device_sm_count));
  return key;
}

}  // namespace

Spread SimPoint::completed_fps() const {
  return SpreadOf(runs, [](const SimResult& run) { return run.completed_fps; });
}

Spread SimPoint::on_time_fps() const {
  return SpreadOf(runs, [](const SimResult& run) { return run.on_time_fps; });
}

Spread SimPoint::miss_percent() const {
  return SpreadOf(runs, [](const SimResult& run) { return run.miss_percent; });
}

Spread SimPoint::skipped_percent() const {
  return SpreadOf(runs, [](const SimResult& run) {
    uint64_t skipped = 0;
    for (const model::TaskResult& task : run.tasks) skipped += task.skipped;
    return 100 * static_cast<double>(skipped) /
           static_cast<double>(std::max<uint64_t>(1, run.expected));
  });
}

Spread SimPoint::switches_per_second() const {
  return SpreadOf(runs, [](const SimResult& run) {
    return static_cast<double>(run.switches) * 1e9 /
           static_cast<double>(std::max<uint64_t>(1, run.warmup_ns + run.horizon_ns));
  });
}

std::vector<SimSeries> MakeSeries(std::vector<SimResult> results) {
  std::vector<SimSeries> all;
  for (SimResult& result : results) {
    const SeriesKey key = KeyOf(result);
    auto series = std::find_if(all.begin(), all.end(),
                               [&](const SimSeries& other) { return other.key == key; });
    if (series == all.end()) series = all.insert(all.end(), {key, {}});
    std::vector<SimPoint>& points = series->points;
    auto point = std::lower_bound(points.begin(), points.end(), result.n,
                                  [](const SimPoint& a, uint32_t n) { return a.n < n; });
    if (point == points.end() || point->n != result.n) {
      point = points.insert(point, {result.n, {}});
    }
    point->runs.push_back(std::move(result));
  }
  return all;
}

std::string SeriesName(const SeriesKey& key) {
  std::string name = key.policy;
  const Result<policy::PolicyOptions> options = policy::ParsePolicyOptions(key.policy_options);
  if (options.ok()) {
    const std::string described = policy::DescribePolicyOptions(*options);
    if (!described.empty()) name += " (" + described + ")";
  }
  if (key.overload != model::OverloadName(model::Overload::kLate)) {
    name += ", " + key.overload;
  }
  if (key.admission != model::AdmissionName(model::AdmissionMode::kOff)) {
    name += ", admission " + key.admission;
  }
  if (key.standstill_ns != 0) name += ", after a standstill";
  return name;
}

std::string PoolName(const std::vector<uint32_t>& sm_counts) {
  if (sm_counts.empty()) return "no partition";
  const bool equal = std::adjacent_find(sm_counts.begin(), sm_counts.end(),
                                        std::not_equal_to<>()) == sm_counts.end();
  if (equal) return fmt::format("{} x {} SMs", sm_counts.size(), sm_counts.front());
  return fmt::format("{} SMs", fmt::join(sm_counts, "+"));
}

bool IsBaseline(const SeriesKey& key) {
  const std::unique_ptr<policy::Policy> policy = policy::MakePolicy(key.policy);
  return policy != nullptr && policy->traits().pool == policy::PoolShape::kFullSize;
}

SeriesSummary Summarise(const SimSeries& series) {
  SeriesSummary summary;
  bool missed = false;
  for (const SimPoint& point : series.points) {
    const double completed = point.completed_fps().mean;
    const double on_time = point.on_time_fps().mean;
    missed |= point.miss_percent().mean >= kNoMissPercent;
    if (!missed) summary.pivot = point.n;
    if (completed > summary.peak_completed_fps) {
      summary.peak_completed_fps = completed;
      summary.peak_n = point.n;
    }
    if (on_time > summary.best_on_time_fps) {
      summary.best_on_time_fps = on_time;
      summary.best_on_time_n = point.n;
    }
    summary.last_n = point.n;
    summary.last_completed_fps = completed;
    summary.last_on_time_fps = on_time;
    summary.last_miss_percent = point.miss_percent().mean;
  }
  return summary;
}

const SimPoint* FindPoint(const SimSeries& series, uint32_t n) {
  for (const SimPoint& point : series.points) {
    if (point.n == n) return &point;
  }
  return nullptr;
}

}  // namespace sgprs::cli
