// SPDX-License-Identifier: Apache-2.0
// Whether a job starts: the gate at its first launch, the jobs that wait there, what is held to its
// next release. README.md, "Hold".
#include <algorithm>

#include "runtime/sched/scheduler_core.h"

namespace sgprs::sched {
namespace {

// A pool in which nobody was held for so many of a task's periods is calm: a displaced process may
// then run early and so catch up with its own clock.
constexpr uint64_t kCalmPeriods = 32;
// Bounds of a task's lag against the others, in its own periods.
constexpr int64_t kMostBehind = 4;
constexpr int64_t kMostAhead = 2;
// So many releases in a row more than usual without a frame on time are no chance any more.
constexpr double kLongerThanUsual = 2;
// Held so often in a row, a task is believed to need less than it once did.
constexpr uint64_t kDoubtAfter = 8;
// A job that ended within this part of its period before its deadline counts as late here: its
// release is known by its first launch, which a program reaches a little after its own.
constexpr uint64_t kDoubtfulPart = 64;
constexpr double kLateStep = 0.05;
constexpr double kTimelyStep = kLateStep / 100;
constexpr double kMostCaution = 3;

uint64_t Add(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

}  // namespace

const policy::JobGate* SchedulerCore::GateOf(const Task& task) const {
  if (task.config.period_ns == 0 || task.best_effort()) return nullptr;
  if (policy_->gate() != nullptr) return policy_->gate();
  return overload_ == policy::OverloadMode::kHold ? hold_gate_.get() : nullptr;
}

// A process that was held a release is behind its own clock by one: it presents the next job as
// soon as it has the one before. While the pool is overloaded that job is the next release's.
bool SchedulerCore::Paced(Task& task, uint64_t now_ns) {
  if (!task.displaced) return false;
  const uint64_t calm_ns = Add(last_hold_ns_, kCalmPeriods * task.config.period_ns);
  if (GateOf(task) == nullptr || now_ns > calm_ns) task.displaced = false;
  return task.displaced;
}

// The front job of `task`, not admitted yet: asks, then admits it or lets it wait.
void SchedulerCore::AskGate(Task& task, Job& job, uint64_t now_ns) {
  LeaveGate(task, job);
  if (job.held_until_ns != 0 && now_ns >= job.held_until_ns) ShiftToNextRelease(task, job);
  job.held_until_ns = 0;
  const policy::JobGate* gate = GateOf(task);
  if (job.asked_ns == 0) job.asked_ns = now_ns;
  const uint64_t last_ns = Add(job.asked_ns, config_.max_hold_ns);
  if (gate == nullptr || now_ns >= last_ns) return Admit(task, job, now_ns);
  if (job.release_ns > now_ns) {
    return WaitAtGate(task, job, std::min(job.release_ns, last_ns));
  }
  const auto period_ns = static_cast<int64_t>(task.config.period_ns);
  const int64_t front_ns = AtGate(task).held_front_ns;
  task.held_ns = std::clamp(task.held_ns, front_ns - kMostAhead * period_ns,
                            front_ns + kMostBehind * period_ns);
  const policy::JobView view = ViewJob(task, job, now_ns);
  const policy::GateDecision decision = gate->Ask(view, SnapshotForGate(now_ns));
  if (decision.answer == policy::GateAnswer::kStart) {
    if (decision.home < partitions_.size()) Bind(task, decision.home);
    MoveFront(task);
    return Admit(task, job, now_ns);
  }
  if (decision.answer == policy::GateAnswer::kHold) return Hold(task, job, now_ns);
  const size_t set = std::min<size_t>(task.home, partitions_.size());
  job.candidate = {gate->Order(view), next_sequence_++, task.id, set};
  candidates_[set].insert(*job.candidate);
  WaitAtGate(task, job, std::min(Add(gate->LatestStartNs(view), 1), last_ns));
}

// Who is admitted shows how much, and how often in a row, its class is held at present.
void SchedulerCore::MoveFront(const Task& task) {
  ClassAtGate& at = AtGate(task);
  at.held_front_ns += (task.held_ns - at.held_front_ns) / 8;
  at.unmet_run += (static_cast<double>(task.history.unmet_run()) - at.unmet_run) / 16;
}

void SchedulerCore::WaitAtGate(Task& task, Job& job, uint64_t until_ns) {
  MoveTo(&job.state, JobState::kGated);
  job.gate_timer_ns = std::max<uint64_t>(until_ns, 1);
  gate_timers_.emplace(job.gate_timer_ns, task.id);
}

// Back to waiting, as if it had not been asked; nothing if it is not at the gate.
void SchedulerCore::LeaveGate(Task& task, Job& job) {
  if (job.state != JobState::kGated) return;
  gate_timers_.erase({job.gate_timer_ns, task.id});
  job.gate_timer_ns = 0;
  if (job.candidate) candidates_[job.candidate->set].erase(*job.candidate);
  job.candidate.reset();
  MoveTo(&job.state, JobState::kWaiting);
}

void SchedulerCore::Hold(Task& task, Job& job, uint64_t now_ns) {
  LeaveGate(task, job);
  last_hold_ns_ = now_ns;
  const uint64_t period_ns = task.config.period_ns;
  // With a deadline beyond the period the next release may have passed.
  const uint64_t periods = std::max<uint64_t>(1, (now_ns - job.release_ns) / period_ns);
  job.held_until_ns = job.release_ns + periods * period_ns;
  WaitAtGate(task, job, std::min(job.held_until_ns, Add(job.asked_ns, config_.max_hold_ns)));
}

// The releases that passed had no job; this one is the job of the release that has come, and those
// behind it move along.
void SchedulerCore::ShiftToNextRelease(Task& task, Job& job) {
  const uint64_t shift_ns = job.held_until_ns - job.release_ns;
  const uint64_t periods = shift_ns / task.config.period_ns;
  for (Job& each : task.jobs) {
    each.release_ns += shift_ns;
    if (each.deadline_ns != policy::kNoDeadline) each.deadline_ns += shift_ns;
  }
  task.grid->Shift(periods);
  task.displaced = true;
  task.held_ns += static_cast<int64_t>(shift_ns);
  job.held_periods += periods;
  job.skipped_periods += periods;
  for (uint64_t i = 0; i < periods; ++i) task.history.Held();
  if (task.history.hold_run() % kDoubtAfter != 0) return;
  task.response_ns -= task.response_ns / 4;
}

void SchedulerCore::Admit(Task& task, Job& job, uint64_t now_ns) {
  job.admitted_ns = std::max<uint64_t>(now_ns, 1);
  MoveTo(&job.state, JobState::kActive);
  MakePlan(task, job);
  StartStage(task, job, 0, 0, now_ns);
}

void SchedulerCore::RunGateTimers(uint64_t now_ns) {
  while (!gate_timers_.empty() && gate_timers_.begin()->first <= now_ns) {
    Task& task = *tasks_[gate_timers_.begin()->second];
    Job& job = task.jobs.front();
    const bool too_long = now_ns >= Add(job.asked_ns, config_.max_hold_ns);
    if (job.candidate && !too_long) {
      Hold(task, job, now_ns);
    } else {
      AskGate(task, job, now_ns);
    }
  }
}

// Those who wait for room, first come who is first in the gate's order.
void SchedulerCore::AdmitCandidates(uint64_t now_ns) {
  for (std::set<Candidate>& candidates : candidates_) {
    while (!candidates.empty()) {
      Task& task = *tasks_[candidates.begin()->task];
      Job& job = task.jobs.front();
      const policy::JobView view = ViewJob(task, job, now_ns);
      const policy::GateDecision decision = GateOf(task)->Ask(view, SnapshotForGate(now_ns));
      if (decision.answer == policy::GateAnswer::kWait) break;
      if (decision.answer == policy::GateAnswer::kHold) {
        Hold(task, job, now_ns);
        continue;
      }
      LeaveGate(task, job);
      MoveFront(task);
      Admit(task, job, now_ns);
    }
  }
}

// After a change of gates.
void SchedulerCore::AskAllAnew(uint64_t now_ns) {
  for (const std::unique_ptr<Task>& task : tasks_) {
    if (task == nullptr || task->jobs.empty()) continue;
    if (task->jobs.front().state == JobState::kGated) AskGate(*task, task->jobs.front(), now_ns);
  }
}

// How much longer than usual nothing of the task was served, as time. Lag is a sum: with it alone,
// two frames in quick succession would be followed by a long gap.
int64_t SchedulerCore::GapNs(const Task& task) const {
  const double usual = AtGate(task).unmet_run + kLongerThanUsual;
  const double more = std::max(0.0, static_cast<double>(task.history.unmet_run()) - usual);
  return static_cast<int64_t>(more * static_cast<double>(task.config.period_ns));
}

policy::JobView SchedulerCore::ViewJob(const Task& task, const Job& job, uint64_t now_ns) const {
  policy::JobView view;
  view.task = task.id;
  view.task_class = task.config.task_class;
  view.period_ns = task.config.period_ns;
  view.release_ns = job.release_ns;
  view.deadline_ns = job.deadline_ns;
  view.response_ns = ExpectedResponseNs(task);
  view.utilisation = static_cast<double>(task.utilisation_ppb) / 1e9;
  view.home = task.home;
  view.waited_ns = now_ns - job.asked_ns;
  const int64_t gap_ns = GapNs(task);
  view.lag_ns = task.held_ns + gap_ns;
  view.behind_ns = std::max(task.held_ns - AtGate(task).held_front_ns, gap_ns);
  view.busy_ns = task.busy_ns != 0 ? task.busy_ns : CostOf(task);
  return view;
}

// Self-correcting: kLateStep and kTimelyStep balance where one job in a hundred is late.
uint64_t SchedulerCore::ExpectedResponseNs(const Task& task) const {
  const uint64_t mean_ns = task.response_ns != 0 ? task.response_ns : CostOf(task);
  return static_cast<uint64_t>(static_cast<double>(mean_ns) * AtGate(task).caution);
}

void SchedulerCore::LearnResponse(Task& task, const Job& job, uint64_t complete_ns) {
  if (job.admitted_ns == 0 || GateOf(task) == nullptr || job.record.kind == PlanKind::kOpen) return;
  const uint64_t took_ns = complete_ns - std::min(complete_ns, job.admitted_ns);
  task.response_ns = task.response_ns == 0 ? took_ns : (3 * task.response_ns + took_ns) / 4;
  double& caution = AtGate(task).caution;
  if (Add(complete_ns, task.config.period_ns / kDoubtfulPart) <= job.deadline_ns) {
    caution = std::max(kLeastCaution, caution - kTimelyStep);
    return;
  }
  caution = std::min(kMostCaution, caution + kLateStep);
  // A frame that was late was not served.
  task.held_ns += static_cast<int64_t>(task.config.period_ns);
}

policy::GateSnapshot SchedulerCore::SnapshotForGate(uint64_t now_ns) {
  policy::GateSnapshot snapshot;
  snapshot.now_ns = now_ns;
  snapshot.slots = slots_;
  snapshot.partitions = static_cast<uint32_t>(partitions_.size());
  snapshot.running_jobs = running_jobs_;
  snapshot.running_high = running_high_;
  snapshot.high_utilisation = static_cast<double>(high_share_ppb_) / 1e9;
  snapshot.load = Loads();
  return snapshot;
}

}  // namespace sgprs::sched
