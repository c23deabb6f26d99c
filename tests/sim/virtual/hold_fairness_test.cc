// SPDX-License-Identifier: Apache-2.0
// `hold` beside a high class that takes most of the device: whatever the phases, low tasks share
// what is left equally, nobody high pays for it, and the price in frames is bounded.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <vector>

#include "runtime/model/virtual_run.h"

namespace sgprs::model {
namespace {

struct Mix {
  uint32_t high;
  uint32_t low;
  friend void PrintTo(const Mix& mix, std::ostream* out) {
    *out << mix.high << " high, " << mix.low << " low";
  }
};

TaskGroup Tasks(uint32_t count, SgprsTaskClass task_class) {
  TaskGroup group;
  group.count = count;
  group.task.task_class = task_class;
  group.task.network = "resnet18-upstream";
  group.task.jitter_ns = 500'000;
  group.task.cost_noise = 0.1;
  return group;
}

SimResult RunMix(const Mix& mix, uint64_t seed) {
  Scenario s;
  s.seed = seed;
  s.overload = Overload::kHold;
  s.warmup_ns = 2'000'000'000;
  s.horizon_ns = 6'000'000'000;
  s.groups = {Tasks(mix.high, SGPRS_CLASS_HIGH), Tasks(mix.low, SGPRS_CLASS_LOW)};
  Result<SimResult> run = model::Run(s);
  EXPECT_TRUE(run.ok()) << run.status().text();
  return run.ok() ? std::move(run).value() : SimResult();
}

struct Spread {
  double least = 1e9;
  double sum = 0;
  uint32_t tasks = 0;
  uint64_t gap_ns = 0;
  uint32_t worst = 10;  // of (m,k)
  double mean() const { return sum / tasks; }
};

Spread LowTasks(const SimResult& run) {
  Spread spread;
  for (const TaskResult& task : run.tasks) {
    if (task.task_class != SGPRS_CLASS_LOW) continue;
    const auto on_time = static_cast<double>(task.on_time);
    spread.least = std::min(spread.least, on_time);
    spread.sum += on_time;
    ++spread.tasks;
    spread.gap_ns = std::max(spread.gap_ns, task.longest_gap_ns);
    spread.worst = std::min(spread.worst, task.mk_worst);
  }
  return spread;
}

class HoldFairnessTest : public ::testing::TestWithParam<Mix> {};

TEST_P(HoldFairnessTest, NoPhaseIsBad) {
  constexpr double kRoomFps = 854;  // on time, of any number of equal tasks
  constexpr uint64_t kSeeds = 10;
  double on_time_fps = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const SimResult run = RunMix(GetParam(), seed);
    on_time_fps += run.on_time_fps / kSeeds;
    EXPECT_EQ(run.high_misses, 0u);
    EXPECT_GE(run.on_time_fps, 0.95 * kRoomFps);
    const Spread low = LowTasks(run);
    EXPECT_GE(low.least, 0.85 * low.mean()) << "a low task is served less than the others";
    // Every mix leaves them at least two frames of ten on average.
    EXPECT_GE(low.worst, 1u) << "a low task is without a frame in ten";
    // What lies between two frames of an equal share, and some.
    EXPECT_LE(static_cast<double>(low.gap_ns), 2.5 * 6e9 / low.mean() + 2 * 33e6);
  }
  EXPECT_GE(on_time_fps, 0.97 * kRoomFps);
}

INSTANTIATE_TEST_SUITE_P(Mixes, HoldFairnessTest,
                         ::testing::Values(Mix{20, 10}, Mix{15, 15}, Mix{20, 40}, Mix{10, 50}),
                         [](const auto& info) {
                           return std::to_string(info.param.high) + "And" +
                                  std::to_string(info.param.low);
                         });

}  // namespace
}  // namespace sgprs::model
