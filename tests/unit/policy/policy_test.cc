// SPDX-License-Identifier: Apache-2.0
#include "runtime/policy/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace sgprs::policy {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kNow = 1'000'000;

struct World {
  std::vector<PartitionView> partitions = {
      {34, 2, 0, 0, kNow}, {20, 2, 0, 0, kNow}, {68, 2, 0, 0, kNow}};
  std::vector<uint64_t> cost_ns = {3000, 5000, 2000};

  Snapshot snapshot() const { return {kNow, 68, 0, partitions}; }
  StageView stage() const {
    StageView view;
    view.stage_count = 6;
    view.deadline_ns = kNow + 100'000;
    view.virtual_deadline_ns = kNow + 10'000;
    view.cost_ns = cost_ns;
    return view;
  }
  void Load(uint32_t partition, uint64_t finish_ns) {
    partitions[partition].running = 1;
    partitions[partition].finish_ns = finish_ns;
  }
};

bool Before(const Policy::QueueKey& a, const Policy::QueueKey& b) {
  return a.high != b.high ? a.high < b.high : a.low < b.low;
}

// Whether `policy` runs `a` before `b` in one queue.
bool Before(Policy& policy, const StageView& a, const StageView& b) {
  const World world;
  return Before(policy.Key(a, policy.Place(a, world.snapshot())),
                policy.Key(b, policy.Place(b, world.snapshot())));
}

TEST(PolicyTableTest, EveryRowMakesAPolicyUnderItsName) {
  std::set<std::string_view> names;
  for (const PolicyRow& row : PolicyTable()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.help.empty());
    EXPECT_NE(MakePolicy(row.name), nullptr);
    EXPECT_THAT(std::string(PolicyNames()), HasSubstr(std::string(row.name)));
  }
  EXPECT_EQ(names.size(), 7u);
  EXPECT_EQ(MakePolicy("best"), nullptr);
  EXPECT_EQ(MakePolicy(""), nullptr);
}

TEST(PolicyTableTest, EveryPolicyPlacesInsideThePool) {
  for (const PolicyRow& row : PolicyTable()) {
    World world;
    world.Load(0, UINT64_MAX);
    const auto policy = MakePolicy(row.name);
    for (uint32_t task = 0; task < 20; ++task) {
      StageView stage = world.stage();
      stage.task = task;
      EXPECT_LT(policy->Place(stage, world.snapshot()).partition, 3u) << row.name;
    }
  }
}

// papers.md 1.5 (1)
TEST(SgprsTest, SmallestIdlePartitionThatMeetsTheVirtualDeadline) {
  const auto policy = MakePolicy("sgprs");
  World world;
  EXPECT_EQ(policy->Place(world.stage(), world.snapshot()).partition, 1u);
  StageView hurried = world.stage();
  hurried.virtual_deadline_ns = kNow + 4000;
  EXPECT_EQ(policy->Place(hurried, world.snapshot()).partition, 0u) << "5000 in 20 SMs is too long";
  world.Load(1, kNow + 10);
  EXPECT_EQ(policy->Place(world.stage(), world.snapshot()).partition, 0u) << "not idle";
}

// papers.md 1.5 (2)
TEST(SgprsTest, ElseTheIdleOneThatEndsFirst) {
  const auto policy = MakePolicy("sgprs");
  World world;
  StageView late = world.stage();
  late.virtual_deadline_ns = kNow - 1;
  EXPECT_EQ(policy->Place(late, world.snapshot()).partition, 2u);
  world.Load(2, kNow + 1);
  EXPECT_EQ(policy->Place(late, world.snapshot()).partition, 0u) << "idle comes before earlier";
}

// papers.md 1.5 (3)
TEST(SgprsTest, ElseTheEarliestEstimatedEnd) {
  const auto policy = MakePolicy("sgprs");
  World world;
  world.Load(0, kNow + 9000);
  world.Load(1, kNow + 5000);
  world.Load(2, kNow + 9500);
  EXPECT_EQ(policy->Place(world.stage(), world.snapshot()).partition, 1u) << "10000";
  world.cost_ns[1] = 8000;
  EXPECT_EQ(policy->Place(world.stage(), world.snapshot()).partition, 2u) << "11500";
}

