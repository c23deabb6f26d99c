// SPDX-License-Identifier: Apache-2.0
// The contract of scheduler.h, call by call.
#include "runtime/sched/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sgprs::sched {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kPeriod = 33 * kMs;

class SchedulerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    config_.partitions = {{34, 1}, {68, 1}};
    config_.device_sm_count = 68;
    config_.stages = 3;
    config_.learning_jobs = 1;
    config_.learning_chunks = 6;
  }
  void Make() {
    Result<std::unique_ptr<Scheduler>> made = Scheduler::Make(config_);
    ASSERT_TRUE(made.ok()) << made.status().text();
    scheduler_ = std::move(*made);
  }
  std::string MakeError() { return Scheduler::Make(config_).status().text(); }
  TaskId Add(uint64_t period_ns = kPeriod, SgprsTaskClass task_class = SGPRS_CLASS_LOW) {
    return *scheduler_->AddTask({.name = "t", .task_class = task_class, .period_ns = period_ns},
                                now_ns_);
  }
  std::vector<Grant> Decide() {
    std::vector<Grant> grants;
    scheduler_->Decide(now_ns_, &grants);
    return grants;
  }
  void Report(const Grant& grant, uint64_t done, bool whole, uint64_t recorded = 0) {
    scheduler_->StageProgress(grant.task,
                              {.job = grant.job,
                               .stage = grant.stage,
                               .partition = grant.partition,
                               .done = done,
                               .whole = whole,
                               .complete_ns = now_ns_,
                               .recorded = recorded},
                              now_ns_);
  }
  std::vector<uint64_t> Launches(uint64_t count = 12) {
    std::vector<uint64_t> launches(count);
    for (uint64_t i = 0; i < count; ++i) launches[i] = i + 1;
    return launches;
  }
  // Runs a job alone, `stage_ns` a grant, up to its end; leaves it unclosed. Returns its grants.
  std::vector<Grant> RunJob(TaskId task, uint64_t job, uint64_t stage_ns = kMs,
                            uint64_t length = 12) {
    std::vector<Grant> all;
    scheduler_->JobReleased(task, job, now_ns_, now_ns_);
    for (std::vector<Grant> grants = Decide(); !grants.empty(); grants = Decide()) {
      EXPECT_THAT(grants, SizeIs(1));
      all.push_back(grants[0]);
      now_ns_ += stage_ns;
      const bool whole = grants[0].upto <= length;
      Report(grants[0], std::min(grants[0].upto, length), whole, length);
      if (!whole) break;
    }
    return all;
  }
  void Close(TaskId task, uint64_t job, uint64_t length = 12) {
    scheduler_->JobClosed(task, job, Launches(length), now_ns_, now_ns_);
  }
  // Three jobs, after which stages are cut.
  void Learn(TaskId task) {
    for (uint64_t job = 1; job <= 2; ++job) {
      const uint64_t release_ns = now_ns_;
      RunJob(task, job);
      Close(task, job);
      now_ns_ = release_ns + kPeriod;
    }
    ASSERT_TRUE(scheduler_->View(task).scheduled);
    scheduler_->TakeFinishedJobs();
  }

  SchedulerConfig config_;
  std::unique_ptr<Scheduler> scheduler_;
  uint64_t now_ns_ = 1000 * kMs;
};

// What a stamp of the kernel is for: a process that got going 8 ms late keeps its deadline.
TEST_F(SchedulerTest, AKnownReleaseCarriesTheDeadline) {
  Make();
  const TaskId task = Add();
  Learn(task);
  const uint64_t due_ns = now_ns_;
  now_ns_ += 8 * kMs;
  scheduler_->JobReleasedAt(task, 3, due_ns, now_ns_, now_ns_);
  for (std::vector<Grant> grants = Decide(); !grants.empty(); grants = Decide()) {
    EXPECT_LE(grants[0].virtual_deadline_ns, due_ns + kPeriod);
    now_ns_ += kMs;
    Report(grants[0], std::min<uint64_t>(grants[0].upto, 12), grants[0].upto <= 12, 12);
    if (grants[0].upto > 12) break;
  }
  Close(task, 3);
  const std::vector<FinishedJob> jobs = scheduler_->TakeFinishedJobs();
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_EQ(jobs[0].release_ns, due_ns);
  EXPECT_EQ(jobs[0].deadline_ns, due_ns + kPeriod);
  EXPECT_EQ(jobs[0].first_launch_ns, due_ns + 8 * kMs);
}

