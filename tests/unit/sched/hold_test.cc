// SPDX-License-Identifier: Apache-2.0
// `hold` and `daris` in virtual time: what must be true whatever the load. Seeds are fixed; a
// failure prints its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "runtime/policy/policy.h"
#include "tests/unit/sched/toy_executor.h"

namespace sgprs::sched {
namespace {

using ::testing::IsEmpty;

constexpr uint64_t kPeriod = 33 * kMs;
constexpr uint64_t kFrom = 2000 * kMs;  // learnt, settled
constexpr uint64_t kTo = 6000 * kMs;

SchedulerConfig HoldPool(const std::string& policy = "sgprs") {
  SchedulerConfig config = PaperPool(policy);
  config.overload = policy::OverloadMode::kHold;
  return config;
}

// `n` tasks of 2 ms each 33 ms; the pool does about 37 of them.
void AddTasks(ToyExecutor* executor, int n, uint32_t seed,
              SgprsTaskClass task_class = SGPRS_CLASS_LOW) {
  std::mt19937 random(seed);
  for (int i = 0; i < n; ++i) {
    ToyProcess process = Periodic("t", kPeriod, 2 * kMs, 48, task_class);
    process.phase_ns = random() % 66 * kMs;
    executor->Add(process);
  }
}

struct Counts {
  uint64_t on_time = 0;
  uint64_t late = 0;
  uint64_t held = 0;
  uint64_t least = UINT64_MAX;  // on time, of any task
  uint64_t most = 0;
};

Counts Count(const ToyExecutor& executor, size_t first, size_t last) {
  Counts counts;
  for (size_t i = first; i < last; ++i) {
    uint64_t on_time = 0;
    for (const FinishedJob& job : executor.FinishedOf(i)) {
      if (job.release_ns < kFrom || job.release_ns >= kTo - kPeriod) continue;
      on_time += job.on_time;
      counts.late += !job.on_time;
      counts.held += job.held_periods;
    }
    counts.on_time += on_time;
    counts.least = std::min(counts.least, on_time);
    counts.most = std::max(counts.most, on_time);
  }
  return counts;
}

Counts RunTasks(const SchedulerConfig& config, int n, uint32_t seed) {
  ToyExecutor executor(config);
  AddTasks(&executor, n, seed);
  executor.RunUntil(kTo);
  EXPECT_THAT(executor.violations(), IsEmpty());
  return Count(executor, 0, static_cast<size_t>(n));
}

TEST(HoldTest, OnTimeFramesDoNotFallWhenTasksAreAdded) {
  uint64_t best = 0;
  for (const int n : {30, 36, 37, 38, 42, 60, 120}) {
    SCOPED_TRACE(n);
    const Counts counts = RunTasks(HoldPool(), n, 1);
    best = std::max(best, counts.on_time);
    EXPECT_GE(counts.on_time * 100, best * 97);
    EXPECT_LE(counts.late * 100, counts.on_time) << "more than one in a hundred late";
    EXPECT_EQ(counts.held == 0, n <= 37) << counts.held << " held";
  }
}

TEST(HoldTest, WithoutOverloadItChangesNothing) {
  SchedulerConfig late = HoldPool();
  late.overload = policy::OverloadMode::kLate;
  EXPECT_EQ(RunTasks(HoldPool(), 30, 2).on_time, RunTasks(late, 30, 2).on_time);
}

TEST(HoldTest, EveryTaskGetsTheSame) {
  for (uint32_t seed = 1; seed <= 3; ++seed) {
    for (const int n : {40, 50, 80}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", n " << n);
      ToyExecutor executor(HoldPool());
      AddTasks(&executor, n, seed);
      executor.RunUntil(kTo);
      const Counts counts = Count(executor, 0, static_cast<size_t>(n));
      // Within one of the mean; the window cuts periods of different phase.
      EXPECT_LE(counts.most - counts.least, 2u) << counts.least << " to " << counts.most;
      const auto even = static_cast<uint32_t>(37 * kWindowSlots / static_cast<uint32_t>(n));
      for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
        EXPECT_GE(executor.scheduler().View(executor.task(i)).worst_window + 2, even) << i;
      }
    }
  }
}

// Different periods and costs: the same part of its frames for everybody.
TEST(HoldTest, RatiosAreEqualAcrossPeriods) {
  ToyExecutor executor(HoldPool());
  for (int i = 0; i < 24; ++i) {
    const bool slow = i % 2 == 0;
    ToyProcess process = Periodic("t", slow ? 99 * kMs : 33 * kMs, slow ? 12 * kMs : 3 * kMs);
    process.phase_ns = static_cast<uint64_t>(i) * 7 * kMs;
    executor.Add(process);
  }
  executor.RunUntil(2 * kTo);
  EXPECT_THAT(executor.violations(), IsEmpty());
  double least = 1;
  double most = 0;
  for (size_t i = 0; i < 24; ++i) {
    double on_time = 0;
    double slots = 0;
    for (const FinishedJob& job : executor.FinishedOf(i)) {
      if (job.release_ns < kFrom) continue;
      on_time += job.on_time;
      slots += 1 + static_cast<double>(job.held_periods);
    }
    least = std::min(least, on_time / slots);
    most = std::max(most, on_time / slots);
  }
  EXPECT_LT(most, 1.0) << "no overload: nothing was tested";
  EXPECT_LT(most - least, 0.1) << least << " to " << most;
}

