// SPDX-License-Identifier: Apache-2.0
// The options of papers.md 1.10 by name, and what they change in `sgprs`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/policy/policy.h"
#include "runtime/policy/policy_options.h"

namespace sgprs::policy {
namespace {

using ::testing::HasSubstr;

using Pairs = std::vector<std::pair<std::string, std::string>>;

TEST(PolicyOptionsTest, EveryRowShowsWhatItSets) {
  for (const PolicyOptionRow& row : PolicyOptionTable()) {
    PolicyOptions options;
    EXPECT_TRUE(row.set(row.show(options), &options).ok()) << row.name;
    EXPECT_EQ(options, PolicyOptions()) << row.name;
    EXPECT_FALSE(row.set("nonsense", &options).ok()) << row.name;
    EXPECT_FALSE(row.set("", &options).ok()) << row.name;
    EXPECT_FALSE(row.help.empty() || row.values.empty()) << row.name;
  }
  EXPECT_EQ(PolicyOptionTable()[0].name, "preset");
}

// papers.md 1.10, column "DATE code".
TEST(PolicyOptionsTest, DateCodeDiffersInEveryRowOfTheTable) {
  const Result<PolicyOptions> code = ParsePolicyOptions(Pairs{{"preset", "date-code"}});
  ASSERT_TRUE(code.ok());
  EXPECT_EQ(code->cost_rule, CostRule::kMean);
  EXPECT_EQ(code->high_stages, 2u);
  EXPECT_FALSE(code->medium_level);
  EXPECT_EQ(code->queue_order, QueueOrder::kArrival);
  EXPECT_EQ(code->assignment, Assignment::kCode);
  EXPECT_TRUE(code->early_release_gate);
  EXPECT_EQ(code->deadline_margin, 0.99);
  EXPECT_EQ(DescribePolicyOptions(*code), "preset date-code");
  EXPECT_EQ(DescribePolicyOptions(PolicyOptions()), "");
}

TEST(PolicyOptionsTest, APresetStandsBeforeTheRest) {
  const Result<PolicyOptions> options =
      ParsePolicyOptions(Pairs{{"high_stages", "0"}, {"preset", "date-code"}});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->high_stages, 0u);
  EXPECT_TRUE(options->early_release_gate);
  EXPECT_THAT(DescribePolicyOptions(*options), HasSubstr("high_stages 0"));
}

TEST(PolicyOptionsTest, ErrorsAreOneLineWithNameAndValue) {
  const auto error = [](Pairs pairs) { return ParsePolicyOptions(pairs).status().text(); };
  EXPECT_EQ(error({{"capacity", "0"}}), "capacity = 0: must be auto or a number from 1 to 1024");
  EXPECT_THAT(error({{"deadline_margin", "1.5"}}), HasSubstr("from 0.01 to 1"));
  EXPECT_THAT(error({{"staging", "yes"}}), HasSubstr("true or false"));
  EXPECT_THAT(error({{"colour", "red"}}),
              HasSubstr("no policy option \"colour\"; there are preset"));
}

TEST(PolicyOptionsTest, CapacityOfThePaper) {
  PolicyOptions options;
  EXPECT_EQ(PartitionCapacity(options, 1), 4u);
  EXPECT_EQ(PartitionCapacity(options, 2), 3u);
  EXPECT_EQ(PartitionCapacity(options, 3), 2u);
  options.capacity = 7;
  EXPECT_EQ(PartitionCapacity(options, 3), 7u);
}

constexpr uint64_t kNow = 1'000'000;

// Two busy partitions of 34 and 68 SMs, both expected to be free soon.
struct Busy {
  std::vector<PartitionView> partitions = {{34, 2, 1, 0, kNow + 2000}, {68, 2, 1, 0, kNow + 1000}};
  std::vector<uint64_t> cost_ns = {3000, 2000};
  Snapshot snapshot() const { return {kNow, 68, 0, partitions}; }
  StageView stage() const {
    StageView view;
    view.stage_count = 6;
    view.deadline_ns = kNow + 100'000;
    view.virtual_deadline_ns = kNow + 10'000;
    view.relative_deadline_ns = 4000;
    view.cost_ns = cost_ns;
    return view;
  }
};

Placement PlaceWith(const Pairs& pairs, const StageView& stage, const Snapshot& snapshot) {
  return MakePolicy("sgprs", *ParsePolicyOptions(pairs))->Place(stage, snapshot);
}

TEST(SgprsOptionsTest, AssignmentToBusyPartitions) {
  const Busy world;
  EXPECT_EQ(PlaceWith({}, world.stage(), world.snapshot()).partition, 0u)
      << "the smallest that meets the virtual deadline";
  EXPECT_EQ(PlaceWith({{"assignment", "code"}}, world.stage(), world.snapshot()).partition, 1u)
      << "the earliest end";
}

TEST(SgprsOptionsTest, AssignmentToIdlePartitions) {
  Busy world;
  world.partitions = {{68, 2, 0, 0, 0}, {34, 2, 0, 0, 0}};
  world.cost_ns = {2000, 3000};
  EXPECT_EQ(PlaceWith({}, world.stage(), world.snapshot()).partition, 1u) << "smallest";
  EXPECT_EQ(PlaceWith({{"assignment", "code"}}, world.stage(), world.snapshot()).partition, 0u)
      << "first in pool order";
}

// papers.md 1.5: until the virtual deadline minus twice the relative one.
TEST(SgprsOptionsTest, EarlyReleaseGate) {
  Busy world;
  const Pairs gate = {{"early_release_gate", "true"}};
  EXPECT_EQ(PlaceWith(gate, world.stage(), world.snapshot()).not_before_ns, kNow + 2000);
  EXPECT_EQ(PlaceWith({}, world.stage(), world.snapshot()).not_before_ns, 0u);
  StageView last = world.stage();
  last.stage = 5;
  EXPECT_EQ(PlaceWith(gate, last, world.snapshot()).not_before_ns, 0u) << "level high";
  world.partitions[0].running = 0;
  world.partitions[0].finish_ns = 0;
  EXPECT_EQ(PlaceWith(gate, world.stage(), world.snapshot()).not_before_ns, 0u) << "one is idle";
}

TEST(SgprsOptionsTest, WithoutSwitchingATaskStays) {
  Busy world;
  world.partitions[1].running = 0;
  StageView stage = world.stage();
  EXPECT_EQ(PlaceWith({{"switching", "false"}}, stage, world.snapshot()).partition, 1u);
  stage.previous_partition = 0;
  EXPECT_EQ(PlaceWith({{"switching", "false"}}, stage, world.snapshot()).partition, 0u);
  EXPECT_FALSE(
      MakePolicy("sgprs", *ParsePolicyOptions(Pairs{{"staging", "false"}}))->traits().staged);
}

TEST(SgprsOptionsTest, OrderInsideALevelAndAcrossClasses) {
  const Busy world;
  const auto key = [&](const Pairs& pairs, const StageView& stage) {
    const auto policy = MakePolicy("sgprs", *ParsePolicyOptions(pairs));
    return policy->Key(stage, policy->Place(stage, world.snapshot()));
  };
  StageView tight = world.stage();
  tight.virtual_deadline_ns -= 1;
  EXPECT_LT(key({}, tight).low, key({}, world.stage()).low);
  EXPECT_EQ(key({{"queue_order", "arrival"}}, tight).low,
            key({{"queue_order", "arrival"}}, world.stage()).low);
  StageView high = world.stage();
  high.task_class = SGPRS_CLASS_HIGH;
  EXPECT_LT(key({}, high).high, key({}, world.stage()).high);
  EXPECT_EQ(key({{"class_levels", "false"}}, high).high,
            key({{"class_levels", "false"}}, world.stage()).high);
}

}  // namespace
}  // namespace sgprs::policy
