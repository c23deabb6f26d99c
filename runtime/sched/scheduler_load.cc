// SPDX-License-Identifier: Apache-2.0
// Sums of utilisation per partition, homes of tasks, and who wants a slot. Sums are whole numbers
// (parts per billion), so that what is added and taken away again leaves nothing behind.
#include <algorithm>

#include "runtime/sched/scheduler_core.h"

namespace sgprs::sched {
namespace {

uint64_t Ppb(uint64_t cost_ns, uint64_t period_ns) {
  return static_cast<uint64_t>(static_cast<double>(cost_ns) / static_cast<double>(period_ns) * 1e9);
}

}  // namespace

// Sum of a job's stages in the largest partition; 0 = unknown.
uint64_t SchedulerCore::CostOf(const Task& task) const {
  const PlanKind kind = task.learner.Plan(traits_.staged);
  return task.learner.CostKnown(kind) ? task.learner.costs(kind).TotalLargestCost() : 0;
}

// Adds what the task means for its home and for the sum over the high class, or takes it away.
void SchedulerCore::CountLoad(const Task& task, int64_t sign) {
  if (task.config.task_class == SGPRS_CLASS_HIGH) {
    high_share_ppb_ += sign * static_cast<int64_t>(task.share_ppb);
  }
  if (task.home == policy::kNoPartition) return;
  LoadSums& sums = load_sums_[task.home];
  const auto ppb = sign * static_cast<int64_t>(task.utilisation_ppb);
  const bool high = task.config.task_class == SGPRS_CLASS_HIGH;
  sums.tasks += sign;
  if (task.running) sums.running += sign;
  sums.overall_ppb += ppb;
  if (high) sums.high_ppb += ppb;
  if (high || task.running) sums.active_ppb += ppb;
}

std::span<const policy::PartitionLoad> SchedulerCore::Loads() {
  for (size_t i = 0; i < partitions_.size(); ++i) {
    const LoadSums& sums = load_sums_[i];
    loads_[i] = {.capacity = partitions_[i].capacity(),
                 .tasks = static_cast<uint32_t>(sums.tasks),
                 .running = static_cast<uint32_t>(sums.running),
                 .high = static_cast<double>(sums.high_ppb) / 1e9,
                 .active = static_cast<double>(sums.active_ppb) / 1e9,
                 .overall = static_cast<double>(sums.overall_ppb) / 1e9};
  }
  return loads_;
}

// The task's front job begins or ends to want a slot.
void SchedulerCore::SetRunning(Task& task, bool running) {
  if (task.running == running || task.best_effort()) return;
  CountLoad(task, -1);
  task.running = running;
  CountLoad(task, +1);
  running_jobs_ += running ? 1 : -1;
  if (task.config.task_class == SGPRS_CLASS_HIGH) running_high_ += running ? 1 : -1;
}

void SchedulerCore::Bind(Task& task, uint32_t home) {
  if (task.home == home) return;
  CountLoad(task, -1);
  task.home = home;
  RefreshUtilisation(task);
  CountLoad(task, +1);
}

// After costs have changed.
void SchedulerCore::RefreshLoad(Task& task) {
  CountLoad(task, -1);
  RefreshUtilisation(task);
  CountLoad(task, +1);
  if (task.utilisation_ppb != 0 && !task.home_by_cost) ChooseHome(task);
}

void SchedulerCore::RefreshUtilisation(Task& task) {
  task.utilisation_ppb = 0;
  task.share_ppb = 0;
  const PlanKind kind = task.learner.Plan(traits_.staged);
  if (task.config.period_ns == 0 || !task.learner.CostKnown(kind)) return;
  const CostModel& costs = task.learner.costs(kind);
  uint64_t at_home_ns = 0;
  uint64_t largest_ns = 0;
  for (size_t stage = 0; stage < costs.stages(); ++stage) {
    largest_ns += costs.LargestCost(stage);
    at_home_ns += task.home == policy::kNoPartition ? 0 : costs.Costs(stage)[task.home];
  }
  if (task.home == policy::kNoPartition) at_home_ns = largest_ns;
  task.utilisation_ppb = Ppb(at_home_ns, task.config.period_ns);
  const uint64_t busy_ns = task.busy_ns != 0 ? task.busy_ns : largest_ns;
  task.share_ppb = Ppb(busy_ns, task.config.period_ns) / slots_;
}

// What a closed job took, all stages together: on average, while costs are maxima.
void SchedulerCore::LearnBusy(Task& task, const JobRecord& record) {
  if (record.kind == PlanKind::kOpen || record.samples.empty()) return;
  if (record.samples.size() < task.learner.Ends(record.kind).size()) return;
  uint64_t busy_ns = 0;
  for (const StageSample& sample : record.samples) busy_ns += sample.ns;
  task.busy_ns = task.busy_ns == 0 ? busy_ns : (7 * task.busy_ns + busy_ns) / 8;
}

void SchedulerCore::ChooseHome(Task& task) {
  CountLoad(task, -1);
  const policy::TaskView view = {.task = task.id,
                                 .task_class = task.config.task_class,
                                 .utilisation = static_cast<double>(task.utilisation_ppb) / 1e9,
                                 .home = task.home};
  const uint32_t home = policy_->Home(view, Loads());
  task.home = home < partitions_.size() ? home : policy::kNoPartition;
  RefreshUtilisation(task);
  task.home_by_cost = task.utilisation_ppb != 0;
  CountLoad(task, +1);
}

// papers.md 2.2: high class first, then low, each on the partition of least utilisation.
void SchedulerCore::ChooseHomes() {
  for (const std::unique_ptr<Task>& task : tasks_) {
    if (task != nullptr) Bind(*task, policy::kNoPartition);
  }
  for (const bool high : {true, false}) {
    for (const std::unique_ptr<Task>& task : tasks_) {
      if (task == nullptr || high != (task->config.task_class == SGPRS_CLASS_HIGH)) continue;
      RefreshLoad(*task);
      ChooseHome(*task);
    }
  }
}

}  // namespace sgprs::sched
