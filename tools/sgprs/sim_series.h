// SPDX-License-Identifier: Apache-2.0
// Results of many virtual runs put in order: runs that differ by their seed only are a point,
// points that differ by the number of tasks only are a series. Tables, JSON, CSV and pictures come
// from here. Pure.
#ifndef SGPRS_TOOLS_SGPRS_SIM_SERIES_H_
#define SGPRS_TOOLS_SGPRS_SIM_SERIES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/model/sim_result.h"

namespace sgprs::cli {

// Of one number over the seeds.
struct Spread {
  double mean = 0;
  double least = 0;
  double most = 0;
};

struct SimPoint {
  uint32_t n = 0;
  std::vector<model::SimResult> runs;  // by seed, at least one

  Spread completed_fps() const;
  Spread on_time_fps() const;
  Spread miss_percent() const;
  Spread skipped_percent() const;  // of the frames due: no job ran for them
  Spread switches_per_second() const;
};

struct SeriesKey {
  std::string policy;
  std::vector<std::pair<std::string, std::string>> policy_options;
  std::string overload;
  std::string admission;
  std::vector<uint32_t> sm_counts;  // of the partitions
  double oversubscription = 0;      // their sum over the device
  uint64_t standstill_ns = 0;       // for which the run stood still before it was counted

  size_t partitions() const { return sm_counts.size(); }
  friend bool operator==(const SeriesKey&, const SeriesKey&) = default;
};

struct SimSeries {
  SeriesKey key;
  std::vector<SimPoint> points;  // by ascending n
};

// In the order of the first run of each.
std::vector<SimSeries> MakeSeries(std::vector<model::SimResult> results);

// "sgprs", "sgprs, hold", "sgprs (high_stages 0), hold", "naive, after a standstill".
std::string SeriesName(const SeriesKey& key);
// "3 x 34 SMs", "16+52 SMs".
std::string PoolName(const std::vector<uint32_t>& sm_counts);
// Whether the policy itself wants every partition to be the whole device (the paper's baseline).
bool IsBaseline(const SeriesKey& key);

// The published figures show whole percents, so a miss rate below this counts as none.
inline constexpr double kNoMissPercent = 0.5;

// What a series comes to.
struct SeriesSummary {
  // Largest n without a miss such that no smaller one has any (papers.md 1.9); none: all miss.
  std::optional<uint32_t> pivot;
  double peak_completed_fps = 0;
  uint32_t peak_n = 0;
  double best_on_time_fps = 0;
  uint32_t best_on_time_n = 0;
  uint32_t last_n = 0;
  double last_completed_fps = 0;
  double last_on_time_fps = 0;
  double last_miss_percent = 0;
};
SeriesSummary Summarise(const SimSeries& series);
const SimPoint* FindPoint(const SimSeries& series, uint32_t n);  // nullptr: none

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_SIM_SERIES_H_
