// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/cost_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sgprs::sched {
namespace {

using ::testing::ElementsAre;

TEST(CostModelTest, UnknownUntilMeasured) {
  const uint32_t sm_counts[] = {34, 34};
  const SizeClasses sizes(sm_counts);
  CostModel model(&sizes, 3);
  model.Reset(2);
  EXPECT_THAT(model.Costs(0), ElementsAre(kUnknownCostNs, kUnknownCostNs));
  EXPECT_EQ(model.TotalLargestCost(), 2 * kUnknownCostNs);
}

TEST(CostModelTest, MaximumOfTheLastWindow) {
  const uint32_t sm_counts[] = {34, 34};
  const SizeClasses sizes(sm_counts);
  CostModel model(&sizes, 3);
  model.Reset(1);
  for (const uint64_t ns : {900, 100, 200}) model.Record(0, 0, ns);
  EXPECT_THAT(model.Costs(0), ElementsAre(900u, 900u)) << "equal sizes share measurements";
  model.Record(0, 1, 150);
  EXPECT_THAT(model.Costs(0), ElementsAre(200u, 200u)) << "900 left the window";
}

TEST(CostModelTest, ScalesToSizesNeverMeasured) {
  const uint32_t sm_counts[] = {8, 34, 68};
  const SizeClasses sizes(sm_counts);
  CostModel model(&sizes, 5);
  model.Reset(1);
  model.Record(0, 1, 1'000'000);
  const std::span<const uint64_t> costs = model.Costs(0);
  EXPECT_EQ(costs[1], 1'000'000u);
  // papers.md 1.8: the network's speedup is 6.5 at 8, 16.6 at 34, 22.6 at 68 SMs.
  EXPECT_NEAR(static_cast<double>(costs[0]), 1e6 * 16.6 / 6.5, 1e5);
  EXPECT_NEAR(static_cast<double>(costs[2]), 1e6 * 16.6 / 22.6, 4e4);
}

TEST(CostModelTest, LargerIsNeverSlower) {
  const uint32_t sm_counts[] = {68, 34};
  const SizeClasses sizes(sm_counts);
  EXPECT_EQ(sizes.largest_partition(), 0u);
  CostModel model(&sizes, 5);
  model.Reset(1);
  model.Record(0, 1, 500);
  model.Record(0, 0, 700);
  EXPECT_THAT(model.Costs(0), ElementsAre(500u, 500u));
  EXPECT_EQ(model.LargestCost(0), 500u);
}

TEST(CostModelTest, MeanInsteadOfMaximum) {
  const std::vector<uint32_t> sms = {34, 34};
  const SizeClasses sizes(sms);
  CostModel costs(&sizes, 3, /*mean=*/true);
  costs.Reset(1);
  for (const uint64_t ns : {100, 200, 300, 400}) costs.Record(0, 1, ns);
  EXPECT_EQ(costs.Costs(0)[0], 300u) << "of the last three";
}

TEST(CostModelTest, SeedsOfOtherSizesAreScaledToTheNearest) {
  const std::vector<uint32_t> sms = {10, 40};
  const SizeClasses sizes(sms);
  CostModel costs(&sizes, 3);
  costs.Reset(1);
  costs.Seed(0, 40, 1000);
  EXPECT_EQ(costs.Costs(0)[1], 1000u);
  EXPECT_GT(costs.Costs(0)[0], 2000u);
  costs.Reset(1);
  costs.Seed(0, 68, 1000);
  EXPECT_GT(costs.Costs(0)[1], 1000u);
  EXPECT_LT(costs.Costs(0)[1], 1700u);
}

}  // namespace
}  // namespace sgprs::sched
