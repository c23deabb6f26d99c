// SPDX-License-Identifier: Apache-2.0
// What one decision costs: a stage report in, the next stage placed and granted, with N tasks that
// all have a stage running or queued. Time is virtual: only the scheduler's own work is measured.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <deque>
#include <memory>
#include <numeric>
#include <vector>

#include "runtime/policy/policy.h"
#include "runtime/sched/scheduler.h"

namespace sgprs::sched {
namespace {

constexpr uint64_t kPeriodNs = 33'000'000;
constexpr uint64_t kStageNs = 300'000;
constexpr uint64_t kLaunches = 48;

// N periodic tasks, each always in a job; completes granted stages one after the other.
class Load {
 public:
  Load(const char* policy, int64_t tasks) : launches_(kLaunches) {
    SchedulerConfig config;
    config.device_sm_count = 68;
    config.partitions = {{34, 2}, {34, 2}, {34, 2}};
    config.policy = policy;
    // With so many tasks every queue is long; long waits would make all grants exceptions.
    config.max_wait_ns = UINT64_MAX;
    Result<std::unique_ptr<Scheduler>> made = Scheduler::Make(config);
    if (!made.ok()) std::abort();
    scheduler_ = std::move(*made);
    std::iota(launches_.begin(), launches_.end(), 1);
    jobs_.resize(static_cast<size_t>(tasks), 0);
    for (int64_t i = 0; i < tasks; ++i) {
      const TaskId task = *scheduler_->AddTask(
          {.name = "t", .period_ns = kPeriodNs + static_cast<uint64_t>(i) * 1000}, now_ns_);
      scheduler_->JobReleased(task, ++jobs_[task], now_ns_, now_ns_);
    }
    Decide();
    while (!Learnt()) Step();
  }

  // One report, one decision.
  void Step() {
    now_ns_ += kStageNs / 6;
    const Grant grant = running_.front();
    running_.pop_front();
    const bool whole = grant.upto <= kLaunches;
    scheduler_->StageProgress(grant.task,
                              {.job = grant.job,
                               .stage = grant.stage,
                               .partition = grant.partition,
                               .done = whole ? grant.upto : kLaunches,
                               .whole = whole,
                               .gpu_ns = kStageNs,
                               .complete_ns = now_ns_,
                               .recorded = kLaunches},
                              now_ns_);
    if (!whole) {
      scheduler_->JobClosed(grant.task, grant.job, launches_, now_ns_, now_ns_);
      scheduler_->JobReleased(grant.task, ++jobs_[grant.task], now_ns_, now_ns_);
    }
    Decide();
  }

 private:
  void Decide() {
    grants_.clear();
    scheduler_->Decide(now_ns_, &grants_);
    running_.insert(running_.end(), grants_.begin(), grants_.end());
    if (++decisions_ % 1024 == 0) scheduler_->TakeFinishedJobs();
  }
  bool Learnt() const {
    for (TaskId task = 0; task < jobs_.size(); ++task) {
      if (!scheduler_->View(task).scheduled) return false;
    }
    return true;
  }

  std::unique_ptr<Scheduler> scheduler_;
  std::vector<uint64_t> launches_;
  std::vector<uint64_t> jobs_;
  std::deque<Grant> running_;
  std::vector<Grant> grants_;
  uint64_t now_ns_ = 1'000'000'000;
  uint64_t decisions_ = 0;
};

void BM_Decide(benchmark::State& state, const char* policy) {
  Load load(policy, state.range(0));
  for (auto _ : state) load.Step();
}

BENCHMARK_CAPTURE(BM_Decide, sgprs, "sgprs")->Arg(10)->Arg(100)->Arg(1000);
BENCHMARK_CAPTURE(BM_Decide, fifo, "fifo")->Arg(10)->Arg(100)->Arg(1000);
BENCHMARK_CAPTURE(BM_Decide, edf, "edf")->Arg(10)->Arg(100)->Arg(1000);
BENCHMARK_CAPTURE(BM_Decide, fixed, "static")->Arg(10)->Arg(100)->Arg(1000);

}  // namespace
}  // namespace sgprs::sched
