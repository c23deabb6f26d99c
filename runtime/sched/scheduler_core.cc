// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/scheduler_core.h"

#include <algorithm>
#include <string>

namespace sgprs::sched {
namespace {

std::vector<uint32_t> SmCounts(const SchedulerConfig& config) {
  std::vector<uint32_t> counts;
  for (const PartitionConfig& partition : config.partitions) counts.push_back(partition.sm_count);
  return counts;
}

// The table's name, which lives for ever.
std::string_view TableName(std::string_view name) {
  for (const policy::PolicyRow& row : policy::PolicyTable()) {
    if (row.name == name) return row.name;
  }
  return {};
}

uint64_t Add(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

uint64_t Times(uint64_t a, uint64_t b) { return a != 0 && b > UINT64_MAX / a ? UINT64_MAX : a * b; }

}  // namespace

SchedulerCore::SchedulerCore(const SchedulerConfig& config, std::unique_ptr<policy::Policy> policy)
    : config_(config),
      sizes_(SmCounts(config)),
      learning_{config.stages,
                config.window,
                config.learning_jobs,
                config.learning_chunks,
                config.relearn_after,
                config.min_stage_ns,
                config.options.cost_rule == policy::CostRule::kMean},
      policy_name_(TableName(config.policy)),
      policy_(std::move(policy)),
      traits_(policy_->traits()),
      overload_(config.overload),
      hold_gate_(policy::MakeHoldGate()),
      views_(config.partitions.size()),
      candidates_(config.partitions.size() + 1),
      load_sums_(config.partitions.size()),
      loads_(config.partitions.size()) {
  for (const PartitionConfig& partition : config.partitions) {
    const auto count = static_cast<uint32_t>(config.partitions.size());
    partitions_.emplace_back(partition.sm_count,
                             partition.capacity != 0
                                 ? partition.capacity
                                 : policy::PartitionCapacity(config.options, count));
    partitions_.back().SetLevelSlots(traits_.level_slots);
    slots_ += partitions_.back().capacity();
  }
}

Result<TaskId> SchedulerCore::AddTask(const TaskConfig& config, uint64_t now_ns) {
  Clock(now_ns);
  if (config.task_class > SGPRS_CLASS_BEST_EFFORT) {
    return Status(ErrorCode::kInvalid, "task \"" + config.name + "\": no class " +
                                           std::to_string(static_cast<int>(config.task_class)));
  }
  if (free_ids_.empty() && tasks_.size() >= config_.max_tasks) {
    return Status(ErrorCode::kExhausted, "task \"" + config.name + "\": there are already " +
                                             std::to_string(config_.max_tasks) + " tasks");
  }
  auto task = std::make_unique<Task>(TaskId{0}, config, learning_, &sizes_, &profiles_);
  if (config.profile) {
    Status adopted = task->learner.Adopt(*config.profile);
    if (!adopted.ok()) return adopted.WithContext("task \"" + config.name + "\"");
  }
  TaskId id = static_cast<TaskId>(tasks_.size());
  if (free_ids_.empty()) {
    tasks_.emplace_back();
  } else {
    id = *free_ids_.begin();
    free_ids_.erase(free_ids_.begin());
  }
  task->id = id;
  task->held_ns = AtGate(*task).held_front_ns;
  if (config.period_ns != 0) periods_ns_.insert(config.period_ns);
  CountLoad(*task, +1);
  RefreshLoad(*task);
  if (!task->home_by_cost) ChooseHome(*task);
  tasks_[id] = std::move(task);
  return id;
}

void SchedulerCore::RemoveTask(TaskId id, uint64_t now_ns) {
  Task* task = Find(id);
  if (task == nullptr) return;
  now_ns = Clock(now_ns);
  if (!task->jobs.empty()) {
    LeaveGate(*task, task->jobs.front());
    SetStage(*task, task->jobs.front().stage, StageState::kNone, now_ns);
  }
  CountLoad(*task, -1);
  if (task->config.period_ns != 0) periods_ns_.erase(periods_ns_.find(task->config.period_ns));
  std::erase_if(tail_grants_, [id](const Grant& grant) { return grant.task == id; });
  tasks_[id].reset();
  free_ids_.insert(id);
}

Status SchedulerCore::AddProfile(const TaskProfile& profile) {
  if (Status fits = Learner::Check(profile); !fits.ok()) return fits;
  profiles_[SignatureOf(profile.launches)] = profile;
  return Status::Ok();
}

std::optional<TaskProfile> SchedulerCore::LearntProfile(TaskId id) const {
  const Task* task = Find(id);
  return task != nullptr && traits_.staged ? task->learner.Learnt() : std::nullopt;
}

Task* SchedulerCore::Find(TaskId task) {
  return task < tasks_.size() ? tasks_[task].get() : nullptr;
}

const Task* SchedulerCore::Find(TaskId task) const {
  return task < tasks_.size() ? tasks_[task].get() : nullptr;
}

uint64_t SchedulerCore::Clock(uint64_t now_ns) {
  clock_ns_ = std::max(clock_ns_, now_ns);
  return clock_ns_;
}

// The only place where a stage changes state: queue, slot and timer follow.
void SchedulerCore::SetStage(Task& task, Stage& stage, StageState to, uint64_t now_ns) {
  if (stage.state == to) return;
  const StageState from = stage.state;
  MoveTo(&stage.state, to);
  ClearTimer(task, stage);
  if (from == StageState::kQueued) partitions_[stage.partition].Dequeue(stage.entry);
  if (from == StageState::kRunning) partitions_[stage.partition].FreeSlot(task.id, now_ns);
  if (from == StageState::kParked) --partitions_[stage.partition].parked;
  if (from == StageState::kStalled) --partitions_[stage.partition].stalled;

  if (to == StageState::kReady) ready_.emplace_back(task.id, stage.sequence);
  if (to == StageState::kQueued) partitions_[stage.partition].Enqueue(stage.entry);
  if (to == StageState::kParked) ++partitions_[stage.partition].parked;
  if (to == StageState::kStalled) ++partitions_[stage.partition].stalled;
  if (to == StageState::kRunning) {
    partitions_[stage.partition].TakeSlot({.task = task.id,
                                           .granted_ns = stage.granted_ns,
                                           .cost_ns = stage.entry.cost_ns,
                                           .best_effort = stage.entry.best_effort,
                                           .above_capacity = stage.above_capacity,
                                           .high = stage.entry.high},
                                          now_ns);
  }
  SetRunning(task,
             to == StageState::kReady || to == StageState::kQueued || to == StageState::kRunning);
}

void SchedulerCore::SetTimer(Task& task, Stage& stage, uint64_t at_ns, StageTimer timer) {
  ClearTimer(task, stage);
  if (at_ns == UINT64_MAX) return;
  stage.timer_ns = std::max<uint64_t>(at_ns, 1);
  stage.timer = timer;
  timers_.emplace(stage.timer_ns, task.id);
}

void SchedulerCore::ClearTimer(Task& task, Stage& stage) {
  if (stage.timer_ns == 0) return;
  timers_.erase({stage.timer_ns, task.id});
  stage.timer_ns = 0;
}

void SchedulerCore::ArmStallTimer(Task& task, Stage& stage, uint64_t now_ns) {
  const uint64_t bound =
      std::max(config_.stall_min_ns, Times(config_.stall_factor, stage.entry.cost_ns));
  SetTimer(task, stage, Add(now_ns, bound), StageTimer::kStall);
}

void SchedulerCore::RunTimers(uint64_t now_ns) {
  while (!timers_.empty() && timers_.begin()->first <= now_ns) {
    TimerFired(*tasks_[timers_.begin()->second], now_ns);
  }
}

void SchedulerCore::TimerFired(Task& task, uint64_t now_ns) {
  Stage& stage = task.jobs.front().stage;
  if (stage.timer == StageTimer::kPlace) {
    ClearTimer(task, stage);
    stage.released = true;
    ready_.emplace_back(task.id, stage.sequence);
    return;
  }
  const bool parks = stage.timer == StageTimer::kPark;
  const uint32_t partition = stage.partition;
  SetStage(task, stage, parks ? StageState::kParked : StageState::kStalled, now_ns);
  if (!parks) PlaceAnew(partition, now_ns);
  Advance(task, now_ns);
}

// What is queued in `partition` becomes ready again.
void SchedulerCore::PlaceAnew(uint32_t partition, uint64_t now_ns) {
  for (const TaskId id : partitions_[partition].QueuedTasks()) {
    Task& task = *tasks_[id];
    SetStage(task, task.jobs.front().stage, StageState::kReady, now_ns);
  }
}

uint64_t SchedulerCore::NextWakeNs() const {
  uint64_t at_ns = timers_.empty() ? UINT64_MAX : timers_.begin()->first;
  if (!gate_timers_.empty()) at_ns = std::min(at_ns, gate_timers_.begin()->first);
  for (const PartitionState& partition : partitions_) {
    at_ns = std::min(at_ns, partition.NextLongWaitNs(config_.max_wait_ns));
  }
  return at_ns;
}

Status SchedulerCore::SetPolicy(std::string_view name, uint64_t now_ns) {
  std::unique_ptr<policy::Policy> policy = policy::MakePolicy(name, config_.options);
  if (policy == nullptr) {
    return Status(ErrorCode::kNotFound, "no policy \"" + std::string(name) + "\"; there are " +
                                            std::string(policy::PolicyNames()));
  }
  now_ns = Clock(now_ns);
  policy_ = std::move(policy);
  policy_name_ = TableName(name);
  traits_ = policy_->traits();
  for (uint32_t i = 0; i < partitions_.size(); ++i) {
    PlaceAnew(i, now_ns);
    partitions_[i].SetLevelSlots(traits_.level_slots);
  }
  ChooseHomes();
  AskAllAnew(now_ns);
  // A job that was not granted anything yet is planned as the new policy wants it.
  for (const std::unique_ptr<Task>& task : tasks_) {
    if (task == nullptr || task->jobs.empty()) continue;
    Job& job = task->jobs.front();
    if (job.stage.state != StageState::kReady || job.stage.index != 0) continue;
    MakePlan(*task, job);
    BoundStage(*task, job);
  }
  return Status::Ok();
}

void SchedulerCore::SetOverload(policy::OverloadMode mode, uint64_t now_ns) {
  overload_ = mode;
  AskAllAnew(Clock(now_ns));
}

std::vector<FinishedJob> SchedulerCore::TakeFinishedJobs() { return std::exchange(finished_, {}); }

TaskView SchedulerCore::View(TaskId id) const {
  TaskView view;
  const Task* task = Find(id);
  if (task == nullptr) return view;
  const PlanKind kind = task->learner.Plan(traits_.staged);
  view.scheduled = kind == PlanKind::kStages || kind == PlanKind::kWhole;
  if (view.scheduled) view.stages = static_cast<uint32_t>(task->learner.Ends(kind).size());
  view.profiled = task->learner.profiled();
  view.signature = task->learner.signature();
  view.generation = task->learner.generation();
  view.job_launches = task->learner.length();
  if (kind != PlanKind::kOpen) view.cost_ns = task->learner.costs(kind).TotalLargestCost();
  view.partition = task->last_partition == policy::kNoPartition ? 0 : task->last_partition;
  view.level = task->last_level;
  view.stages_completed = task->stages_completed;
  view.stages_late = task->stages_late;
  view.switches = task->switches;
  view.jobs_off_signature = task->jobs_off_signature;
  view.jobs_held = task->history.held();
  view.longest_hold = task->history.longest_hold();
  view.worst_window = task->history.worst_window();
  view.response_ns = task->busy_ns != 0 ? task->busy_ns : CostOf(*task);
  view.service_ns = view.response_ns / slots_;
  return view;
}

PartitionStats SchedulerCore::Stats(uint32_t index, uint64_t now_ns) const {
  if (index >= partitions_.size()) return {};
  const PartitionState& partition = partitions_[index];
  return {.running = partition.running(),
          .queued = partition.queued(),
          .busy_ns = partition.BusyNs(now_ns),
          .stages_completed = partition.stages_completed,
          .switches_in = partition.switches_in,
          .parked = partition.parked,
          .stalled = partition.stalled};
}

}  // namespace sgprs::sched
