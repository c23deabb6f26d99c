// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/top/job_samples.h"

#include <gtest/gtest.h>

#include "tools/sgprs/top/top_sampler.h"

namespace sgprs::cli {
namespace {

SgprsLogJob Job(uint64_t release_ns, uint64_t jitter_ns, uint64_t response_ns) {
  SgprsLogJob job = {};
  job.client_id = 7;
  job.release_ns = release_ns;
  job.first_launch_ns = release_ns + jitter_ns;
  job.complete_ns = release_ns + response_ns;
  return job;
}

TopTask Task(uint64_t client_id) {
  TopTask task;
  task.row.client_id = client_id;
  return task;
}

TEST(JobSamplesTest, QuantilesAreExactAndOfTheWindow) {
  JobSamples samples;
  samples.Add(Job(500, 900, 9000));  // before the window
  for (uint64_t i = 1; i <= 100; ++i) samples.Add(Job(10'000 * i, i, 1000 + i));
  TopTask task = Task(7);
  samples.Fill(10'000, &task);
  EXPECT_EQ(*task.jitter_p50_ns, 51u);  // of 1 .. 100
  EXPECT_EQ(*task.jitter_p99_ns, 99u);
  EXPECT_EQ(*task.response_p99_ns, 1099u);
}

TEST(JobSamplesTest, ATaskWithoutJobsKeepsWhatItHas) {
  JobSamples samples;
  samples.Add(Job(100, 1, 50));
  TopTask other = Task(8);
  other.response_p50_ns = 5;
  samples.Fill(0, &other);
  EXPECT_EQ(*other.response_p50_ns, 5u);
  TopTask task = Task(7);
  samples.Fill(10'000, &task);  // it has ended long ago
  EXPECT_FALSE(task.jitter_p50_ns.has_value());
}

TEST(JobSamplesTest, MomentsOutOfOrderAreNotUsed) {
  JobSamples samples;
  SgprsLogJob job = Job(1000, 0, 500);
  job.first_launch_ns = 900;  // before its release: no jitter
  samples.Add(job);
  job = Job(1000, 10, 500);
  job.complete_ns = 10;
  samples.Add(job);
  job = Job(0, 10, 500);  // no release
  samples.Add(job);
  TopTask task = Task(7);
  samples.Fill(0, &task);
  EXPECT_EQ(*task.response_p50_ns, 500u);
  EXPECT_FALSE(task.jitter_p50_ns.has_value());
}

}  // namespace
}  // namespace sgprs::cli