TEST_F(SchedulerTest, MakeNamesWhatIsWrong) {
  SchedulerConfig good = config_;
  config_.policy = "best";
  EXPECT_THAT(MakeError(), HasSubstr("\"best\""));
  EXPECT_THAT(MakeError(), HasSubstr("sgprs, naive"));
  config_ = good;
  config_.partitions.clear();
  EXPECT_THAT(MakeError(), HasSubstr("partitions is 0"));
  config_ = good;
  config_.partitions[1].capacity = 1025;
  EXPECT_THAT(MakeError(), HasSubstr("partition 1: capacity is 1025"));
  config_ = good;
  config_.stages = 33;
  EXPECT_THAT(MakeError(), HasSubstr("stages is 33"));
  config_ = good;
  config_.options.deadline_margin = 0;
  EXPECT_THAT(MakeError(), HasSubstr("deadline_margin"));
}

TEST_F(SchedulerTest, LearnsStepByStep) {
  Make();
  const TaskId task = Add();
  const std::vector<Grant> first = RunJob(task, 1);
  EXPECT_TRUE(first[0].learning);
  EXPECT_FALSE(scheduler_->View(task).scheduled);
  EXPECT_THAT(scheduler_->TakeFinishedJobs(), IsEmpty()) << "its end is not known";
  Close(task, 1);
  EXPECT_THAT(scheduler_->TakeFinishedJobs(), SizeIs(1));
  EXPECT_EQ(scheduler_->View(task).job_launches, 12u);

  now_ns_ += kPeriod;
  EXPECT_THAT(RunJob(task, 2), SizeIs(6));
  Close(task, 2);
  now_ns_ += kPeriod;
  const std::vector<Grant> third = RunJob(task, 3);
  ASSERT_THAT(third, SizeIs(3));
  EXPECT_EQ(third[0].from, 0u);
  EXPECT_EQ(third[0].upto, 4u);
  EXPECT_EQ(third[1].upto, 8u);
  EXPECT_EQ(third[2].upto, kOpen);
  EXPECT_EQ(third[2].stage_count, 3u);
  EXPECT_FALSE(third[2].learning);
  EXPECT_EQ(third[2].level, SGPRS_LEVEL_HIGH) << "last stage";
  EXPECT_EQ(scheduler_->View(task).stages, 3u);
}

TEST_F(SchedulerTest, VirtualDeadlinesShareTheDeadlineByCost) {
  Make();
  const TaskId task = Add();
  Learn(task);
  const uint64_t release_ns = now_ns_;
  const std::vector<Grant> grants = RunJob(task, 3);
  ASSERT_THAT(grants, SizeIs(3));
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(static_cast<double>(grants[i].virtual_deadline_ns - release_ns),
                static_cast<double>(kPeriod) * (i + 1) / 3, 1000);
  }
  EXPECT_EQ(grants[2].virtual_deadline_ns, release_ns + kPeriod);
}

TEST_F(SchedulerTest, FinishedOnceWhenProgressReachesTheLearntLength) {
  Make();
  const TaskId task = Add();
  Learn(task);
  const uint64_t release_ns = now_ns_;
  RunJob(task, 3);
  std::vector<FinishedJob> finished = scheduler_->TakeFinishedJobs();
  ASSERT_THAT(finished, SizeIs(1));
  EXPECT_EQ(finished[0].release_ns, release_ns);
  EXPECT_EQ(finished[0].deadline_ns, release_ns + kPeriod);
  EXPECT_EQ(finished[0].complete_ns, now_ns_);
  EXPECT_EQ(finished[0].stages, 3u);
  EXPECT_TRUE(finished[0].on_time);
  EXPECT_EQ(scheduler_->Stats(finished[0].task, now_ns_).running, 0u);
  Close(task, 3);
  EXPECT_THAT(scheduler_->TakeFinishedJobs(), IsEmpty());
}

TEST_F(SchedulerTest, LateStageRaisesTheNextToMedium) {
  Make();
  const TaskId task = Add();
  Learn(task);
  const std::vector<Grant> grants = RunJob(task, 3, 12 * kMs);
  ASSERT_THAT(grants, SizeIs(3));
  EXPECT_EQ(grants[0].level, SGPRS_LEVEL_LOW);
  EXPECT_EQ(grants[1].level, SGPRS_LEVEL_MEDIUM);
  const FinishedJob job = scheduler_->TakeFinishedJobs().at(0);
  EXPECT_FALSE(job.on_time);
  EXPECT_EQ(job.stages_late, 3u);
  EXPECT_EQ(scheduler_->View(task).stages_late, 3u);
}

