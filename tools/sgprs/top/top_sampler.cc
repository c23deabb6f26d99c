// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/top/top_sampler.h"

#include <algorithm>

#include "runtime/base/clock.h"

namespace sgprs::cli {
namespace {

constexpr size_t kMostSnapshots = 128;

using Buckets = std::array<uint64_t, SGPRS_HISTOGRAM_BUCKETS>;

// What grew between two rows. A counter that went back (another task's row) counts from 0.
Buckets Grown(const SgprsTaskRow& now, const SgprsTaskRow* before) {
  Buckets grown = {};
  for (size_t i = 0; i < grown.size(); ++i) {
    const uint32_t old = before != nullptr ? before->response_histogram[i] : 0;
    const uint32_t value = now.response_histogram[i];
    grown[i] = value > old ? value - old : 0;
  }
  return grown;
}

}  // namespace

std::optional<uint64_t> HistogramQuantileNs(const Buckets& buckets, double p) {
  uint64_t total = 0;
  for (const uint64_t count : buckets) total += count;
  if (total == 0) return std::nullopt;
  const double wanted = std::clamp(p, 0.0, 1.0) * static_cast<double>(total);
  double seen = 0;
  for (size_t i = 0; i < buckets.size(); ++i) {
    const auto count = static_cast<double>(buckets[i]);
    if (count == 0 || seen + count < wanted) {
      seen += count;
      continue;
    }
    const double from_us = i == 0 ? 0 : static_cast<double>(uint64_t{1} << i);
    const double to_us = static_cast<double>(uint64_t{1} << (i + 1));
    const double us = from_us + (to_us - from_us) * (wanted - seen) / count;
    return static_cast<uint64_t>(us * static_cast<double>(kNsPerUs));
  }
  return (uint64_t{1} << buckets.size()) * kNsPerUs;
}

void TopSampler::Add(StateSnapshot snapshot) {
  const uint64_t now_ns = snapshot.read_ns;
  snapshots_.push_back(std::move(snapshot));
  // One that is a whole window old stays, so that the window is never shorter than it should be.
  while (snapshots_.size() > 2 &&
         (snapshots_[1].read_ns + window_ns_ <= now_ns || snapshots_.size() > kMostSnapshots)) {
    snapshots_.pop_front();
  }
}

const SgprsTaskRow* TopSampler::OldRow(uint64_t client_id, uint64_t* read_ns) const {
  for (size_t i = 0; i + 1 < snapshots_.size(); ++i) {
    for (const SgprsTaskRow& row : snapshots_[i].tasks) {
      if (row.client_id != client_id) continue;
      *read_ns = snapshots_[i].read_ns;
      return &row;
    }
  }
  return nullptr;
}

TopSample TopSampler::Sample(const JobSamples* jobs) const {
  const StateSnapshot& now = snapshots_.back();
  const StateSnapshot& then = snapshots_.front();
  TopSample sample = {
      .header = now.header, .read_ns = now.read_ns, .window_ns = now.read_ns - then.read_ns};
  SgprsTaskCounters due = {};
  for (const SgprsTaskRow& row : now.tasks) {
    TopTask task = {.row = row};
    uint64_t since_ns = now.read_ns;
    const SgprsTaskRow* old = OldRow(row.client_id, &since_ns);
    if (old != nullptr) {
      task.window_ns = now.read_ns - since_ns;
      task.window = Difference(row.counters, old->counters);
      task.rates = RatesOf(task.window, task.window_ns);
      const Buckets grown = Grown(row, old);
      task.response_p50_ns = HistogramQuantileNs(grown, 0.5);
      task.response_p99_ns = HistogramQuantileNs(grown, 0.99);
    }
    if (jobs != nullptr) jobs->Fill(now.read_ns - std::min(now.read_ns, window_ns_), &task);
    if (row.state != SGPRS_TASK_GONE) {
      sample.total.completed_fps += task.rates.completed_fps;
      sample.total.on_time_fps += task.rates.on_time_fps;
      if (row.deadline_ns != 0) sgprs::cli::Add(task.window, &due);
    }
    sample.tasks.push_back(task);
  }
  sample.total.miss_percent = RatesOf(due, 1).miss_percent;
  for (const SgprsPartitionRow& row : now.partitions) {
    TopPartition partition = {.row = row};
    for (const SgprsPartitionRow& old : then.partitions) {
      if (old.index != row.index || sample.window_ns == 0) continue;
      const auto ns = static_cast<double>(sample.window_ns);
      const uint64_t busy = row.busy_ns > old.busy_ns ? row.busy_ns - old.busy_ns : 0;
      const uint64_t stages = row.stages_completed > old.stages_completed
                                  ? row.stages_completed - old.stages_completed
                                  : 0;
      partition.busy_percent = std::min(100.0, 100.0 * static_cast<double>(busy) / ns);
      partition.stages_per_second =
          static_cast<double>(stages) * static_cast<double>(kNsPerSecond) / ns;
    }
    sample.partitions.push_back(partition);
  }
  return sample;
}

}  // namespace sgprs::cli
