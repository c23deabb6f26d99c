// SPDX-License-Identifier: Apache-2.0
// Who may start: the gate of `hold`, the admission of `daris`, admission control; and `rm`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/policy/admission.h"
#include "runtime/policy/policy.h"

namespace sgprs::policy {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kNow = 10'000'000;
constexpr uint64_t kPeriod = 1'000'000;

JobView Job(SgprsTaskClass task_class = SGPRS_CLASS_LOW) {
  JobView job;
  job.task_class = task_class;
  job.period_ns = kPeriod;
  job.release_ns = kNow;
  job.deadline_ns = kNow + kPeriod;
  job.response_ns = 300'000;
  return job;
}

GateSnapshot Pool(uint32_t running, uint64_t now_ns = kNow) {
  GateSnapshot snapshot;
  snapshot.now_ns = now_ns;
  snapshot.slots = 6;
  snapshot.partitions = 3;
  snapshot.running_jobs = running;
  return snapshot;
}

TEST(HoldGateTest, StartsWhileThereIsRoomAndTime) {
  const auto gate = MakeHoldGate();
  EXPECT_EQ(gate->Ask(Job(), Pool(0)).answer, GateAnswer::kStart);
  EXPECT_EQ(gate->Ask(Job(), Pool(8)).answer, GateAnswer::kStart)
      << "one more than slots a partition";
  EXPECT_EQ(gate->Ask(Job(), Pool(9)).answer, GateAnswer::kWait);
  EXPECT_EQ(gate->LatestStartNs(Job()), kNow + 700'000);
  EXPECT_EQ(gate->Ask(Job(), Pool(0, kNow + 700'000)).answer, GateAnswer::kStart);
  EXPECT_EQ(gate->Ask(Job(), Pool(0, kNow + 700'001)).answer, GateAnswer::kHold);
}

TEST(HoldGateTest, AWrongBeliefIsTriedAllTheSame) {
  JobView job = Job();
  job.response_ns = 50 * kPeriod;
  EXPECT_EQ(MakeHoldGate()->Ask(job, Pool(0)).answer, GateAnswer::kStart);
}

TEST(HoldGateTest, WhoIsBehindIsTriedLater) {
  const auto gate = MakeHoldGate();
  JobView job = Job();
  job.busy_ns = 90'000;
  job.behind_ns = -2 * static_cast<int64_t>(kPeriod);
  EXPECT_EQ(gate->LatestStartNs(job), kNow + 700'000) << "ahead: as before";
  job.behind_ns = kPeriod;  // a third of 210 us of waiting does not count
  EXPECT_NEAR(static_cast<double>(gate->LatestStartNs(job) - kNow), 770'000, 1);
  job.behind_ns = 9 * kPeriod;
  EXPECT_EQ(gate->LatestStartNs(job), kNow + 910'000) << "its own stages fit";
}

TEST(HoldGateTest, HighClassIsNotHeldBelowItsShare) {
  const auto gate = MakeHoldGate();
  GateSnapshot pool = Pool(100, kNow + 900'000);
  pool.high_utilisation = 0.79;
  EXPECT_EQ(gate->Ask(Job(SGPRS_CLASS_HIGH), pool).answer, GateAnswer::kStart);
  pool.high_utilisation = 0.8;
  EXPECT_EQ(gate->Ask(Job(SGPRS_CLASS_HIGH), pool).answer, GateAnswer::kHold);
  EXPECT_EQ(gate->Ask(Job(SGPRS_CLASS_BEST_EFFORT), pool).answer, GateAnswer::kStart);
}

TEST(HoldGateTest, LowJobsInProgressFitIntoWhatHighLeaves) {
  const auto gate = MakeHoldGate();
  GateSnapshot pool = Pool(3);
  pool.high_utilisation = 0.7;  // leaves 2.7 of 9
  EXPECT_EQ(gate->Ask(Job(), pool).answer, GateAnswer::kWait);
  pool.running_high = 1;
  EXPECT_EQ(gate->Ask(Job(), pool).answer, GateAnswer::kStart);
}

TEST(HoldGateTest, OrderIsClassThenDeadlineLessLag) {
  const auto gate = MakeHoldGate();
  const auto before = [&](const JobView& a, const JobView& b) {
    const JobGate::Key x = gate->Order(a);
    const JobGate::Key y = gate->Order(b);
    return x.high != y.high ? x.high < y.high : x.low < y.low;
  };
  JobView later = Job();
  later.deadline_ns += 1;
  EXPECT_TRUE(before(Job(), later));
  later.lag_ns = 2;
  EXPECT_TRUE(before(later, Job()));
  EXPECT_TRUE(before(Job(SGPRS_CLASS_HIGH), later));
}

TEST(HoldGateTest, ABoundTaskNeedsRoomInItsHome) {
  const auto gate = MakeHoldGate();
  const std::vector<PartitionLoad> load = {{.capacity = 2, .running = 3},
                                           {.capacity = 2, .running = 2}};
  GateSnapshot pool = Pool(5);
  pool.load = load;
  JobView job = Job();
  job.home = 0;
  EXPECT_EQ(gate->Ask(job, pool).answer, GateAnswer::kWait);
  job.home = 1;
  EXPECT_EQ(gate->Ask(job, pool).answer, GateAnswer::kStart);
}

// papers.md 2.2, admission per job; utilisations are divided by N_s.
class DarisTest : public ::testing::Test {
 protected:
  GateDecision Ask(SgprsTaskClass task_class, double u, uint32_t home = 0) {
    JobView job = Job(task_class);
    job.utilisation = u;
    job.home = home;
    GateSnapshot pool = Pool(0);
    pool.load = load_;
    return policy_->gate()->Ask(job, pool);
  }
  std::unique_ptr<Policy> policy_ = MakePolicy("daris");
  std::vector<PartitionLoad> load_ = {{.capacity = 1, .active = 0.8, .overall = 2.0},
                                      {.capacity = 1, .active = 0.5, .overall = 1.5},
                                      {.capacity = 1, .active = 0.1, .overall = 1.9}};
};

TEST_F(DarisTest, AdmitsInItsHomeWhileThatHasRoom) {
  EXPECT_EQ(Ask(SGPRS_CLASS_LOW, 0.15).answer, GateAnswer::kStart);
  EXPECT_EQ(Ask(SGPRS_CLASS_LOW, 0.15).home, UINT32_MAX) << "stays";
  EXPECT_EQ(Ask(SGPRS_CLASS_HIGH, 5.0).answer, GateAnswer::kStart) << "high class always";
}

TEST_F(DarisTest, MigratesToTheLeastActiveThatIsLessCommitted) {
  const GateDecision moved = Ask(SGPRS_CLASS_LOW, 0.3);
  EXPECT_EQ(moved.answer, GateAnswer::kStart);
  EXPECT_EQ(moved.home, 1u) << "2 is less active, but 1.9 is not below 2.0 - 0.3";
}

TEST_F(DarisTest, DropsWhatFitsNowhere) {
  EXPECT_EQ(Ask(SGPRS_CLASS_LOW, 0.5).answer, GateAnswer::kHold) << "0.5 + 0.5 is not below 1";
  load_[1].overall = 1.9;
  EXPECT_EQ(Ask(SGPRS_CLASS_LOW, 0.3).answer, GateAnswer::kHold) << "nobody is less committed";
}

TEST_F(DarisTest, StreamsDivideUtilisations) {
  for (PartitionLoad& load : load_) load.capacity = 2;
  EXPECT_EQ(Ask(SGPRS_CLASS_LOW, 1.1).home, UINT32_MAX) << "0.4 + 0.55";
}

TEST_F(DarisTest, HomeIsTheLeastUsedPartition) {
  EXPECT_EQ(policy_->Home({}, load_), 1u);
  load_ = {{.tasks = 2}, {.tasks = 1}};
  EXPECT_EQ(policy_->Home({}, load_), 1u) << "costs unknown: by number of tasks";
}

TEST_F(DarisTest, EightListsInOrder) {
  const auto list = [this](SgprsTaskClass task_class, bool last, bool delayed) {
    StageView stage;
    stage.task_class = task_class;
    stage.stage = last ? 3 : 0;
    stage.stage_count = 4;
    stage.predecessor_late = delayed;
    stage.deadline_ns = 1;
    return policy_->Key(stage, {}).high;
  };
  EXPECT_EQ(list(SGPRS_CLASS_HIGH, true, true), 0u);
  EXPECT_EQ(list(SGPRS_CLASS_HIGH, true, false), 1u);
  EXPECT_EQ(list(SGPRS_CLASS_HIGH, false, true), 2u);
  EXPECT_EQ(list(SGPRS_CLASS_HIGH, false, false), 3u);
  EXPECT_EQ(list(SGPRS_CLASS_LOW, true, true), 4u);
  EXPECT_EQ(list(SGPRS_CLASS_LOW, false, true), 5u);
  EXPECT_EQ(list(SGPRS_CLASS_LOW, true, false), 6u);
  EXPECT_EQ(list(SGPRS_CLASS_LOW, false, false), 7u);
}

TEST(RmTest, ShorterPeriodFirstWhateverTheDeadline) {
  const auto policy = MakePolicy("rm");
  StageView fast;
  fast.period_ns = 10;
  fast.virtual_deadline_ns = fast.deadline_ns = 1000;
  StageView slow;
  slow.period_ns = 20;
  slow.virtual_deadline_ns = slow.deadline_ns = 1;
  EXPECT_LT(policy->Key(fast, {}).high, policy->Key(slow, {}).high);
  slow.task_class = SGPRS_CLASS_HIGH;
  EXPECT_LT(policy->Key(slow, {}).high, policy->Key(fast, {}).high);
  const std::vector<PartitionView> partitions(1);
  const std::vector<uint64_t> cost_ns = {1};
  const Snapshot snapshot = {0, 68, 10, partitions};
  fast.cost_ns = cost_ns;
  EXPECT_EQ(policy->Place(fast, snapshot).level, SGPRS_LEVEL_HIGH);
  fast.period_ns = 33;
  EXPECT_EQ(policy->Place(fast, snapshot).level, SGPRS_LEVEL_MEDIUM);
  fast.period_ns = 100;
  EXPECT_EQ(policy->Place(fast, snapshot).level, SGPRS_LEVEL_LOW);
}

TEST(AdmissionTest, UtilisationBound) {
  const std::vector<TaskDemand> there(8,
                                      {.period_ns = 1000, .response_ns = 600, .service_ns = 100});
  TaskDemand task = {.period_ns = 1000, .response_ns = 600, .service_ns = 200};
  EXPECT_TRUE(JudgeAdmission(there, task).fits);
  EXPECT_NEAR(JudgeAdmission(there, task).utilisation, 1.0, 1e-9);
  task.service_ns = 201;
  EXPECT_THAT(JudgeAdmission(there, task).why, HasSubstr("100 %"));
  task.service_ns = 250;
  EXPECT_THAT(JudgeAdmission(there, task).why, HasSubstr("105 %"));
  task.task_class = SGPRS_CLASS_HIGH;
  EXPECT_TRUE(JudgeAdmission(there, task).fits) << "low class does not stand in its way";
  TaskDemand high = there[0];
  high.task_class = SGPRS_CLASS_HIGH;
  const TaskDemand low = {.period_ns = 1000, .response_ns = 600, .service_ns = 250};
  EXPECT_FALSE(JudgeAdmission(std::vector<TaskDemand>(8, high), low).fits) << "high class does";
  task.task_class = SGPRS_CLASS_BEST_EFFORT;
  EXPECT_TRUE(JudgeAdmission(there, task).fits);
}

TEST(AdmissionTest, DeadlineAndTheUnknown) {
  EXPECT_TRUE(JudgeAdmission({}, {.period_ns = 1000}).fits) << "cost unknown";
  TaskDemand task = {
      .period_ns = 10'000'000, .deadline_ns = 2'000'000, .response_ns = 2'500'000, .service_ns = 1};
  EXPECT_THAT(JudgeAdmission({}, task).why, HasSubstr("takes 2.5 ms, its deadline is 2.0 ms"));
  task.response_ns = 1'000'000;
  task.service_ns = 1'900'000;
  EXPECT_NEAR(JudgeAdmission({}, task).utilisation, 0.95, 1e-9) << "density: D below T";
  for (const AdmissionMode mode :
       {AdmissionMode::kOff, AdmissionMode::kWarn, AdmissionMode::kReject}) {
    EXPECT_EQ(FindAdmission(AdmissionName(mode)), mode);
    EXPECT_THAT(std::string(kAdmissionNames), HasSubstr(std::string(AdmissionName(mode))));
  }
}

}  // namespace
}  // namespace sgprs::policy
