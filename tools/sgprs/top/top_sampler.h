// SPDX-License-Identifier: Apache-2.0
// Snapshots of the state segment over a sliding window, and what they say of it: rates, busy
// partitions, quantiles of response times. Pure; one thread at a time.
#ifndef SGPRS_TOOLS_SGPRS_TOP_TOP_SAMPLER_H_
#define SGPRS_TOOLS_SGPRS_TOP_TOP_SAMPLER_H_

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "tools/sgprs/state_reader.h"
#include "tools/sgprs/task_rates.h"
#include "tools/sgprs/top/job_samples.h"

namespace sgprs::cli {

struct TopTask {
  SgprsTaskRow row = {};
  uint64_t window_ns = 0;         // over which the rates are; 0 = nothing to compare with yet
  SgprsTaskCounters window = {};  // what its counters grew by
  TaskRates rates;
  // In the window; nullopt: no job completed in it. From the job log if there is one (exact), else
  // from the row's histogram, linear within a power of two of microseconds.
  std::optional<uint64_t> response_p50_ns;
  std::optional<uint64_t> response_p99_ns;
  // How late the first launch came after the release. Only with a job log.
  std::optional<uint64_t> jitter_p50_ns;
  std::optional<uint64_t> jitter_p99_ns;
};

struct TopPartition {
  SgprsPartitionRow row = {};
  double busy_percent = 0;  // of the window, with at least one stage granted
  double stages_per_second = 0;
};

// What one picture shows.
struct TopSample {
  SgprsStateHeader header = {};
  uint64_t read_ns = 0;
  uint64_t window_ns = 0;
  std::vector<TopTask> tasks;  // in the segment's order, gone ones too
  std::vector<TopPartition> partitions;
  TaskRates total;  // of the living tasks
};

class TopSampler {
 public:
  explicit TopSampler(uint64_t window_ns) : window_ns_(window_ns) {}

  // Snapshots come in the order of time.
  void Add(StateSnapshot snapshot);
  // Another daemon, or a pause: what was before compares no more.
  void Clear() { snapshots_.clear(); }
  bool empty() const { return snapshots_.empty(); }
  uint64_t window_ns() const { return window_ns_; }
  // The latest of them; must not be empty. `jobs`: null without a job log.
  TopSample Sample(const JobSamples* jobs) const;
  const StateSnapshot& latest() const { return snapshots_.back(); }
  const StateSnapshot& oldest() const { return snapshots_.front(); }

 private:
  // The row of this client in the oldest snapshot that has it; nullptr: in the latest only.
  const SgprsTaskRow* OldRow(uint64_t client_id, uint64_t* read_ns) const;

  const uint64_t window_ns_;
  std::deque<StateSnapshot> snapshots_;
};

// The p-quantile of a histogram of log2 microseconds (SgprsTaskRow); nullopt if it is empty.
std::optional<uint64_t> HistogramQuantileNs(
    const std::array<uint64_t, SGPRS_HISTOGRAM_BUCKETS>& buckets, double p);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_TOP_TOP_SAMPLER_H_