TEST(SgprsTest, Levels) {
  const auto policy = MakePolicy("sgprs");
  const World world;
  const auto level = [&](const StageView& stage) {
    return policy->Place(stage, world.snapshot()).level;
  };
  StageView stage = world.stage();
  EXPECT_EQ(level(stage), SGPRS_LEVEL_LOW);
  stage.predecessor_late = true;
  EXPECT_EQ(level(stage), SGPRS_LEVEL_MEDIUM);
  stage.stage = 5;
  EXPECT_EQ(level(stage), SGPRS_LEVEL_HIGH);
  stage.task_class = SGPRS_CLASS_BEST_EFFORT;
  EXPECT_EQ(level(stage), SGPRS_LEVEL_LOW);
  stage.task_class = SGPRS_CLASS_HIGH;
  stage.stage = 0;
  stage.predecessor_late = false;
  EXPECT_EQ(level(stage), SGPRS_LEVEL_HIGH) << "never on the stream of best-effort work";
}

TEST(SgprsTest, ClassThenLevelThenVirtualDeadline) {
  const auto policy = MakePolicy("sgprs");
  const World world;
  StageView early = world.stage();
  StageView later = world.stage();
  later.virtual_deadline_ns += 1;
  EXPECT_TRUE(Before(*policy, early, later));
  StageView last = later;
  last.stage = 5;
  EXPECT_TRUE(Before(*policy, last, early));
  StageView medium = later;
  medium.predecessor_late = true;
  EXPECT_TRUE(Before(*policy, medium, early));
  EXPECT_TRUE(Before(*policy, last, medium));
  StageView high = later;
  high.task_class = SGPRS_CLASS_HIGH;
  EXPECT_TRUE(Before(*policy, high, last));
  StageView high_last = high;
  high_last.stage = 5;
  EXPECT_TRUE(Before(*policy, high_last, high)) << "levels hold inside a class";
}

TEST(EveryPolicyTest, BestEffortIsBehindDeadlines) {
  const World world;
  StageView best_effort = world.stage();
  best_effort.task_class = SGPRS_CLASS_BEST_EFFORT;
  best_effort.deadline_ns = kNoDeadline;
  best_effort.virtual_deadline_ns = kNoDeadline;
  best_effort.stage = 5;
  for (const PolicyRow& row : PolicyTable()) {
    if (row.name == "naive") continue;  // knows no classes
    EXPECT_TRUE(Before(*MakePolicy(row.name), world.stage(), best_effort)) << row.name;
  }
}

// papers.md 1.9
TEST(NaiveTest, BoundForLifeByIndexAndParity) {
  const auto policy = MakePolicy("naive");
  EXPECT_FALSE(policy->traits().staged);
  EXPECT_EQ(policy->traits().pool, PoolShape::kFullSize);
  EXPECT_FALSE(policy->traits().bounded);
  World world;
  for (uint32_t task = 0; task < 9; ++task) {
    StageView stage = world.stage();
    stage.task = task;
    world.Load(task % 3, kNow + 1'000'000);
    const Placement placement = policy->Place(stage, world.snapshot());
    EXPECT_EQ(placement.partition, task % 3);
    EXPECT_EQ(placement.level, task % 2 == 0 ? SGPRS_LEVEL_HIGH : SGPRS_LEVEL_LOW);
  }
  StageView early = world.stage();
  early.deadline_ns = early.virtual_deadline_ns = 1;
  EXPECT_FALSE(Before(*policy, early, world.stage())) << "no deadlines";
}

TEST(EdfTest, WholeJobsByDeadline) {
  const auto policy = MakePolicy("edf");
  EXPECT_FALSE(policy->traits().staged);
  EXPECT_EQ(policy->traits().pool, PoolShape::kFullSize);
  const World world;
  StageView tight = world.stage();
  tight.deadline_ns -= 10;
  tight.virtual_deadline_ns += 10;
  EXPECT_TRUE(Before(*policy, tight, world.stage()));
}

TEST(FifoTest, EarliestEndAndOrderOfReadiness) {
  const auto policy = MakePolicy("fifo");
  World world;
  world.Load(2, kNow + 5000);
  EXPECT_EQ(policy->Place(world.stage(), world.snapshot()).partition, 0u);
  StageView tight = world.stage();
  tight.virtual_deadline_ns = tight.deadline_ns = 1;
  EXPECT_FALSE(Before(*policy, tight, world.stage()));
  EXPECT_FALSE(Before(*policy, world.stage(), tight));
}

TEST(StaticTest, NeverMoves) {
  const auto policy = MakePolicy("static");
  World world;
  StageView stage = world.stage();
  stage.task = 4;
  EXPECT_EQ(policy->Place(stage, world.snapshot()).partition, 1u);
  world.Load(1, UINT64_MAX);
  EXPECT_EQ(policy->Place(stage, world.snapshot()).partition, 1u);
}

}  // namespace
}  // namespace sgprs::policy
