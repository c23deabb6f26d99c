// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/top/top_sampler.h"

#include <gtest/gtest.h>

#include <cstring>

#include "runtime/base/clock.h"

namespace sgprs::cli {
namespace {

// At `seconds`: one task with so many jobs on time, so many late; one partition busy half the time.
StateSnapshot At(uint64_t seconds, uint64_t on_time, uint64_t late, uint64_t client_id = 7) {
  StateSnapshot snapshot;
  snapshot.read_ns = seconds * kNsPerSecond;
  SgprsTaskRow row = {};
  row.client_id = client_id;
  row.state = SGPRS_TASK_SCHEDULED;
  row.period_ns = row.deadline_ns = 10 * kNsPerMs;
  row.counters.jobs_completed = on_time + late;
  row.counters.jobs_on_time = on_time;
  row.counters.jobs_missed = late;
  row.response_histogram[10] = static_cast<uint32_t>(on_time);  // [1.024, 2.048) ms
  row.response_histogram[14] = static_cast<uint32_t>(late);     // [16.384, 32.768) ms
  snapshot.tasks.push_back(row);
  SgprsPartitionRow partition = {};
  partition.busy_ns = snapshot.read_ns / 2;
  partition.stages_completed = 6 * (on_time + late);
  snapshot.partitions.push_back(partition);
  return snapshot;
}

TEST(TopSamplerTest, RatesAreOfTheWindowNotOfTheLife) {
  TopSampler sampler(2 * kNsPerSecond);
  sampler.Add(At(100, 5000, 300));
  sampler.Add(At(101, 5100, 300));
  sampler.Add(At(102, 5190, 310));
  const TopSample sample = sampler.Sample(nullptr);
  EXPECT_EQ(sample.window_ns, 2 * kNsPerSecond);
  ASSERT_EQ(sample.tasks.size(), 1u);
  EXPECT_DOUBLE_EQ(sample.tasks[0].rates.completed_fps, 100);
  EXPECT_DOUBLE_EQ(sample.tasks[0].rates.on_time_fps, 95);
  EXPECT_DOUBLE_EQ(sample.tasks[0].rates.miss_percent, 5);
  EXPECT_DOUBLE_EQ(sample.total.miss_percent, 5);
  EXPECT_DOUBLE_EQ(sample.partitions[0].busy_percent, 50);
  EXPECT_DOUBLE_EQ(sample.partitions[0].stages_per_second, 600);
}

TEST(TopSamplerTest, WhatIsOlderThanTheWindowIsForgotten) {
  TopSampler sampler(2 * kNsPerSecond);
  for (uint64_t second = 100; second < 200; ++second) sampler.Add(At(second, 10 * second, 0));
  EXPECT_EQ(sampler.Sample(nullptr).window_ns, 2 * kNsPerSecond);
  sampler.Add(At(250, 20000, 0));  // a long silence: the window is what there is
  EXPECT_EQ(sampler.Sample(nullptr).window_ns, 51 * kNsPerSecond);
}

TEST(TopSamplerTest, OneSnapshotHasNoRates) {
  TopSampler sampler(kNsPerSecond);
  sampler.Add(At(100, 500, 0));
  const TopSample sample = sampler.Sample(nullptr);
  EXPECT_EQ(sample.tasks[0].window_ns, 0u);
  EXPECT_EQ(sample.tasks[0].rates.completed_fps, 0);
  EXPECT_FALSE(sample.tasks[0].response_p50_ns.has_value());
  EXPECT_EQ(sample.partitions[0].busy_percent, 0);
}

TEST(TopSamplerTest, ARowThatAnotherTaskTookIsNotCompared) {
  TopSampler sampler(5 * kNsPerSecond);
  sampler.Add(At(100, 5000, 0, 7));
  sampler.Add(At(101, 20, 0, 8));
  EXPECT_EQ(sampler.Sample(nullptr).tasks[0].window_ns, 0u);
  sampler.Add(At(102, 50, 0, 8));
  const TopSample sample = sampler.Sample(nullptr);
  EXPECT_EQ(sample.tasks[0].window_ns, kNsPerSecond);
  EXPECT_DOUBLE_EQ(sample.tasks[0].rates.completed_fps, 30);
}

TEST(TopSamplerTest, QuantilesAreOfTheJobsInTheWindow) {
  TopSampler sampler(5 * kNsPerSecond);
  sampler.Add(At(100, 0, 100));  // all late, before the window
  sampler.Add(At(101, 98, 102));
  const TopTask task = sampler.Sample(nullptr).tasks[0];
  EXPECT_NEAR(static_cast<double>(*task.response_p50_ns), 1.55e6, 0.1e6);
  EXPECT_GT(*task.response_p99_ns, 16 * kNsPerMs);
}

TEST(HistogramQuantileTest, EdgesAndNothing) {
  std::array<uint64_t, SGPRS_HISTOGRAM_BUCKETS> buckets = {};
  EXPECT_FALSE(HistogramQuantileNs(buckets, 0.5).has_value());
  buckets[0] = 4;
  EXPECT_EQ(*HistogramQuantileNs(buckets, 0.5), kNsPerUs);  // the middle of [0, 2) us
  buckets[0] = 0;
  buckets[31] = 1;
  EXPECT_EQ(*HistogramQuantileNs(buckets, 1), (uint64_t{1} << 32) * kNsPerUs);
}

}  // namespace
}  // namespace sgprs::cli
