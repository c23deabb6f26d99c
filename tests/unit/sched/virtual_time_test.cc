// SPDX-License-Identifier: Apache-2.0
// Whole runs in virtual time: what must hold for every policy, and for sgprs under trouble.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "runtime/policy/policy.h"
#include "tests/unit/sched/toy_executor.h"

namespace sgprs::sched {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kPeriod = 33 * kMs;

uint64_t LateSince(const std::vector<FinishedJob>& jobs, uint64_t from_ns) {
  uint64_t late = 0;
  for (const FinishedJob& job : jobs) late += job.release_ns >= from_ns && !job.on_time;
  return late;
}

uint64_t OnTimeSince(const std::vector<FinishedJob>& jobs, uint64_t from_ns) {
  uint64_t on_time = 0;
  for (const FinishedJob& job : jobs) on_time += job.release_ns >= from_ns && job.on_time;
  return on_time;
}

class EveryPolicy : public ::testing::TestWithParam<std::string> {};

std::vector<std::string> AllPolicies() {
  std::vector<std::string> names;
  for (const policy::PolicyRow& row : policy::PolicyTable()) names.emplace_back(row.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Table, EveryPolicy, ::testing::ValuesIn(AllPolicies()),
                         [](const auto& info) { return info.param; });

// 6 tasks of 2 ms each 33 ms: a third of the GPU.
TEST_P(EveryPolicy, FeasibleSetMissesNothingOnceLearnt) {
  ToyExecutor executor(PaperPool(GetParam()));
  for (int i = 0; i < 6; ++i) {
    ToyProcess process = Periodic("t", kPeriod, 2 * kMs);
    process.phase_ns = i * 5 * kMs;
    executor.Add(process);
  }
  executor.RunUntil(2000 * kMs);
  EXPECT_THAT(executor.violations(), IsEmpty());
  for (size_t i = 0; i < 6; ++i) {
    const std::vector<FinishedJob> jobs = executor.FinishedOf(i);
    EXPECT_EQ(LateSince(jobs, 200 * kMs), 0u) << "task " << i;
    EXPECT_GE(OnTimeSince(jobs, 200 * kMs), 53u) << "task " << i;
    EXPECT_TRUE(executor.scheduler().View(executor.task(i)).scheduled);
  }
}

// More work than the GPU has: everybody goes on.
TEST_P(EveryPolicy, OverloadStarvesNobody) {
  ToyExecutor executor(PaperPool(GetParam()));
  for (int i = 0; i < 12; ++i) executor.Add(Periodic("t", kPeriod, 8 * kMs));
  ToyProcess best_effort = Periodic("b", 0, 4 * kMs, 24, SGPRS_CLASS_BEST_EFFORT);
  const size_t b = executor.Add(best_effort);
  executor.RunUntil(3000 * kMs);
  EXPECT_THAT(executor.violations(), IsEmpty());
  // daris holds the low class without a thought for fairness; only max_hold_ns bounds that.
  const size_t least = GetParam() == "daris" ? 10 : 20;
  for (size_t i = 0; i < 12; ++i) EXPECT_GE(executor.FinishedOf(i).size(), least) << "task " << i;
  // Best effort gets nothing but its turn after max_wait_ns: about one range a second.
  EXPECT_GE(executor.launches_done(b), 10u);
}

TEST_P(EveryPolicy, SameInputSameOutput) {
  std::string logs[2];
  for (std::string& log : logs) {
    ToyExecutor executor(PaperPool(GetParam()));
    for (int i = 0; i < 5; ++i) executor.Add(Periodic("t", kPeriod + i * kMs, 4 * kMs));
    executor.Add(Flood("f", 100'000));
    executor.RunUntil(600 * kMs);
    log = executor.Log();
  }
  EXPECT_FALSE(logs[0].empty());
  EXPECT_EQ(logs[0], logs[1]);
}

TEST_P(EveryPolicy, AnyOrderOfClosingLearns) {
  for (const Closing closing : {Closing::kBeforeNextRelease, Closing::kAfterNextRelease}) {
    ToyExecutor executor(PaperPool(GetParam()), closing);
    const size_t periodic = executor.Add(Periodic("t", kPeriod, 2 * kMs));
    const size_t loop = executor.Add(Periodic("l", 0, 2 * kMs));
    executor.RunUntil(500 * kMs);
    EXPECT_THAT(executor.violations(), IsEmpty());
    for (const size_t process : {periodic, loop}) {
      const TaskView view = executor.scheduler().View(executor.task(process));
      EXPECT_TRUE(view.scheduled);
      EXPECT_EQ(view.job_launches, 48u);
      EXPECT_EQ(view.jobs_off_signature, 0u);
      EXPECT_GE(executor.FinishedOf(process).size(), 14u);
    }
  }
}

// Work is conserved where the policy says so: nobody is queued while a partition has nothing to do.
TEST(StealingInVirtualTime, NobodyWaitsWhileAPartitionIsIdle) {
  int checked = 0;
  for (const policy::PolicyRow& row : policy::PolicyTable()) {
    if (row.make({})->traits().stealing != policy::Stealing::kEverything) continue;
    ToyExecutor executor(PaperPool(std::string(row.name)));
    for (int i = 0; i < 14; ++i) executor.Add(Periodic("t", kPeriod, 4 * kMs));
    for (uint64_t at_ns = 300 * kMs; at_ns < 600 * kMs; at_ns += 100'000) {
      executor.RunUntil(at_ns);
      uint32_t idle = 0;
      uint32_t queued = 0;
      for (uint32_t p = 0; p < 3; ++p) {
        const PartitionStats stats = executor.scheduler().Stats(p, executor.now_ns());
        idle += stats.running == 0;
        queued += stats.queued;
      }
      EXPECT_TRUE(idle == 0 || queued == 0) << row.name << " at " << at_ns;
      checked += queued != 0;
    }
  }
  EXPECT_GT(checked, 100) << "queues were empty: nothing was tested";
}

TEST(SgprsInVirtualTime, StagesAreBalancedAndRunInOnePartitionEach) {
  ToyExecutor executor(PaperPool("sgprs"));
  ToyProcess process = Periodic("t", kPeriod, 6 * kMs);
  for (size_t i = 0; i < 8; ++i) process.launch_ns[i] = 375'000;  // half the time in a sixth
  const size_t t = executor.Add(process);
  executor.Add(Periodic("u", kPeriod, 6 * kMs));
  executor.RunUntil(1000 * kMs);
  EXPECT_THAT(executor.violations(), IsEmpty());
  std::set<std::tuple<TaskId, uint64_t, uint32_t>> stages;
  for (const Grant& grant : executor.grants()) {
    EXPECT_TRUE(stages.insert({grant.task, grant.job, grant.stage}).second);
  }
  const FinishedJob last = executor.FinishedOf(t).back();
  EXPECT_EQ(last.stages, 6u);
  std::vector<uint64_t> ends;
  for (const Grant& grant : executor.grants()) {
    if (grant.task == executor.task(t) && grant.job == last.job) ends.push_back(grant.upto);
  }
  ASSERT_EQ(ends.size(), 6u);
  // 8 heavy launches are 3 ms of 8 ms: two stages of four; the other 40 make four of ten.
  EXPECT_THAT(ends, ElementsAre(4u, 8u, 18u, 28u, 38u, kOpen));
}

// What stays queued while floods run would show as a long wait for the first grant.
TEST(SgprsInVirtualTime, FloodsDoNotDelayTheFirstGrantOfAHighClassTask) {
  ToyExecutor executor(PaperPool("sgprs"));
  for (int i = 0; i < 10; ++i) executor.Add(Flood("f", 100'000));
  const size_t high = executor.Add(Periodic("h", kPeriod, 2 * kMs, 48, SGPRS_CLASS_HIGH));
  executor.RunUntil(2000 * kMs);
  EXPECT_THAT(executor.violations(), IsEmpty());
  EXPECT_EQ(executor.WorstFirstGrantNs(high, 0), 0u);
  for (const Grant& grant : executor.grants()) {
    if (grant.task == executor.task(high)) {
      EXPECT_EQ(grant.level, SGPRS_LEVEL_HIGH);
    } else {
      EXPECT_EQ(grant.level, SGPRS_LEVEL_LOW);
      EXPECT_LE(grant.upto - grant.from, 64u);
    }
  }
  for (size_t i = 0; i < 10; ++i) EXPECT_GE(executor.launches_done(i), 500u) << "flood " << i;
}

TEST(SgprsInVirtualTime, KilledAnywhereLeavesNothingBehind) {
  for (uint64_t at_ns = kMs; at_ns < 400 * kMs; at_ns += 7'300'000) {
    ToyExecutor executor(PaperPool("sgprs"));
    const size_t survivor = executor.Add(Periodic("s", kPeriod, 3 * kMs));
    for (int i = 0; i < 8; ++i) {
      ToyProcess victim = i % 2 == 0 ? Periodic("v", kPeriod, 5 * kMs) : Flood("f", 100'000);
      victim.killed_ns = at_ns;
      executor.Add(victim);
    }
    executor.RunUntil(at_ns + 200 * kMs);
    EXPECT_THAT(executor.violations(), IsEmpty());
    EXPECT_EQ(LateSince(executor.FinishedOf(survivor), at_ns), 0u) << "killed at " << at_ns;
    uint32_t held = 0;
    for (uint32_t p = 0; p < 3; ++p) {
      const PartitionStats stats = executor.scheduler().Stats(p, executor.now_ns());
      held += stats.running + stats.queued + stats.parked + stats.stalled;
    }
    EXPECT_LE(held, 1u) << "killed at " << at_ns;
  }
}

TEST(SgprsInVirtualTime, ReusesTheLowestFreeId) {
  ToyExecutor executor(PaperPool("sgprs"));
  ToyProcess first = Periodic("a", kPeriod, kMs);
  first.killed_ns = 100 * kMs;
  executor.Add(first);
  executor.Add(Periodic("b", kPeriod, kMs));
  ToyProcess third = Periodic("c", kPeriod, kMs);
  third.phase_ns = 150 * kMs;
  const size_t c = executor.Add(third);
  executor.RunUntil(400 * kMs);
  EXPECT_THAT(executor.violations(), IsEmpty());
  EXPECT_EQ(executor.task(c), 0u);
  EXPECT_GE(executor.FinishedOf(c).size(), 7u);
}

TEST(SgprsInVirtualTime, AKernelThatNeverEndsCostsOnePartition) {
  ToyExecutor executor(PaperPool("sgprs"));
  ToyProcess hung = Periodic("hung", kPeriod, 2 * kMs);
  hung.hang_job = 10;
  hung.hang_launch = 20;
  const size_t h = executor.Add(hung);
  std::vector<size_t> others;
  for (int i = 0; i < 5; ++i) others.push_back(executor.Add(Periodic("t", kPeriod, 2 * kMs)));
  executor.RunUntil(3000 * kMs);
  EXPECT_THAT(executor.violations(), IsEmpty());
  EXPECT_EQ(executor.FinishedOf(h).size(), 9u);
  uint32_t stalled = 0;
  for (uint32_t p = 0; p < 3; ++p) {
    const PartitionStats stats = executor.scheduler().Stats(p, executor.now_ns());
    stalled += stats.stalled;
    EXPECT_TRUE(stats.stalled == 0 || stats.queued == 0);
  }
  EXPECT_EQ(stalled, 1u);
  for (const size_t other : others) {
    EXPECT_EQ(LateSince(executor.FinishedOf(other), 1500 * kMs), 0u);
  }
}

TEST(SgprsInVirtualTime, AllPartitionsStalledStillServe) {
  ToyExecutor executor(PaperPool("sgprs"));
  for (int i = 0; i < 8; ++i) {
    ToyProcess hung = Periodic("hung", kPeriod, 2 * kMs);
    hung.hang_job = 5;
    executor.Add(hung);
  }
  const size_t other = executor.Add(Periodic("t", kPeriod, 2 * kMs));
  executor.RunUntil(6000 * kMs);
  EXPECT_EQ(LateSince(executor.FinishedOf(other), 4000 * kMs), 0u);
  EXPECT_GE(OnTimeSince(executor.FinishedOf(other), 4000 * kMs), 55u);
}

TEST(SgprsInVirtualTime, SlowApplicationHoldsNoSlotWhileItThinks) {
  SchedulerConfig config = PaperPool("sgprs");
  config.partitions = {{68, 1}};
  ToyExecutor executor(config);
  ToyProcess slow = Periodic("slow", 100 * kMs, kMs, 20);
  slow.record_gap_ns = 4 * kMs;
  executor.Add(slow);
  const size_t quick = executor.Add(Periodic("quick", 20 * kMs, 2 * kMs));
  executor.RunUntil(2000 * kMs);
  EXPECT_THAT(executor.violations(), IsEmpty());
  EXPECT_EQ(LateSince(executor.FinishedOf(quick), 300 * kMs), 0u);
  EXPECT_EQ(executor.scheduler().Stats(0, executor.now_ns()).stalled, 0u);
}

TEST(SgprsInVirtualTime, LearnsAnewWhenTheNetworkChanges) {
  ToyExecutor executor(PaperPool("sgprs"));
  ToyProcess process = Periodic("t", kPeriod, 2 * kMs);
  process.vary = [](uint64_t job) { return std::vector<uint64_t>(job < 20 ? 48 : 30, 60'000); };
  const size_t t = executor.Add(process);
  executor.RunUntil(1500 * kMs);
  EXPECT_THAT(executor.violations(), IsEmpty());
  const TaskView view = executor.scheduler().View(executor.task(t));
  EXPECT_TRUE(view.scheduled);
  EXPECT_EQ(view.job_launches, 30u);
  EXPECT_EQ(view.jobs_off_signature, 3u);
  EXPECT_EQ(executor.FinishedOf(t).back().stages, 6u);
}

// Jobs of ever new lengths never settle; they run all the same.
TEST(SgprsInVirtualTime, UnsteadyJobsRunOpenly) {
  for (const Closing closing : {Closing::kAtCompletion, Closing::kAfterNextRelease}) {
    ToyExecutor executor(PaperPool("sgprs"), closing);
    ToyProcess process = Periodic("t", kPeriod, 2 * kMs);
    process.vary = [](uint64_t job) { return std::vector<uint64_t>(20 + job % 13, 60'000); };
    const size_t t = executor.Add(process);
    executor.RunUntil(2000 * kMs);
    EXPECT_THAT(executor.violations(), IsEmpty());
    EXPECT_FALSE(executor.scheduler().View(executor.task(t)).scheduled);
    EXPECT_GE(executor.FinishedOf(t).size(), 58u);
    EXPECT_EQ(LateSince(executor.FinishedOf(t), 0), 0u);
  }
}

TEST(SgprsInVirtualTime, ForcedSwitchMovesEveryStage) {
  SchedulerConfig config = PaperPool("sgprs");
  config.force_switch = true;
  ToyExecutor executor(config);
  executor.Add(Periodic("t", kPeriod, 2 * kMs));
  executor.RunUntil(500 * kMs);
  EXPECT_THAT(executor.violations(), IsEmpty());
  const std::vector<Grant>& grants = executor.grants();
  ASSERT_GT(grants.size(), 50u);
  for (size_t i = 1; i < grants.size(); ++i) {
    EXPECT_NE(grants[i].partition, grants[i - 1].partition);
    EXPECT_TRUE(grants[i].switched);
  }
  EXPECT_EQ(executor.scheduler().View(0).switches, grants.size() - 1);
}

TEST(SgprsInVirtualTime, PolicyChangesWhileItRuns) {
  ToyExecutor executor(PaperPool("sgprs"));
  std::vector<size_t> processes;
  for (int i = 0; i < 6; ++i) processes.push_back(executor.Add(Periodic("t", kPeriod, 3 * kMs)));
  executor.Add(Flood("f", 100'000));
  uint64_t end_ns = 300 * kMs;
  executor.RunUntil(end_ns);
  for (int round = 0; round < 3; ++round) {
    for (const policy::PolicyRow& row : policy::PolicyTable()) {
      ASSERT_TRUE(executor.scheduler().SetPolicy(row.name, executor.now_ns()).ok());
      EXPECT_EQ(executor.scheduler().policy_name(), row.name);
      end_ns += 101'700'000;
      executor.RunUntil(end_ns);
    }
  }
  EXPECT_THAT(executor.violations(), IsEmpty());
  for (const size_t process : processes) {
    EXPECT_GE(executor.FinishedOf(process).size(), 54u);
  }
  EXPECT_FALSE(executor.scheduler().SetPolicy("best", executor.now_ns()).ok());
}

TEST(SgprsInVirtualTime, HighClassIsOnTimeUnderOverload) {
  ToyExecutor executor(PaperPool("sgprs"));
  std::vector<size_t> high;
  for (int i = 0; i < 4; ++i) {
    high.push_back(executor.Add(Periodic("h", kPeriod, 3 * kMs, 48, SGPRS_CLASS_HIGH)));
  }
  for (int i = 0; i < 20; ++i) executor.Add(Periodic("l", kPeriod, 4 * kMs));
  executor.RunUntil(3000 * kMs);
  EXPECT_THAT(executor.violations(), IsEmpty());
  for (const size_t h : high) EXPECT_EQ(LateSince(executor.FinishedOf(h), 1000 * kMs), 0u);
}

}  // namespace
}  // namespace sgprs::sched
