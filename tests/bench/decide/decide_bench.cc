// SPDX-License-Identifier: Apache-2.0
// What one decision costs: a stage report in, the next stage placed and granted, with N tasks that
// all have a stage running or queued. Time is virtual: only the scheduler's own work is measured.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
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
  Load(std::string_view policy, policy::OverloadMode overload, int64_t tasks)
      : launches_(kLaunches) {
    SchedulerConfig config;
    config.device_sm_count = 68;
    config.partitions = {{34, 2}, {34, 2}, {34, 2}};
    config.policy = policy;
    config.overload = overload;
    config.max_tasks = 20'000;
    // Nobody is made to start: what the gate costs is to be measured, not what comes after it.
    config.max_hold_ns = UINT64_MAX;
    // With so many tasks every queue is long; long waits would make all grants exceptions.
    config.max_wait_ns = UINT64_MAX;
    Result<std::unique_ptr<Scheduler>> made = Scheduler::Make(config);
    if (!made.ok()) std::abort();
    scheduler_ = std::move(*made);
    std::iota(launches_.begin(), launches_.end(), 1);
    jobs_.resize(static_cast<size_t>(tasks), 0);
    // Learnt beforehand: it would take minutes.
    TaskProfile profile = {.launches = launches_};
    for (uint64_t stage = 1; stage <= 6; ++stage) {
      profile.stages.push_back({stage * kLaunches / 6, {{34, kStageNs}}});
    }
    for (int64_t i = 0; i < tasks; ++i) {
      const TaskId task =
          *scheduler_->AddTask({.name = "t",
                                .period_ns = kPeriodNs + static_cast<uint64_t>(i % 1000) * 1000,
                                .profile = profile},
                               now_ns_);
      scheduler_->JobReleased(task, ++jobs_[task], now_ns_, now_ns_);
    }
    Decide();
    for (int i = 0; i < 1000; ++i) Step();
  }

  // Times that a job was held.
  uint64_t Held() const {
    uint64_t held = 0;
    for (TaskId task = 0; task < jobs_.size(); ++task) held += scheduler_->View(task).jobs_held;
    return held;
  }

  // One report, one decision.
  void Step() {
    now_ns_ += kStageNs / 6;
    if (running_.empty()) {  // all wait at the gate
      now_ns_ = std::max(now_ns_, std::min(scheduler_->NextWakeNs(), now_ns_ + kPeriodNs));
      return Decide();
    }
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

  std::unique_ptr<Scheduler> scheduler_;
  std::vector<uint64_t> launches_;
  std::vector<uint64_t> jobs_;
  std::deque<Grant> running_;
  std::vector<Grant> grants_;
  uint64_t now_ns_ = 1'000'000'000;
  uint64_t decisions_ = 0;
};

void BM_Decide(benchmark::State& state, std::string_view policy, policy::OverloadMode overload) {
  Load load(policy, overload, state.range(0));
  const uint64_t held_before = load.Held();
  for (auto _ : state) load.Step();
  // A step also holds whoever's time has come, and asks again whoever was held: with many tasks
  // that is most of the work.
  const auto holds = static_cast<double>(load.Held() - held_before);
  const auto events = static_cast<double>(state.iterations()) + 2 * holds;
  state.counters["per_event"] =
      benchmark::Counter(events, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["holds_a_step"] = holds / static_cast<double>(state.iterations());
}

// Every row of the policy table, and `sgprs` with a gate that most jobs wait at.
void Register() {
  const auto add = [](std::string_view policy, policy::OverloadMode overload) {
    const std::string name =
        "BM_Decide/" + std::string(policy) + "/" + std::string(policy::OverloadName(overload));
    benchmark::RegisterBenchmark(name.c_str(), BM_Decide, policy, overload)
        ->RangeMultiplier(10)
        ->Range(10, 10'000);
  };
  for (const policy::PolicyRow& row : policy::PolicyTable()) {
    add(row.name, policy::OverloadMode::kLate);
  }
  add("sgprs", policy::OverloadMode::kHold);
}

}  // namespace
}  // namespace sgprs::sched

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  sgprs::sched::Register();
  benchmark::RunSpecifiedBenchmarks();
}
