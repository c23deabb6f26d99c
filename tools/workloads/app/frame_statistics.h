// SPDX-License-Identifier: Apache-2.0
// What a periodic program did: frames released, completed, on time; their latencies.
#ifndef SGPRS_TOOLS_WORKLOADS_APP_FRAME_STATISTICS_H_
#define SGPRS_TOOLS_WORKLOADS_APP_FRAME_STATISTICS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace workloads {

// Latency = completion - release, ns.
class FrameStatistics {
 public:
  // A frame is on time if its latency is at most `deadline_ns`; 0: every frame is.
  explicit FrameStatistics(uint64_t deadline_ns) : deadline_ns_(deadline_ns) {}

  void Add(uint64_t latency_ns) {
    latencies_.push_back(latency_ns);
    if (deadline_ns_ == 0 || latency_ns <= deadline_ns_) ++on_time_;
  }

  uint64_t completed() const { return latencies_.size(); }
  uint64_t on_time() const { return on_time_; }
  // Nearest rank: the least latency that at least `percent` of the frames do not exceed. 100 = the
  // largest, 0 = the smallest; 0 without frames.
  uint64_t Percentile(double percent) const {
    if (latencies_.empty()) return 0;
    std::vector<uint64_t> sorted = latencies_;
    std::sort(sorted.begin(), sorted.end());
    const double rank = std::ceil(percent / 100 * static_cast<double>(sorted.size()));
    const auto index = static_cast<size_t>(std::max(rank, 1.0)) - 1;
    return sorted[std::min(index, sorted.size() - 1)];
  }
  double MeanNs() const {
    double sum = 0;
    for (const uint64_t latency : latencies_) sum += static_cast<double>(latency);
    return latencies_.empty() ? 0 : sum / static_cast<double>(latencies_.size());
  }

 private:
  uint64_t deadline_ns_;
  uint64_t on_time_ = 0;
  std::vector<uint64_t> latencies_;
};

}  // namespace workloads

#endif  // SGPRS_TOOLS_WORKLOADS_APP_FRAME_STATISTICS_H_