TEST_F(SchedulerTest, OverrunKeepsTheNextDeadline) {
  Make();
  const TaskId task = Add();
  Learn(task);
  const uint64_t release_ns = now_ns_;
  RunJob(task, 3, 14 * kMs);  // 42 ms
  Close(task, 3);
  RunJob(task, 4);
  const std::vector<FinishedJob> finished = scheduler_->TakeFinishedJobs();
  ASSERT_THAT(finished, SizeIs(2));
  EXPECT_EQ(finished[1].release_ns, release_ns + kPeriod);
  EXPECT_EQ(finished[1].deadline_ns, release_ns + 2 * kPeriod);
  EXPECT_EQ(finished[1].first_launch_ns, release_ns + 42 * kMs);
  EXPECT_TRUE(finished[1].on_time);
}

TEST_F(SchedulerTest, NewJobBeforeTheOldOneIsClosedWaits) {
  Make();
  const TaskId task = Add();
  Learn(task);
  scheduler_->JobReleased(task, 3, now_ns_, now_ns_);
  std::vector<Grant> grants = Decide();
  ASSERT_THAT(grants, SizeIs(1));
  scheduler_->JobReleased(task, 4, now_ns_, now_ns_);
  EXPECT_THAT(Decide(), IsEmpty()) << "job 3 runs";
  Report(grants[0], 4, true, 12);
  grants = Decide();
  ASSERT_THAT(grants, SizeIs(1));
  EXPECT_EQ(grants[0].job, 3u);
  Report(grants[0], 8, true, 12);
  grants = Decide();
  Report(grants[0], 12, false, 12);
  grants = Decide();
  ASSERT_THAT(grants, SizeIs(1));
  EXPECT_EQ(grants[0].job, 4u);
  Close(task, 3);
  EXPECT_EQ(scheduler_->View(task).jobs_off_signature, 0u);
}

TEST_F(SchedulerTest, ShortJobThatIsFollowedIsGrantedOpenlyFirst) {
  Make();
  const TaskId task = Add();
  Learn(task);
  scheduler_->JobReleased(task, 3, now_ns_, now_ns_);
  const std::vector<Grant> grants = Decide();
  Report(grants[0], 2, false, 2);  // the job has two launches only
  scheduler_->JobReleased(task, 4, now_ns_, now_ns_);
  const std::vector<Grant> next = Decide();
  ASSERT_THAT(next, SizeIs(2));
  EXPECT_EQ(next[0].job, 3u);
  EXPECT_EQ(next[0].from, 4u);
  EXPECT_EQ(next[0].upto, kOpen);
  EXPECT_EQ(next[1].job, 4u);
  EXPECT_EQ(next[1].from, 0u);
  const std::vector<FinishedJob> finished = scheduler_->TakeFinishedJobs();
  ASSERT_THAT(finished, SizeIs(1));
  EXPECT_TRUE(finished[0].off_signature);
}

TEST_F(SchedulerTest, EdfInsideALevel) {
  config_.partitions = {{68, 1}};
  Make();
  const TaskId blocker = Add(0);
  const TaskId loose = Add(90 * kMs);
  const TaskId tight = Add(20 * kMs);
  const TaskId best_effort = Add(0, SGPRS_CLASS_BEST_EFFORT);
  const TaskId high = Add(100 * kMs, SGPRS_CLASS_HIGH);
  scheduler_->JobReleased(blocker, 1, now_ns_, now_ns_);
  std::vector<Grant> grants = Decide();
  ASSERT_THAT(grants, SizeIs(1));
  for (const TaskId task : {best_effort, loose, tight, high}) {
    scheduler_->JobReleased(task, 1, now_ns_, now_ns_);
  }
  EXPECT_THAT(Decide(), IsEmpty());
  EXPECT_EQ(scheduler_->Stats(0, now_ns_).queued, 4u);
  scheduler_->RemoveTask(blocker, now_ns_);
  std::vector<TaskId> order;
  for (grants = Decide(); !grants.empty(); grants = Decide()) {
    for (const Grant& grant : grants) order.push_back(grant.task);
    scheduler_->RemoveTask(grants.back().task, now_ns_);
  }
  EXPECT_THAT(order, ElementsAre(high, tight, loose, best_effort));
}

