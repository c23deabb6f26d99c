// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/fluid_model.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace sgprs::model {
namespace {

class FluidModelTest : public ::testing::Test {
 protected:
  // Many even blocks: T(s) is smooth in s.
  KernelLaunch Kernel(uint64_t tag, double flops = 1e9) {
    KernelLaunch launch;
    launch.cost =
        costs_.Get({.blocks = 68 * 60 * 4, .threads = 256, .flops = flops, .dram_bytes = 1});
    launch.tag = tag;
    return launch;
  }
  std::map<uint64_t, KernelEnd> RunAll(FluidModel& model) {
    std::vector<KernelEnd> ends;
    while (model.NextEventNs() != kNeverNs) model.Advance(model.NextEventNs(), &ends);
    std::map<uint64_t, KernelEnd> by_tag;
    for (const KernelEnd& end : ends) by_tag[end.tag] = end;
    return by_tag;
  }
  double WorkNs(const KernelEnd& end) {
    return static_cast<double>(end.end_ns - end.start_ns) - device_.cost.latency_ns;
  }
  // Without contention, so that sharing alone is seen.
  DeviceDescription Quiet() {
    DeviceDescription device = *FindDevice("rtx2080ti");
    device.cost.contention = device.cost.dispatch_part = 0;
    return device;
  }
  DeviceDescription device_ = Quiet();
  CostTable costs_{device_};
};

TEST_F(FluidModelTest, AloneItTakesItsTime) {
  FluidModel model(device_);
  const KernelLaunch launch = Kernel(1);
  model.AddKernel(launch, 1000);
  const KernelEnd end = RunAll(model).at(1);
  EXPECT_EQ(end.start_ns, 1000u);
  EXPECT_NEAR(static_cast<double>(end.end_ns - end.start_ns), launch.cost->TimeNs(68), 2);
  EXPECT_NEAR(end.mean_sms, 68, 1e-6);
  EXPECT_EQ(model.running(), 0u);
}

TEST_F(FluidModelTest, PartitionsLimitInThreeWays) {
  KernelLaunch by_set = Kernel(1);
  by_set.sm_set = SmSet::Range(10, 34);
  KernelLaunch by_limit = Kernel(2);
  by_limit.sm_limit = 34;
  KernelLaunch by_context = Kernel(3);
  by_context.context_limit = 34;
  for (const KernelLaunch& launch : {by_set, by_limit, by_context}) {
    FluidModel model(device_);
    model.AddKernel(launch, 0);
    const KernelEnd end = RunAll(model).at(launch.tag);
    EXPECT_NEAR(static_cast<double>(end.end_ns), launch.cost->TimeNs(34), 2) << launch.tag;
    EXPECT_NEAR(end.mean_sms, 34, 1e-6);
  }
}

TEST_F(FluidModelTest, EqualsShareAndTheLastOneSpeedsUp) {
  FluidModel model(device_);
  model.AddKernel(Kernel(1, 1e9), 0);
  model.AddKernel(Kernel(2, 2e9), 0);
  const auto ends = RunAll(model);
  const double one = Kernel(0, 1e9).cost->TimeNs(68) - device_.cost.latency_ns;
  const double two = Kernel(0, 2e9).cost->TimeNs(68) - device_.cost.latency_ns;
  // Half of the device each until the first is done: at 2 * one; all work ends at one + two.
  EXPECT_NEAR(WorkNs(ends.at(1)) / (2 * one), 1, 0.02);
  EXPECT_NEAR(WorkNs(ends.at(2)) / (one + two), 1, 0.02);
}

TEST_F(FluidModelTest, UrgentKernelIsNotSlowedByTheOther) {
  FluidModel model(device_);
  model.AddKernel(Kernel(1, 5e9), 0);
  KernelLaunch urgent = Kernel(2, 1e8);
  urgent.priority = -5;
  model.AddKernel(urgent, 50'000);
  const auto ends = RunAll(model);
  EXPECT_NEAR(static_cast<double>(ends.at(2).end_ns - 50'000), urgent.cost->TimeNs(68), 2);
  EXPECT_NEAR(static_cast<double>(ends.at(1).end_ns),
              Kernel(1, 5e9).cost->TimeNs(68) + urgent.cost->TimeNs(68) - device_.cost.latency_ns,
              50);
}

TEST_F(FluidModelTest, BandwidthIsShared) {
  KernelLaunch launch;
  launch.cost = costs_.Get({.blocks = 100000, .threads = 256, .flops = 1, .dram_bytes = 1e9});
  FluidModel model(device_);
  for (uint64_t tag : {1, 2}) {
    launch.tag = tag;
    launch.sm_set = SmSet::Range(tag == 1 ? 0 : 34, 34);  // SMs are no bottleneck
    model.AddKernel(launch, 0);
  }
  const double alone = launch.cost->TimeNs(34) - device_.cost.latency_ns;
  EXPECT_NEAR(WorkNs(RunAll(model).at(2)) / alone, 2, 0.01);
}

TEST_F(FluidModelTest, OthersSlowEvenFromAnotherPartition) {
  const DeviceDescription device = *FindDevice("rtx2080ti");
  FluidModel model(device);
  KernelLaunch left = Kernel(1);
  left.sm_set = SmSet::Range(0, 34);
  KernelLaunch right = Kernel(2, 4e9);
  right.sm_set = SmSet::Range(34, 34);
  right.context = 1;
  model.AddKernel(left, 0);
  model.AddKernel(right, 0);
  const double alone = left.cost->TimeNs(34) - device.cost.latency_ns;
  EXPECT_NEAR(WorkNs(RunAll(model).at(1)) / alone, 1 + device.cost.contention / 2, 0.01);
}

TEST_F(FluidModelTest, RemovedKernelsVanish) {
  FluidModel model(device_);
  const uint32_t gone = model.AddKernel(Kernel(1, 1e12), 0);
  model.AddKernel(Kernel(2), 0);
  const uint32_t waiting = model.AddKernel(Kernel(3), 0);
  model.Remove(waiting);
  std::vector<KernelEnd> ends;
  model.Advance(100'000, &ends);
  model.Remove(gone);
  const auto rest = RunAll(model);
  EXPECT_TRUE(ends.empty());
  EXPECT_EQ(rest.size(), 1u);
  const double alone = Kernel(2).cost->TimeNs(68);
  // 90 us at half the device, then alone.
  EXPECT_NEAR(static_cast<double>(rest.at(2).end_ns), alone + 45'000, 1500);
}

TEST_F(FluidModelTest, TimeSlicesTakeTurns) {
  FluidModel model(device_, {.time_slice_ns = 1'024'000});
  KernelLaunch a = Kernel(1, 30e9);
  a.process = 1;
  KernelLaunch b = Kernel(2, 30e9);
  b.process = 2;
  const double work = a.cost->TimeNs(68) - device_.cost.latency_ns;
  model.AddKernel(a, 0);
  model.AddKernel(b, 0);
  std::vector<KernelEnd> ends;
  model.Advance(500'000, &ends);
  EXPECT_TRUE((model.SmsOf(0) == 68) != (model.SmsOf(1) == 68)) << "one process at a time";
  const auto all = RunAll(model);
  const double last = std::max(WorkNs(all.at(1)), WorkNs(all.at(2)));
  const double first = std::min(WorkNs(all.at(1)), WorkNs(all.at(2)));
  EXPECT_NEAR(last, 2 * work, 20);
  EXPECT_LE(last - first, 1'024'000 + 20);
}

TEST_F(FluidModelTest, IdleProcessGivesItsTurnAway) {
  FluidModel model(device_, {.time_slice_ns = 1'024'000});
  KernelLaunch small = Kernel(1, 1e8);
  small.process = 1;
  KernelLaunch other = Kernel(2, 1e8);
  other.process = 2;
  model.AddKernel(small, 0);
  model.AddKernel(other, 0);
  const double work = small.cost->TimeNs(68) - device_.cost.latency_ns;
  EXPECT_NEAR(WorkNs(RunAll(model).at(2)), 2 * work, 10);
}

// Whatever the steps in which time passes, the ends are the same; none is later than predicted
// bounds allow.
TEST_F(FluidModelTest, StepsDoNotMatter) {
  std::mt19937 random(3);
  std::vector<KernelLaunch> launches;
  std::vector<uint64_t> starts;
  for (uint64_t i = 0; i < 200; ++i) {
    KernelLaunch launch = Kernel(i, 1e7 * static_cast<double>(1 + random() % 50));
    launch.priority = -static_cast<int>(random() % 3);
    launch.context = random() % 4;
    launch.sm_set = SmSet::Range(random() % 2 * 34, 34);
    launches.push_back(launch);
    starts.push_back((i == 0 ? 0 : starts.back()) + random() % 60'000);
  }
  const auto run = [&](uint64_t step_ns) {
    FluidModel model(*FindDevice("rtx2080ti"));
    std::vector<KernelEnd> ends;
    for (size_t i = 0; i < launches.size(); ++i) {
      while (step_ns != 0 && model.now_ns() + step_ns < starts[i]) {
        model.Advance(model.now_ns() + step_ns, &ends);
      }
      model.Advance(starts[i], &ends);
      const uint32_t handle = model.AddKernel(launches[i], starts[i]);
      EXPECT_LE(starts[i] + device_.cost.latency_ns, model.EarliestEndNs(handle));
    }
    while (model.running() > 0) model.Advance(model.NextEventNs(), &ends);
    std::vector<std::pair<uint64_t, uint64_t>> result;
    for (const KernelEnd& end : ends) result.emplace_back(end.end_ns, end.tag);
    EXPECT_TRUE(std::is_sorted(result.begin(), result.end(),
                               [](auto& a, auto& b) { return a.first < b.first; }));
    return result;
  };
  const auto whole = run(0);
  EXPECT_EQ(whole.size(), 200u);
  EXPECT_EQ(run(777), whole);
}

TEST_F(FluidModelTest, ManySetsAreForgotten) {
  FluidModel model(device_);
  KernelLaunch launch = Kernel(1);
  launch.sm_set = SmSet::Range(0, 34);
  model.AddKernel(launch, 0);
  for (uint32_t i = 0; i < 2000; ++i) {
    KernelLaunch other = Kernel(2);
    other.sm_set = SmSet();
    for (uint32_t bit = 0; bit < 12; ++bit) {
      if (((i >> bit) & 1) != 0) other.sm_set.Add(40 + bit);
    }
    model.Remove(model.AddKernel(other, 0));
  }
  EXPECT_NEAR(static_cast<double>(RunAll(model).at(1).end_ns), launch.cost->TimeNs(34), 2);
}

TEST_F(FluidModelTest, LaunchesQueueForTheDispatcher) {
  DeviceDescription device = device_;
  device.cost.dispatch_part = 0.8;
  device.cost.dispatch_contention = 0.5;
  FluidModel model(device);
  KernelLaunch launch = Kernel(1);
  launch.sm_set = SmSet::Range(0, 20);
  model.AddKernel(launch, 0);
  launch.tag = 2;
  launch.sm_set = SmSet::Range(20, 20);
  model.AddKernel(launch, 0);  // waits, and is slower for it: same context
  launch.tag = 3;
  launch.sm_set = SmSet::Range(40, 20);
  launch.context = 1;
  model.AddKernel(launch, 100'000);  // alone by then
  const auto ends = RunAll(model);
  const double alone = launch.cost->TimeNs(20);
  const double serial = 0.8 * device.cost.latency_ns;
  EXPECT_NEAR(static_cast<double>(ends.at(1).end_ns), alone, 3);
  EXPECT_NEAR(static_cast<double>(ends.at(2).end_ns), alone + 1.5 * serial, 3);
  EXPECT_NEAR(static_cast<double>(ends.at(3).end_ns - 100'000), alone, 3);
  EXPECT_NEAR(model.use().dispatch_ns, 3.5 * serial, 1);
}

// A launch that is announced early does not take the place of one that comes before it.
TEST_F(FluidModelTest, AnnouncedLaunchesQueueAsTheyCome) {
  DeviceDescription device = device_;
  device.cost.dispatch_part = 1;
  device.cost.dispatch_contention = 0;
  FluidModel early(device);
  FluidModel late(device);
  KernelLaunch first = Kernel(1);
  KernelLaunch second = Kernel(2);
  second.sm_set = SmSet::Range(0, 10);
  early.AddKernel(second, 5'000);
  early.AddKernel(first, 1'000);
  late.AddKernel(first, 1'000);
  std::vector<KernelEnd> none;
  late.Advance(5'000, &none);
  late.AddKernel(second, 5'000);
  const auto a = RunAll(early);
  const auto b = RunAll(late);
  EXPECT_EQ(a.at(1).end_ns, b.at(1).end_ns);
  EXPECT_EQ(a.at(2).end_ns, b.at(2).end_ns);
}

}  // namespace
}  // namespace sgprs::model
