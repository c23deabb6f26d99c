// SPDX-License-Identifier: Apache-2.0
// Calls in any order with any arguments, as broken or hostile clients would cause them: the
// scheduler keeps its books straight and grants in order.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "runtime/policy/policy.h"
#include "runtime/sched/scheduler.h"

namespace sgprs::sched {
namespace {

class RandomCalls {
 public:
  explicit RandomCalls(uint32_t seed) : random_(seed) {
    SchedulerConfig config;
    config.partitions = {{34, 1 + Below(3)}, {20, 1 + Below(3)}, {68, 1 + Below(3)}};
    config.device_sm_count = 68;
    config.policy = PolicyName();
    config.learning_jobs = 1;
    config.force_switch = Below(4) == 0;
    config.overload = Below(2) == 0 ? policy::OverloadMode::kHold : policy::OverloadMode::kLate;
    config.options.level_slots = Below(3) == 0;
    config.options.early_release_gate = Below(3) == 0;
    config.options.staging = Below(4) != 0;
    config.options.switching = Below(4) != 0;
    Result<std::unique_ptr<Scheduler>> made = Scheduler::Make(config);
    scheduler_ = std::move(*made);
  }

  void Step() {
    now_ns_ += Below(10) == 0 ? Below(2'000'000'000) : Below(1'000'000);
    switch (Below(16)) {
      case 0:
        AddTask();
        break;
      case 1:
        if (Below(8) == 0) Remove(AnyTask());
        break;
      case 2:
        if (Below(8) == 0) {
          EXPECT_TRUE(scheduler_->SetPolicy(PolicyName(), now_ns_).ok());
        } else if (Below(8) == 0) {
          scheduler_->SetOverload(
              Below(2) == 0 ? policy::OverloadMode::kHold : policy::OverloadMode::kLate, now_ns_);
        }
        break;
      case 3:
      case 4:
      case 5:
        Release();
        break;
      case 6:
      case 7:
        Close();
        break;
      default:
        Report();
    }
    Decide();
  }

  void RemoveAll() {
    while (!jobs_.empty()) Remove(jobs_.begin()->first);
    for (uint32_t i = 0; i < 3; ++i) {
      const PartitionStats stats = scheduler_->Stats(i, now_ns_);
      EXPECT_EQ(stats.running + stats.queued + stats.parked + stats.stalled, 0u);
    }
    Decide();
    EXPECT_EQ(scheduler_->NextWakeNs(), UINT64_MAX);
  }

  uint64_t grants() const { return grant_count_; }
  uint64_t finished() const { return finished_count_; }

 private:
  uint32_t Below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }
  std::string PolicyName() {
    const auto table = policy::PolicyTable();
    return std::string(table[Below(static_cast<uint32_t>(table.size()))].name);
  }
  TaskId AnyTask() {
    if (jobs_.empty() || Below(50) == 0) return Below(100);
    auto it = jobs_.begin();
    std::advance(it, Below(static_cast<uint32_t>(jobs_.size())));
    return it->first;
  }

  void AddTask() {
    if (jobs_.size() >= 12) return;
    const TaskId task =
        *scheduler_->AddTask({.name = "t",
                              .task_class = static_cast<SgprsTaskClass>(Below(3)),
                              .period_ns = Below(2) == 0 ? 0 : 1 + Below(50'000'000),
                              .deadline_ns = Below(3) == 0 ? 1 + Below(50'000'000) : 0},
                             now_ns_);
    EXPECT_EQ(jobs_.count(task), 0u) << "an id in use was given away";
    jobs_[task] = 0;
  }
  void Remove(TaskId task) {
    scheduler_->RemoveTask(task, now_ns_);
    jobs_.erase(task);
    upto_.erase(upto_.lower_bound({task, 0}), upto_.upper_bound({task, UINT64_MAX}));
    last_.erase(task);
  }
  void Release() {
    const TaskId task = AnyTask();
    const uint64_t job = jobs_.count(task) != 0 && Below(20) != 0 ? jobs_[task] + 1 : Below(10);
    scheduler_->JobReleased(task, job, now_ns_ - Below(1'000'000), now_ns_);
    if (jobs_.count(task) != 0) jobs_[task] = std::max(jobs_[task], job);
  }
  void Close() {
    const TaskId task = AnyTask();
    const uint64_t job = jobs_.count(task) != 0 ? jobs_[task] - Below(3) : Below(10);
    const std::vector<uint64_t> launches(Below(4) == 0 ? Below(60) : 30, 7);
    scheduler_->JobClosed(task, job, launches, Below(2) == 0 ? 0 : now_ns_ + Below(1000), now_ns_);
  }
  void Report() {
    const TaskId task = AnyTask();
    StageReport report;
    if (last_.count(task) != 0 && Below(20) != 0) {
      const Grant& grant = last_[task];
      report = {.job = grant.job, .stage = grant.stage, .partition = grant.partition};
      report.whole = Below(3) != 0;
      report.done = report.whole ? grant.upto : grant.from + Below(40);
    } else {
      report = {.job = Below(10), .stage = Below(7), .done = random_(), .whole = Below(2) == 0};
    }
    report.gpu_ns = Below(3) == 0 ? random_() : Below(1'000'000);
    report.complete_ns = Below(5) == 0 ? random_() : now_ns_ - Below(1000);
    report.recorded = Below(3) == 0 ? 0 : Below(60);
    scheduler_->StageProgress(task, report, now_ns_);
  }

  void Decide() {
    std::vector<Grant> grants;
    scheduler_->Decide(now_ns_, &grants);
    for (const Grant& grant : grants) {
      ++grant_count_;
      ASSERT_EQ(jobs_.count(grant.task), 1u);
      ASSERT_LT(grant.partition, 3u);
      ASSERT_LT(grant.from, grant.upto);
      if (last_.count(grant.task) != 0) {
        ASSERT_GE(grant.job, last_[grant.task].job) << "backwards";
      }
      uint64_t& upto = upto_[{grant.task, grant.job}];
      ASSERT_EQ(grant.from, upto) << "not contiguous";
      upto = grant.upto;
      last_[grant.task] = grant;
    }
    for (const FinishedJob& job : scheduler_->TakeFinishedJobs()) {
      ++finished_count_;
      ASSERT_LE(job.complete_ns, now_ns_);
      ASSERT_LE(job.release_ns, job.deadline_ns);
      ASSERT_EQ(job.on_time, job.complete_ns <= job.deadline_ns);
    }
  }

  std::mt19937_64 random_;
  std::unique_ptr<Scheduler> scheduler_;
  std::map<TaskId, uint64_t> jobs_;  // latest job
  std::map<std::pair<TaskId, uint64_t>, uint64_t> upto_;
  std::map<TaskId, Grant> last_;
  uint64_t now_ns_ = 1'000'000'000;
  uint64_t grant_count_ = 0;
  uint64_t finished_count_ = 0;
};

TEST(RandomCallsTest, BooksStayStraight) {
  uint64_t grants = 0;
  uint64_t finished = 0;
  for (uint32_t seed = 0; seed < 100 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    RandomCalls calls(seed);
    for (int i = 0; i < 2000 && !::testing::Test::HasFatalFailure(); ++i) calls.Step();
    calls.RemoveAll();
    grants += calls.grants();
    finished += calls.finished();
  }
  EXPECT_GT(grants, 20'000u);
  EXPECT_GT(finished, 5'000u);
}

}  // namespace
}  // namespace sgprs::sched