TEST_F(SchedulerTest, IdlePartitionTakesOverBestEffortWork) {
  config_.partitions = {{68, 1}, {68, 1}};
  Make();
  const TaskId a = Add();
  const TaskId b = Add();
  const TaskId c = Add(0, SGPRS_CLASS_BEST_EFFORT);
  for (const TaskId task : {a, b}) scheduler_->JobReleased(task, 1, now_ns_, now_ns_);
  const std::vector<Grant> busy = Decide();
  ASSERT_THAT(busy, SizeIs(2));
  scheduler_->JobReleased(c, 1, now_ns_, now_ns_);
  EXPECT_THAT(Decide(), IsEmpty());
  // The queue it chose is that of the task which stays.
  const uint32_t queue = scheduler_->Stats(0, now_ns_).queued == 1 ? 0 : 1;
  scheduler_->RemoveTask(busy[0].partition == queue ? busy[1].task : busy[0].task, now_ns_);
  const std::vector<Grant> taken = Decide();
  ASSERT_THAT(taken, SizeIs(1));
  EXPECT_EQ(taken[0].task, c);
  EXPECT_EQ(taken[0].partition, 1 - queue);
}

TEST_F(SchedulerTest, RemovedTaskFreesItsSlotAndIsForgotten) {
  config_.partitions = {{68, 1}};
  Make();
  const TaskId a = Add();
  const TaskId b = Add();
  scheduler_->JobReleased(a, 1, now_ns_, now_ns_);
  const std::vector<Grant> grants = Decide();
  scheduler_->JobReleased(b, 1, now_ns_, now_ns_);
  EXPECT_THAT(Decide(), IsEmpty());
  scheduler_->RemoveTask(a, now_ns_);
  EXPECT_THAT(Decide(), SizeIs(1));
  Report(grants[0], 8, true);  // a report that was on its way
  Close(a, 1);
  EXPECT_THAT(Decide(), IsEmpty());
  EXPECT_EQ(Add(), a) << "ids are reused";
}

TEST_F(SchedulerTest, ReportsFromElsewhereChangeNothing) {
  Make();
  const TaskId task = Add();
  Learn(task);
  scheduler_->JobReleased(task, 3, now_ns_, now_ns_);
  const Grant grant = Decide().at(0);
  Grant other = grant;
  other.job = 9;
  Report(other, 4, true);
  other = grant;
  other.stage = 2;
  Report(other, 4, true);
  other = grant;
  other.task = 77;
  Report(other, 4, true);
  scheduler_->JobReleased(task, 3, now_ns_, now_ns_);
  EXPECT_THAT(Decide(), IsEmpty());
  Report(grant, 1'000'000, true);  // more than was granted
  const std::vector<Grant> next = Decide();
  ASSERT_THAT(next, SizeIs(1));
  EXPECT_EQ(next[0].from, 4u);
}

TEST_F(SchedulerTest, IdleStageParksAndComesBack) {
  config_.partitions = {{68, 1}};
  Make();
  const TaskId a = Add();
  const TaskId b = Add();
  Learn(a);
  scheduler_->JobReleased(a, 3, now_ns_, now_ns_);
  const Grant grant = Decide().at(0);
  scheduler_->JobReleased(b, 1, now_ns_, now_ns_);
  Report(grant, 2, false, 2);
  EXPECT_THAT(Decide(), IsEmpty());
  EXPECT_EQ(scheduler_->NextWakeNs(), now_ns_ + config_.park_after_ns);
  now_ns_ += config_.park_after_ns;
  EXPECT_THAT(Decide(), SizeIs(1)) << "b";
  EXPECT_EQ(scheduler_->Stats(0, now_ns_).parked, 1u);
  Report(grant, 3, false, 3);
  EXPECT_EQ(scheduler_->Stats(0, now_ns_).running, 2u) << "its grant stayed valid";
  Report(grant, 4, true, 12);
  EXPECT_EQ(scheduler_->Stats(0, now_ns_).running, 1u);
}

TEST_F(SchedulerTest, StalledStageMovesTheOthersElsewhere) {
  config_.partitions = {{68, 1}, {68, 1}};
  config_.policy = "static";
  Make();
  const TaskId a = Add();
  Add();
  const TaskId c = Add();  // same partition as a
  scheduler_->JobReleased(a, 1, now_ns_, now_ns_);
  const Grant grant = Decide().at(0);
  EXPECT_EQ(grant.partition, 0u);
  now_ns_ += config_.stall_min_ns - kMs;
  scheduler_->JobReleased(c, 1, now_ns_, now_ns_);
  EXPECT_THAT(Decide(), IsEmpty());
  now_ns_ += kMs;
  const std::vector<Grant> moved = Decide();
  ASSERT_THAT(moved, SizeIs(1));
  EXPECT_EQ(moved[0].partition, 1u);
  EXPECT_EQ(scheduler_->Stats(0, now_ns_).stalled, 1u);
  Report(grant, grant.upto, true);
  EXPECT_EQ(scheduler_->Stats(0, now_ns_).stalled, 0u);
}

