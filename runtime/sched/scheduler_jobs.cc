// SPDX-License-Identifier: Apache-2.0
// Jobs: released, cut, advanced stage by stage, finished, closed.
#include <algorithm>

#include "runtime/sched/scheduler_core.h"

namespace sgprs::sched {
namespace {

constexpr size_t kMaxRetired = 4;
constexpr uint32_t kFirstOpenLaunches = 8;  // of a task whose launches were never timed

uint64_t Add(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

}  // namespace

void SchedulerCore::Release(TaskId id, uint64_t job_id, std::optional<uint64_t> release_ns,
                            uint64_t first_launch_ns, uint64_t now_ns) {
  Task* task = Find(id);
  if (task == nullptr || (task->last_job && job_id <= *task->last_job)) return;
  now_ns = Clock(now_ns);
  first_launch_ns = std::min(first_launch_ns, now_ns);
  if (release_ns) release_ns = std::min(*release_ns, first_launch_ns);
  task->last_job = job_id;

  Job job;
  job.id = job_id;
  job.first_launch_ns = first_launch_ns;
  job.release_ns = release_ns.value_or(first_launch_ns);
  if (task->grid) {
    const bool paced = Paced(*task, now_ns);
    const ReleaseGrid::Release release =
        release_ns ? task->grid->At(*release_ns)
                   : task->grid->Next(first_launch_ns, task->last_complete_ns, paced);
    // In time for its own clock again.
    if (release.release_ns < first_launch_ns) task->displaced = false;
    job.release_ns = release.release_ns;
    job.skipped_periods = release.skipped_periods;
  }
  const uint64_t relative =
      task->config.deadline_ns != 0 ? task->config.deadline_ns : task->config.period_ns;
  if (relative != 0) job.deadline_ns = Add(job.release_ns, relative);
  task->jobs.push_back(std::move(job));
  Advance(*task, now_ns);
}

// Closes what is over and starts what waited for it.
void SchedulerCore::Advance(Task& task, uint64_t now_ns) {
  while (task.jobs.size() > 1 && Over(task.jobs.front())) Retire(task, now_ns);
  if (!task.jobs.empty() && task.jobs.front().state == JobState::kWaiting) {
    AskGate(task, task.jobs.front(), now_ns);
  }
}

// Whether a job may be closed because a later one has begun: nothing of it is known to be on its
// way.
bool SchedulerCore::Over(const Job& job) const {
  if (job.state == JobState::kFinished || job.stage.state == StageState::kParked) return true;
  if (!job.stage.granted()) return false;
  return job.stage.idle || (job.stage.state == StageState::kStalled && job.stage.upto == kOpen);
}

void SchedulerCore::Retire(Task& task, uint64_t now_ns) {
  Job& job = task.jobs.front();
  const bool whole =
      job.state == JobState::kFinished && !job.off_signature && job.recorded <= job.granted_upto;
  if (job.granted_upto != kOpen && !whole) {
    Grant tail = MakeGrant(task, job);
    tail.stage += job.stage.granted();
    tail.stage_count = tail.stage + 1;
    tail.from = job.granted_upto;
    tail.upto = kOpen;
    tail.partition = task.last_partition;
    tail.level = task.last_level;
    tail.switched = false;
    tail_grants_.push_back(tail);
  }
  if (job.length != 0 && job.done < job.length) MarkOffSignature(task, job);
  ReportJob(task, job, job.last_complete_ns != 0 ? job.last_complete_ns : now_ns);
  if (task.retired.size() >= kMaxRetired) task.retired.pop_front();
  task.retired.push_back({job.id, std::move(job.record), job.off_signature});
  DropFront(task, now_ns);
}

void SchedulerCore::DropFront(Task& task, uint64_t now_ns) {
  LeaveGate(task, task.jobs.front());
  SetStage(task, task.jobs.front().stage, StageState::kNone, now_ns);
  task.jobs.pop_front();
}

// papers.md 1.3 (4): D_ij = (C_ij / sum of C_ik) * margin * D_i, cumulated, C in the largest
// partition. A job that waited at a gate shares out what is left of its deadline.
void SchedulerCore::MakePlan(Task& task, Job& job) {
  const Learner& learner = task.learner;
  job.record = {.kind = learner.Plan(traits_.staged), .generation = learner.generation()};
  const std::span<const uint64_t> ends = learner.Ends(job.record.kind);
  job.ends.assign(ends.begin(), ends.end());
  job.length = job.ends.empty() ? 0 : learner.length();
  job.virtual_deadlines_ns.clear();
  if (job.deadline_ns == policy::kNoDeadline) return;

  const bool waited = GateOf(task) != nullptr && job.admitted_ns < job.deadline_ns;
  const uint64_t begin_ns = waited ? std::max(job.admitted_ns, job.release_ns) : job.release_ns;
  const double share =
      config_.options.deadline_margin * static_cast<double>(job.deadline_ns - begin_ns);
  const CostModel& costs = learner.costs(job.record.kind);
  double total = 0;
  for (size_t i = 0; i < job.ends.size(); ++i)
    total += static_cast<double>(costs.LargestCost(i)) + 1;
  double sum = 0;
  for (size_t i = 0; i < job.ends.size(); ++i) {
    sum += static_cast<double>(costs.LargestCost(i)) + 1;
    job.virtual_deadlines_ns.push_back(begin_ns + static_cast<uint64_t>(share * sum / total));
  }
  // Ranges beyond the plan, and jobs without one, have the whole of it.
  job.virtual_deadlines_ns.push_back(begin_ns + static_cast<uint64_t>(share));
}

void SchedulerCore::StartStage(Task& task, Job& job, uint32_t index, uint64_t from,
                               uint64_t now_ns) {
  job.stage = Stage();
  job.stage.index = index;
  job.stage.from = from;
  job.stage.ready_ns = now_ns;
  job.stage.sequence = next_sequence_++;
  BoundStage(task, job);
  SetStage(task, job.stage, StageState::kReady, now_ns);
}

// Gives the stage its end and its virtual deadline by the job's plan.
void SchedulerCore::BoundStage(const Task& task, Job& job) const {
  Stage& stage = job.stage;
  stage.upto = EndOfStage(task, job, stage.index, stage.from);
  if (job.virtual_deadlines_ns.empty()) return;
  const size_t last = job.virtual_deadlines_ns.size() - 1;
  stage.virtual_deadline_ns = job.virtual_deadlines_ns[std::min<size_t>(stage.index, last)];
}

// The last planned stage is open, unless nobody can tell that the job will end: without a plan, and
// without a period, ranges are bounded.
uint64_t SchedulerCore::EndOfStage(const Task& task, const Job& job, uint32_t index,
                                   uint64_t from) const {
  const size_t stages = job.ends.size();
  if (index + 1 < stages) return job.ends[index];
  if (index + 1 == stages) {
    return task.config.period_ns != 0 ? kOpen : Add(job.ends[index], OpenRange(task));
  }
  return Add(from, OpenRange(task));
}

uint64_t SchedulerCore::OpenRange(const Task& task) const {
  const uint64_t most = config_.max_open_launches;
  if (task.open_launch_ns == 0) return std::min<uint64_t>(kFirstOpenLaunches, most);
  return std::clamp<uint64_t>(config_.open_grant_ns / task.open_launch_ns, 1, most);
}

void SchedulerCore::StageProgress(TaskId id, const StageReport& report, uint64_t now_ns) {
  Task* task = Find(id);
  if (task == nullptr || task->jobs.empty()) return;
  Job& job = task->jobs.front();
  if (job.id != report.job || job.stage.index != report.stage || !job.stage.granted()) return;
  now_ns = Clock(now_ns);

  // Nothing in a report may take a job backwards or beyond its grant.
  const uint64_t done = std::min(report.done, job.stage.upto);
  const bool progress = done > job.done;
  job.done = std::max(job.done, done);
  job.recorded = std::max(job.recorded, report.recorded);
  StageReport checked = report;
  checked.complete_ns = report.complete_ns == 0
                            ? now_ns
                            : std::clamp(report.complete_ns, job.first_launch_ns, now_ns);
  job.last_complete_ns = std::max(job.last_complete_ns, checked.complete_ns);
  if (job.length != 0 && job.done > job.length) MarkOffSignature(*task, job);
  // An extended range is whole only at its new end.
  if (report.whole && job.stage.upto != kOpen && report.done >= job.stage.upto) {
    job.done = job.stage.upto;
    WholeStage(*task, job, checked, now_ns);
  } else {
    PartialStage(*task, job, progress, checked, now_ns);
    ExtendRange(*task, job);
  }
  Advance(*task, now_ns);
}

void SchedulerCore::WholeStage(Task& task, Job& job, const StageReport& report, uint64_t now_ns) {
  if (job.length != 0 && job.done > job.length) MarkOffSignature(task, job);
  const size_t next = job.stage.index + size_t{1};
  // The last planned stage of a finished job was counted when the job was.
  if (job.state != JobState::kFinished || next > job.ends.size()) {
    CompleteStage(task, job, report.complete_ns, report.gpu_ns);
  }
  if (job.state != JobState::kFinished && job.length != 0 && next >= job.ends.size()) {
    ReportJob(task, job, report.complete_ns);
    MoveTo(&job.state, JobState::kFinished);
  }
  const uint64_t from = job.stage.upto;
  SetStage(task, job.stage, StageState::kNone, now_ns);
  // The end of the last planned stage lies beyond the learnt length: such a job goes on.
  StartStage(task, job, static_cast<uint32_t>(next), from, now_ns);
}

void SchedulerCore::PartialStage(Task& task, Job& job, bool progress, const StageReport& report,
                                 uint64_t now_ns) {
  const bool last = job.stage.index + 1 == job.ends.size();
  Stage& stage = job.stage;
  stage.idle = job.recorded <= job.done || report.recorded == 0;
  if (last && job.length != 0 && job.done >= job.length && job.state == JobState::kActive) {
    CompleteStage(task, job, report.complete_ns, report.gpu_ns);
    ReportJob(task, job, report.complete_ns);
    MoveTo(&job.state, JobState::kFinished);
    if (stage.idle) {
      if (stage.state != StageState::kParked) SetStage(task, stage, StageState::kParked, now_ns);
      return;
    }
  }
  // Whoever makes progress holds a slot again, even if that is one too many for a while.
  if (stage.state == StageState::kStalled || (stage.state == StageState::kParked && progress)) {
    SetStage(task, stage, StageState::kRunning, now_ns);
  }
  if (stage.state != StageState::kRunning) return;
  if (stage.idle) {
    SetTimer(task, stage, Add(now_ns, config_.park_after_ns), StageTimer::kPark);
  } else {
    ArmStallTimer(task, stage, now_ns);
  }
}

// A range of an open job that nears its end grows by another while nobody wants its partition: the
// device does not run dry at the range's end for want of a grant.
void SchedulerCore::ExtendRange(Task& task, Job& job) {
  Stage& stage = job.stage;
  const bool open_range = stage.index >= job.ends.size() && stage.upto != kOpen;
  // A periodic task learns; only who never does lives in ranges.
  if (!open_range || task.config.period_ns != 0 || !traits_.staged) return;
  if (stage.state != StageState::kRunning || stage.idle) return;
  // Not before a range was timed: the first ones only feel their way. Two ranges ahead at most.
  if (task.open_launch_ns == 0 || stage.upto - job.done > OpenRange(task)) return;
  const PartitionState& partition = partitions_[stage.partition];
  if (partition.queued() != 0 || !partition.sound()) return;
  if (task.best_effort() && partition.running() > 1) return;
  Grant more = MakeGrant(task, job);
  more.from = stage.upto;
  stage.upto = Add(stage.upto, OpenRange(task));
  more.upto = stage.upto;
  more.switched = false;
  job.granted_upto = stage.upto;
  tail_grants_.push_back(more);
}

// Counts and measures the stage in flight.
void SchedulerCore::CompleteStage(Task& task, Job& job, uint64_t complete_ns, uint64_t gpu_ns) {
  const Stage& stage = job.stage;
  ++job.stages;
  ++task.stages_completed;
  ++partitions_[stage.partition].stages_completed;
  job.predecessor_late = complete_ns > stage.virtual_deadline_ns;
  job.stages_late += job.predecessor_late;
  task.stages_late += job.predecessor_late;

  const uint64_t elapsed = complete_ns > stage.granted_ns ? complete_ns - stage.granted_ns : 0;
  const uint64_t ns = gpu_ns != 0 ? std::min(gpu_ns, std::max<uint64_t>(elapsed, 1)) : elapsed;
  if (job.record.kind != PlanKind::kOpen && stage.index < job.ends.size()) {
    job.record.samples.push_back({stage.index, stage.partition, ns});
    return;
  }
  task.learner.RecordOpen(stage.partition, ns);
  const uint64_t launches = job.done > stage.from ? job.done - stage.from : 0;
  if (launches != 0) task.open_launch_ns = std::max<uint64_t>(1, ns / launches);
}

void SchedulerCore::ReportJob(Task& task, Job& job, uint64_t complete_ns) {
  if (job.reported) return;
  job.reported = true;
  task.last_complete_ns = std::max(task.last_complete_ns, complete_ns);
  task.history.Ran(complete_ns <= job.deadline_ns);
  LearnResponse(task, job, complete_ns);
  finished_.push_back({.task = task.id,
                       .job = job.id,
                       .release_ns = job.release_ns,
                       .first_launch_ns = job.first_launch_ns,
                       .deadline_ns = job.deadline_ns,
                       .complete_ns = complete_ns,
                       .stages = job.stages,
                       .stages_late = job.stages_late,
                       .switches = job.switches,
                       .skipped_periods = job.skipped_periods,
                       .held_periods = job.held_periods,
                       .off_signature = job.off_signature,
                       .on_time = complete_ns <= job.deadline_ns});
}

void SchedulerCore::MarkOffSignature(Task& task, Job& job) {
  if (job.off_signature) return;
  job.off_signature = true;
  ++task.jobs_off_signature;
}

void SchedulerCore::JobClosed(TaskId id, uint64_t job_id, std::span<const uint64_t> launches,
                              uint64_t complete_ns, uint64_t now_ns) {
  Task* task = Find(id);
  if (task == nullptr) return;
  now_ns = Clock(now_ns);
  for (auto it = task->retired.begin(); it != task->retired.end(); ++it) {
    if (it->id != job_id) continue;
    if (task->learner.JobClosed(it->record, launches) && !it->off_signature) {
      ++task->jobs_off_signature;
    }
    LearnBusy(*task, it->record);
    RefreshLoad(*task);
    task->retired.erase(it);
    return;
  }
  const auto known = std::find_if(task->jobs.begin(), task->jobs.end(),
                                  [job_id](const Job& job) { return job.id == job_id; });
  if (known == task->jobs.end()) return;
  // A later job is complete, so the earlier ones are too.
  while (task->jobs.front().id != job_id) {
    ReportJob(*task, task->jobs.front(), now_ns);
    DropFront(*task, now_ns);
  }
  Job& job = task->jobs.front();
  complete_ns = complete_ns == 0 ? now_ns : std::clamp(complete_ns, job.first_launch_ns, now_ns);
  const uint64_t total = launches.empty() ? job.done : launches.size();
  if (job.stage.granted() && job.state == JobState::kActive && total > job.stage.from) {
    job.done = std::max(job.done, std::min(total, job.stage.upto));
    CompleteStage(*task, job, complete_ns, 0);
  }
  if (task->learner.JobClosed(job.record, launches)) MarkOffSignature(*task, job);
  LearnBusy(*task, job.record);
  RefreshLoad(*task);
  ReportJob(*task, job, complete_ns);
  DropFront(*task, now_ns);
  Advance(*task, now_ns);
}

}  // namespace sgprs::sched
