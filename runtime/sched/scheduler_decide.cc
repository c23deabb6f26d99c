// SPDX-License-Identifier: Apache-2.0
// Placing ready stages and granting queued ones.
#include <algorithm>

#include "runtime/sched/scheduler_core.h"

namespace sgprs::sched {

void SchedulerCore::Decide(uint64_t now_ns, std::vector<Grant>* grants) {
  now_ns = Clock(now_ns);
  RunTimers(now_ns);
  RunGateTimers(now_ns);
  AdmitCandidates(now_ns);
  // Earlier jobs' remainders go out before anything of the jobs that follow them.
  grants->insert(grants->end(), tail_grants_.begin(), tail_grants_.end());
  tail_grants_.clear();
  PlaceReady(now_ns);
  for (uint32_t i = 0; i < partitions_.size(); ++i) GrantFrom(i, now_ns, grants);
  if (traits_.stealing == policy::Stealing::kNothing) return;
  for (uint32_t i = 0; i < partitions_.size(); ++i) {
    if (StealFor(i, now_ns)) GrantFrom(i, now_ns, grants);
  }
}

// Moves what is first of all queued stages to `partition` if that has nothing to do. What is still
// queued after granting has no slot where it is.
bool SchedulerCore::StealFor(uint32_t partition, uint64_t now_ns) {
  if (!partitions_[partition].idle()) return false;
  const QueueEntry* first = nullptr;
  for (const PartitionState& from : partitions_) {
    const QueueEntry* front = from.Front();
    if (front == nullptr || (first != nullptr && !(*front < *first))) continue;
    if (traits_.stealing == policy::Stealing::kEverything || front->best_effort) first = front;
  }
  if (first == nullptr) return false;
  Task& task = *tasks_[first->task];
  Job& job = task.jobs.front();
  if (job.record.kind == PlanKind::kChunks && job.stage.index > 0) return false;  // is measured
  if (config_.force_switch && task.last_partition == partition) return false;
  SetStage(task, job.stage, StageState::kReady, now_ns);
  Queue(task, job, MakeView(task, job), {partition, job.stage.level}, now_ns);
  return true;
}

void SchedulerCore::PlaceReady(uint64_t now_ns) {
  while (!ready_.empty()) {
    const auto [id, sequence] = ready_.front();
    ready_.pop_front();
    Task* task = Find(id);
    if (task == nullptr || task->jobs.empty()) continue;
    Job& job = task->jobs.front();
    if (job.stage.state != StageState::kReady || job.stage.sequence != sequence) continue;
    Place(*task, job, now_ns);
  }
}

void SchedulerCore::Place(Task& task, Job& job, uint64_t now_ns) {
  ViewPartitions(task, now_ns);
  const policy::StageView view = MakeView(task, job);
  policy::Placement placement =
      policy_->Place(view, {.now_ns = now_ns,
                            .device_sm_count = config_.device_sm_count,
                            .shortest_period_ns = periods_ns_.empty() ? 0 : *periods_ns_.begin(),
                            .partitions = views_});
  if (placement.not_before_ns > now_ns && !job.stage.released) {
    return SetTimer(task, job.stage, placement.not_before_ns, StageTimer::kPlace);
  }
  placement.partition = Corrected(task, job, placement.partition);
  Queue(task, job, view, placement, now_ns);
}

void SchedulerCore::ViewPartitions(const Task& task, uint64_t now_ns) {
  for (size_t i = 0; i < partitions_.size(); ++i) {
    views_[i] = partitions_[i].View(now_ns, task.best_effort());
  }
}

void SchedulerCore::Queue(Task& task, Job& job, const policy::StageView& view,
                          policy::Placement placement, uint64_t now_ns) {
  Stage& stage = job.stage;
  stage.partition = placement.partition;
  stage.level = placement.level;
  stage.entry = {.key = policy_->Key(view, placement),
                 .sequence = stage.sequence,
                 .task = task.id,
                 .ready_ns = stage.ready_ns,
                 .cost_ns = view.cost_ns[placement.partition],
                 .best_effort = task.best_effort(),
                 .high = placement.level == SGPRS_LEVEL_HIGH};
  SetStage(task, stage, StageState::kQueued, now_ns);
}

policy::StageView SchedulerCore::MakeView(const Task& task, const Job& job) const {
  policy::StageView view;
  view.task = task.id;
  view.job = job.id;
  view.stage = job.stage.index;
  const auto stages = static_cast<uint32_t>(job.ends.size());
  // Of an open job no stage is known to be the last.
  view.stage_count = job.stage.index < stages ? stages : job.stage.index + 2;
  view.task_class = task.config.task_class;
  view.predecessor_late = job.predecessor_late;
  view.period_ns = task.config.period_ns;
  view.release_ns = job.release_ns;
  view.deadline_ns = job.deadline_ns;
  view.virtual_deadline_ns = job.stage.virtual_deadline_ns;
  view.relative_deadline_ns = RelativeDeadlineNs(job);
  view.previous_partition = task.last_partition;
  view.home = task.home;
  view.sequence = job.stage.sequence;
  view.cost_ns = StageCosts(task, job);
  return view;
}

// The stage's share of its job's deadline.
uint64_t SchedulerCore::RelativeDeadlineNs(const Job& job) const {
  const std::vector<uint64_t>& deadlines = job.virtual_deadlines_ns;
  if (deadlines.empty()) return policy::kNoDeadline;
  const size_t last = std::min<size_t>(job.stage.index, deadlines.size() - 1);
  const uint64_t before = last == 0 ? job.release_ns : deadlines[last - 1];
  return deadlines[last] - std::min(before, deadlines[last]);
}

std::span<const uint64_t> SchedulerCore::StageCosts(const Task& task, const Job& job) const {
  const CostModel& costs = task.learner.costs(job.record.kind);
  const bool known = job.record.kind != PlanKind::kOpen &&
                     job.record.generation == task.learner.generation() &&
                     job.stage.index < costs.stages();
  return known ? costs.Costs(job.stage.index) : task.learner.costs(PlanKind::kOpen).Costs(0);
}

// What stands above every policy: a stalled partition takes nothing while another one is sound, a
// job that is being measured stays where it began, sweep gives every job the next partition,
// force_switch moves every stage.
uint32_t SchedulerCore::Corrected(const Task& task, const Job& job, uint32_t wanted) const {
  if (wanted >= partitions_.size()) wanted = 0;
  const uint32_t last = task.last_partition;
  if (job.record.kind == PlanKind::kChunks && job.stage.index > 0 && last != policy::kNoPartition) {
    wanted = last;
  }
  if (config_.sweep && job.record.kind == PlanKind::kStages) {
    wanted = static_cast<uint32_t>(job.id % partitions_.size());
  }
  if (config_.force_switch && wanted == last) {
    wanted = (last + 1) % static_cast<uint32_t>(partitions_.size());
  }
  if (partitions_[wanted].sound()) return wanted;
  const uint32_t except = config_.force_switch ? last : policy::kNoPartition;
  const uint32_t sound = SoundPartition(views_, except);
  return sound != policy::kNoPartition ? sound : wanted;
}

// The sound partition with the earliest end; `except` only if there is no other.
uint32_t SchedulerCore::SoundPartition(const std::vector<policy::PartitionView>& views,
                                       uint32_t except) const {
  uint32_t best = policy::kNoPartition;
  for (uint32_t i = 0; i < partitions_.size(); ++i) {
    if (!partitions_[i].sound()) continue;
    if (best == policy::kNoPartition || best == except ||
        (i != except && views[i].finish_ns < views[best].finish_ns)) {
      best = i;
    }
  }
  return best;
}

void SchedulerCore::GrantFrom(uint32_t partition, uint64_t now_ns, std::vector<Grant>* grants) {
  bool above_capacity = false;
  while (const QueueEntry* next = partitions_[partition].Next(
             now_ns, traits_.bounded, config_.max_wait_ns, &above_capacity)) {
    Task& task = *tasks_[next->task];
    GrantStage(task, task.jobs.front(), above_capacity, now_ns, grants);
  }
}

void SchedulerCore::GrantStage(Task& task, Job& job, bool above_capacity, uint64_t now_ns,
                               std::vector<Grant>* grants) {
  Stage& stage = job.stage;
  stage.granted_ns = now_ns;
  stage.above_capacity = above_capacity;
  SetStage(task, stage, StageState::kRunning, now_ns);
  if (WorkIsRecorded(job)) {
    ArmStallTimer(task, stage, now_ns);
  } else {
    const uint64_t patience = std::max(config_.park_after_ns, 2 * stage.entry.cost_ns);
    SetTimer(task, stage, now_ns + patience, StageTimer::kPark);
  }
  const Grant grant = MakeGrant(task, job);
  grants->push_back(grant);
  job.granted_upto = stage.upto;
  task.last_partition = stage.partition;
  task.last_level = stage.level;
  if (grant.switched) {
    ++job.switches;
    ++task.switches;
    ++partitions_[stage.partition].switches_in;
  }
}

// Whether the stage is known to have launches that wait for it. If the caller does not say what is
// recorded, a stage within the learnt length is believed to.
bool SchedulerCore::WorkIsRecorded(const Job& job) const {
  if (job.stage.index == 0) return true;
  if (job.recorded != 0) return job.recorded > job.stage.from;
  return job.stage.index < job.ends.size();
}

Grant SchedulerCore::MakeGrant(const Task& task, const Job& job) const {
  const Stage& stage = job.stage;
  const auto stages = static_cast<uint32_t>(job.ends.size());
  Grant grant;
  grant.task = task.id;
  grant.job = job.id;
  grant.stage = stage.index;
  grant.stage_count = stage.index < stages ? stages : stage.index + (stage.upto == kOpen ? 1 : 2);
  grant.from = stage.from;
  grant.upto = stage.upto;
  grant.partition = stage.partition;
  grant.level = stage.level;
  grant.learning = job.record.kind == PlanKind::kOpen || job.record.kind == PlanKind::kChunks;
  grant.switched =
      task.last_partition != policy::kNoPartition && task.last_partition != stage.partition;
  grant.virtual_deadline_ns = stage.virtual_deadline_ns;
  return grant;
}

}  // namespace sgprs::sched