TEST_F(SchedulerTest, OpenJobsComeInBoundedContiguousRanges) {
  Make();
  const TaskId task = Add(0, SGPRS_CLASS_BEST_EFFORT);
  scheduler_->JobReleased(task, 1, now_ns_, now_ns_);
  uint64_t from = 0;
  for (int i = 0; i < 100; ++i) {
    const std::vector<Grant> grants = Decide();
    ASSERT_THAT(grants, SizeIs(1));
    EXPECT_EQ(grants[0].from, from);
    EXPECT_LE(grants[0].upto - from, config_.max_open_launches);
    EXPECT_EQ(grants[0].stage, static_cast<uint32_t>(i));
    EXPECT_LT(grants[0].stage + 1, grants[0].stage_count) << "never known to be the last";
    from = grants[0].upto;
    now_ns_ += (from - grants[0].from) * kMs;  // 1 ms a launch
    Report(grants[0], from, true, from + 1000);
  }
  const std::vector<Grant> grants = Decide();
  EXPECT_EQ(grants[0].upto - grants[0].from, 5u) << "open_grant_ns of work";
}

TEST_F(SchedulerTest, LoopWithoutPeriodThatOutgrowsItsLengthGoesOn) {
  Make();
  const TaskId task = Add(0);
  Learn(task);
  scheduler_->JobReleased(task, 3, now_ns_, now_ns_);
  uint64_t granted = 0;
  for (int i = 0; i < 20; ++i) {
    const std::vector<Grant> grants = Decide();
    ASSERT_THAT(grants, SizeIs(1)) << i;
    EXPECT_EQ(grants[0].from, granted);
    ASSERT_NE(grants[0].upto, kOpen);
    granted = grants[0].upto;
    now_ns_ += kMs;
    Report(grants[0], granted, true, granted + 1000);
  }
  EXPECT_EQ(scheduler_->View(task).jobs_off_signature, 1u);
  EXPECT_THAT(scheduler_->TakeFinishedJobs(), SizeIs(1));
}

// A process without a period that never pauses: its range grows while nobody wants the partition,
// and no further once somebody does.
TEST_F(SchedulerTest, RangeOfALoneProcessIsExtendedBeforeItsEnd) {
  Make();
  const TaskId task = Add(0);
  scheduler_->JobReleased(task, 1, now_ns_, now_ns_);
  std::vector<Grant> grants = Decide();
  ASSERT_THAT(grants, SizeIs(1));
  now_ns_ += kMs;
  Report(grants[0], grants[0].upto, true, 10000);  // the first range is timed
  grants = Decide();
  ASSERT_THAT(grants, SizeIs(1));
  const Grant range = grants[0];
  now_ns_ += kMs;
  Report(range, range.from + (range.upto - range.from) / 2, false, 10000);
  grants = Decide();
  ASSERT_THAT(grants, SizeIs(1));
  EXPECT_EQ(grants[0].from, range.upto);
  EXPECT_EQ(grants[0].stage, range.stage);
  EXPECT_EQ(grants[0].partition, range.partition);
  // The end of the first half is not the end of the stage.
  Report(range, range.upto, true, 10000);
  for (const Grant& more : Decide()) EXPECT_EQ(more.stage, range.stage);
}

// What the application has not recorded is not granted ahead.
TEST_F(SchedulerTest, RangeOfAnIdleProcessIsNotExtended) {
  Make();
  const TaskId task = Add(0);
  scheduler_->JobReleased(task, 1, now_ns_, now_ns_);
  const Grant first = Decide().at(0);
  now_ns_ += kMs;
  Report(first, first.upto, true, first.upto + 1);
  const Grant range = Decide().at(0);
  now_ns_ += kMs;
  Report(range, range.from + 1, false, range.from + 1);
  EXPECT_THAT(Decide(), SizeIs(0));
}

TEST_F(SchedulerTest, TooManyTasksIsAnError) {
  Make();
  for (int i = 0; i < SGPRS_MAX_TASKS; ++i) Add();
  const Result<TaskId> more = scheduler_->AddTask({.name = "x"}, now_ns_);
  EXPECT_EQ(more.status().code(), ErrorCode::kExhausted);
  scheduler_->RemoveTask(500, now_ns_);
  EXPECT_EQ(Add(), 500u);
}

}  // namespace
}  // namespace sgprs::sched
