// SPDX-License-Identifier: Apache-2.0
// The papers' experiments run in the model, beside what was published. Nothing published enters a
// run (README.md, "Calibration").
//
// RunPaper() and RunMany() use up to `threads` threads of their own and block until they are done;
// the result does not depend on their number.
#ifndef SGPRS_RUNTIME_MODEL_PAPER_H_
#define SGPRS_RUNTIME_MODEL_PAPER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/model/paper_data.h"
#include "runtime/model/scenario.h"
#include "runtime/model/sim_result.h"
#include "runtime/model/virtual_run.h"

namespace sgprs::model {

// All scenarios, in their order. The first error ends it.
Result<std::vector<SimResult>> RunMany(const std::vector<Scenario>& scenarios,
                                       const RunOptions& options, uint32_t threads);

struct PaperOptions {
  uint32_t seeds = 5;
  std::vector<uint32_t> n;  // empty = PaperN()
  uint64_t horizon_ns = 3'000'000'000;
  std::string network = "resnet18-upstream";
  uint32_t threads = 1;
};

// 15 .. 34 one by one, then 36, 40, 45, 50, 60.
std::vector<uint32_t> PaperN();

// Over the seeds.
struct Spread {
  double mean = 0;
  double least = 0;
  double most = 0;
};

struct PaperPoint {
  uint32_t n = 0;
  Spread completed_fps;
  Spread on_time_fps;
  Spread miss_percent;
  double published_fps = -1;  // -1: not published
  double published_miss_percent = -1;
};

// A policy in a pool.
struct PaperSeries {
  std::string policy;
  uint32_t partitions = 0;
  double oversubscription = 0;  // 0: full-size partitions
  bool standstill = false;      // with one (README.md, "Standstill"), else from rest
  std::vector<PaperPoint> points;
  // Largest N up to which less than 0.5 % of the frames miss, as the published tables round.
  Spread pivot;
  uint32_t published_pivot = 0;
  double peak_fps = 0;  // best mean of any N
  double fps_at_30 = 0;
  double published_peak_fps = 0;
  double published_fps_at_30 = 0;
  double fall_percent = 0;            // from the peak to N = 60 (or the largest N run)
  double published_fall_percent = 0;  // from the peak to N = 30
  LossTable loss;                     // at the pivot, first seed
};

struct PaperReport {
  std::vector<PaperSeries> series;  // naive, then sgprs; from rest, then after a standstill
};
Result<PaperReport> RunPaper(const PaperOptions& options);

// What one change to the policy costs or gains; first the whole policy.
struct AblationRow {
  std::string what;
  std::string options;  // as policy options
  double completed_fps = 0;
  double on_time_fps = 0;
  double high_miss_percent = 0;  // of class high, where there is one
  double low_miss_percent = 0;
  double low_late_percent = 0;  // of the completed only: what DARIS publishes as misses
  uint64_t high_p99_ns = 0;     // response times: p99 of the worst task, the longest of all
  uint64_t high_max_ns = 0;
  uint64_t low_p99_ns = 0;
  uint64_t switches_per_second = 0;
  // As published (DARIS), else -1.
  double published_fps = -1;
  double published_high_miss_percent = -1;  // the larger end of the range
  double published_low_late_percent = -1;
};

// sgprs, 3 partitions, 1.5x, 12-block ResNet18: levels, staging, switching, over-subscription; at
// N tasks, a third of them high class.
Result<std::vector<AblationRow>> RunAblation(uint32_t n, uint32_t seeds, uint32_t threads);

// daris on its ResNet18 task set: 6 partitions of one stage, over-subscribed 1, 1.5, 2, 6; then
// its ablation at 6.
Result<std::vector<AblationRow>> RunDaris(uint32_t seeds, uint32_t threads);

}  // namespace sgprs::model

#endif  // SGPRS_RUNTIME_MODEL_PAPER_H_
