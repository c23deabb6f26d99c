// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/sim_runner.h"

#include <gtest/gtest.h>

#include "tools/sgprs/sim_json.h"

namespace sgprs::cli {
namespace {

std::vector<SimJob> Jobs() {
  std::vector<SimJob> jobs;
  for (uint32_t n = 20; n < 32; n += 2) {
    SimJob job;
    job.scenario.n = n;
    job.scenario.warmup_ns = 100'000'000;
    job.scenario.horizon_ns = 500'000'000;
    model::TaskGroup group;
    group.count_is_n = true;
    group.task.name = "net";
    group.task.network = "resnet18-upstream";
    group.task.jitter_ns = 500'000;
    group.task.cost_noise = 0.1;
    job.scenario.groups = {group};
    jobs.push_back(job);
  }
  return jobs;
}

TEST(SimRunnerTest, SeveralThreadsChangeNothing) {
  const Result<std::vector<model::SimResult>> one = RunAll(Jobs(), 1, {});
  size_t told = 0;
  const Result<std::vector<model::SimResult>> four =
      RunAll(Jobs(), 4, [&](size_t, size_t all) { told += all == Jobs().size() ? 1 : 0; });
  ASSERT_TRUE(one.ok() && four.ok());
  ASSERT_EQ(one->size(), four->size());
  EXPECT_EQ(told, Jobs().size());
  for (size_t i = 0; i < one->size(); ++i) {
    EXPECT_EQ((*one)[i].n, 20 + 2 * i);
    EXPECT_EQ(RunJson((*one)[i]).dump(), RunJson((*four)[i]).dump());
  }
}

TEST(SimRunnerTest, TheFirstErrorInOrderIsSaid) {
  std::vector<SimJob> jobs = Jobs();
  jobs[3].scenario.groups[0].task.network = "nonet";
  jobs[4].scenario.groups[0].task.network = "othernet";
  const Result<std::vector<model::SimResult>> result = RunAll(jobs, 1, {});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.status().text().find("nonet"), std::string::npos) << result.status().text();
}

}  // namespace
}  // namespace sgprs::cli