TEST(HoldTest, HighClassMissesNothingBelowItsShare) {
  for (const std::string policy : {"sgprs", "edf", "fifo", "rm"}) {
    for (const int high : {8, 16, 26}) {  // 26 of 37 are 0.7
      SCOPED_TRACE(policy + " with " + std::to_string(high));
      ToyExecutor executor(HoldPool(policy));
      AddTasks(&executor, high, 5, SGPRS_CLASS_HIGH);
      AddTasks(&executor, 40, 6);
      executor.RunUntil(kTo);
      EXPECT_THAT(executor.violations(), IsEmpty());
      const auto first_low = static_cast<size_t>(high);
      const Counts highs = Count(executor, 0, first_low);
      EXPECT_EQ(highs.late, 0u);
      EXPECT_EQ(highs.held, 0u);
      const Counts lows = Count(executor, first_low, first_low + 40);
      EXPECT_GT(lows.held, 0u);
      EXPECT_GE(lows.least, 1u) << "starved";
    }
  }
}

// A shim grants itself after 10 s; nobody waits that long, however little fits.
TEST(HoldTest, NobodyWaitsLongerThanTheBound) {
  SchedulerConfig config = HoldPool();
  config.max_hold_ns = 500 * kMs;
  ToyExecutor executor(config);
  for (int i = 0; i < 60; ++i) executor.Add(Periodic("t", kPeriod, 20 * kMs));
  executor.Add(Periodic("rare", 5000 * kMs, 20 * kMs));
  executor.RunUntil(20'000 * kMs);
  EXPECT_THAT(executor.violations(), IsEmpty());
  for (size_t i = 0; i < 61; ++i) {
    EXPECT_LE(executor.WorstFirstGrantNs(i, 0), 3000 * kMs) << i;
    EXPECT_GE(executor.FinishedOf(i).size(), 3u) << i;
  }
}

// The next release of a slow task may lie beyond the bound: its job starts before, late.
TEST(HoldTest, ASlowTaskIsNotHeldForItsPeriod) {
  SchedulerConfig config = HoldPool();
  config.max_hold_ns = 500 * kMs;
  ToyExecutor executor(config);
  AddTasks(&executor, 60, 5);
  ToyProcess slow = Periodic("slow", 4000 * kMs, 20 * kMs);
  slow.config.deadline_ns = 40 * kMs;
  executor.Add(slow);
  executor.RunUntil(20'000 * kMs);
  EXPECT_THAT(executor.violations(), IsEmpty());
  EXPECT_LE(executor.WorstFirstGrantNs(60, 0), 1000 * kMs);
  EXPECT_GE(executor.FinishedOf(60).size(), 4u);
}

// A job that was held is the next release's: deadlines stay on the task's grid.
TEST(HoldTest, HeldJobsCountForALaterRelease) {
  ToyExecutor executor(HoldPool());
  AddTasks(&executor, 60, 7);
  executor.RunUntil(kTo);
  uint64_t held = 0;
  for (size_t i = 0; i < 60; ++i) {
    const std::vector<FinishedJob> jobs = executor.FinishedOf(i);
    for (size_t j = 1; j < jobs.size(); ++j) {
      if (jobs[j].release_ns < kFrom) continue;
      EXPECT_EQ((jobs[j].release_ns - jobs[j - 1].release_ns) % kPeriod, 0u);
      EXPECT_EQ(jobs[j].release_ns - jobs[j - 1].release_ns,
                (1 + jobs[j].skipped_periods) * kPeriod);
      EXPECT_LE(jobs[j].held_periods, jobs[j].skipped_periods);
      EXPECT_EQ(jobs[j].deadline_ns, jobs[j].release_ns + kPeriod);
      held += jobs[j].held_periods;
    }
  }
  EXPECT_GT(held, 500u);
}

// Overload passes: everybody is served fully again, in step with its own clock.
TEST(HoldTest, RecoversWhenOthersLeave) {
  ToyExecutor executor(HoldPool());
  AddTasks(&executor, 20, 8);
  for (int i = 0; i < 40; ++i) {
    ToyProcess process = Periodic("guest", kPeriod, 2 * kMs);
    process.killed_ns = 3000 * kMs;
    executor.Add(process);
  }
  executor.RunUntil(9000 * kMs);
  EXPECT_THAT(executor.violations(), IsEmpty());
  for (size_t i = 0; i < 20; ++i) {
    uint64_t on_time = 0;
    for (const FinishedJob& job : executor.FinishedOf(i)) {
      if (job.release_ns < 6000 * kMs) continue;
      EXPECT_TRUE(job.on_time);
      EXPECT_EQ(job.held_periods, 0u);
      EXPECT_LE(job.release_ns, job.first_launch_ns) << "still ahead of its clock";
      ++on_time;
    }
    EXPECT_GE(on_time, 88u) << i;
  }
}

// Work is conserved: while anybody waits at the gate, no slot stays empty for want of a job.
TEST(HoldTest, SlotsStayFullUnderOverload) {
  ToyExecutor executor(HoldPool());
  AddTasks(&executor, 80, 9);
  executor.RunUntil(kFrom);
  uint64_t idle = 0;
  uint64_t looks = 0;
  for (uint64_t at_ns = kFrom; at_ns < kTo; at_ns += 300'000, ++looks) {
    executor.RunUntil(at_ns);
    for (uint32_t p = 0; p < 3; ++p) {
      idle += executor.scheduler().Stats(p, executor.now_ns()).running == 0;
    }
  }
  EXPECT_LE(idle * 100, looks * 3) << "a partition was idle one time in a hundred";
}

TEST(DarisTest, HighClassIsAlwaysAdmittedAndOnTime) {
  ToyExecutor executor(PaperPool("daris"));
  AddTasks(&executor, 12, 1, SGPRS_CLASS_HIGH);
  AddTasks(&executor, 60, 2);
  executor.RunUntil(kTo);
  EXPECT_THAT(executor.violations(), IsEmpty());
  const Counts highs = Count(executor, 0, 12);
  EXPECT_EQ(highs.held, 0u);
  EXPECT_EQ(highs.late, 0u);
  const Counts lows = Count(executor, 12, 72);
  EXPECT_GT(lows.held, 0u);
  EXPECT_LE(lows.late * 100, lows.on_time * 6) << "what it admits is nearly always on time";
}

TEST(ProfileTest, NothingIsToBeLearnt) {
  ToyExecutor executor(PaperPool("sgprs"));
  ToyProcess process = Periodic("t", kPeriod, 6 * kMs);
  TaskProfile profile;
  for (size_t i = 0; i < process.launch_ns.size(); ++i) {
    profile.launches.push_back(process.launch_ns[i] * 31 + i + 1);  // as the executor closes jobs
  }
  for (uint64_t stage = 1; stage <= 4; ++stage) {
    profile.stages.push_back({stage * 12, {{34, 2 * kMs}}});
  }
  process.config.profile = profile;
  const size_t t = executor.Add(process);
  executor.RunUntil(1000 * kMs);
  EXPECT_THAT(executor.violations(), IsEmpty());
  EXPECT_FALSE(executor.grants().front().learning);
  EXPECT_EQ(executor.FinishedOf(t).front().stages, 4u);
  EXPECT_EQ(executor.scheduler().View(executor.task(t)).jobs_off_signature, 0u);
}

// papers.md 1.3 (4): each stage's deadline is its share of the costs, cumulated, times the margin.
TEST(ProfileTest, VirtualDeadlinesAreSharesOfTheCosts) {
  SchedulerConfig config = PaperPool("sgprs");
  config.options.deadline_margin = 0.9;
  ToyExecutor executor(config);
  ToyProcess process = Periodic("t", kPeriod, 6 * kMs);
  TaskProfile profile;
  for (size_t i = 0; i < process.launch_ns.size(); ++i) {
    profile.launches.push_back(process.launch_ns[i] * 31 + i + 1);  // as the executor closes jobs
  }
  profile.stages = {{12, {{34, 1 * kMs}}}, {24, {{34, 3 * kMs}}}, {48, {{34, 6 * kMs}}}};
  process.config.profile = profile;
  executor.Add(process);
  executor.RunUntil(kPeriod / 2);
  ASSERT_EQ(executor.grants().size(), 3u);
  const double whole_ns = 0.9 * static_cast<double>(kPeriod);
  for (const auto& [stage, part] : {std::pair{0u, 0.1}, {1u, 0.4}, {2u, 1.0}}) {
    EXPECT_NEAR(static_cast<double>(executor.grants()[stage].virtual_deadline_ns), part * whole_ns,
                100'000)
        << stage;
  }
}

TEST(ProfileTest, NonsenseIsNamed) {
  auto made = Scheduler::Make(PaperPool("sgprs"));
  Scheduler* scheduler = made->get();
  const auto error = [&](const TaskProfile& profile) {
    return scheduler->AddTask({.name = "t", .profile = profile}, 0).status().text();
  };
  EXPECT_THAT(error({}), testing::HasSubstr("task \"t\": profile: 0 stages"));
  EXPECT_THAT(error({.launches = {1, 2}, .stages = {{2, {}}}}),
              testing::HasSubstr("without a cost"));
  EXPECT_THAT(error({.launches = {1, 2}, .stages = {{1, {{34, 5}}}}}),
              testing::HasSubstr("ends at 1 of 2"));
  EXPECT_THAT(error({.launches = {1, 2}, .stages = {{2, {{34, 5}}}, {2, {{34, 5}}}}}),
              testing::HasSubstr("must rise"));
}

}  // namespace
}  // namespace sgprs::sched
