// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/engine.h"

#include <algorithm>
#include <functional>

namespace sgprs::model {

void Engine::RunToEnd() {
  for (uint32_t i = 0; i < tasks_.size(); ++i) {
    if (tasks_[i].admitted) Return(i);
  }
  while (true) {
    const uint64_t next_ns = NextEventNs();
    if (now_ns_ < window_.from_ns && next_ns >= window_.from_ns) use_at_[0] = fluid_->use();
    if (now_ns_ < window_.to_ns && next_ns >= window_.to_ns) use_at_[1] = fluid_->use();
    if (next_ns > end_ns_) break;
    now_ns_ = next_ns;
    ends_.clear();
    fluid_->Advance(now_ns_, &ends_);
    for (const KernelEnd& end : ends_) PieceEnded(static_cast<uint32_t>(end.tag), end.start_ns);
    while (!heap_.empty() && heap_.front().at_ns <= now_ns_) {
      const Event event = heap_.front();
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      heap_.pop_back();
      Handle(event);
    }
    if (decide_ || wake_ns_ <= now_ns_) Decide();
  }
  now_ns_ = end_ns_;
}

uint64_t Engine::NextEventNs() const {
  uint64_t next_ns = std::min(fluid_->NextEventNs(), std::max(wake_ns_, now_ns_ + 1));
  if (!heap_.empty()) next_ns = std::min(next_ns, heap_.front().at_ns);
  return next_ns;
}

void Engine::Push(uint64_t at_ns, EventKind kind, uint32_t task) {
  heap_.push_back({at_ns, next_sequence_++, kind, task});
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
}

void Engine::Handle(const Event& event) {
  ++result_.events;
  switch (event.kind) {
    case EventKind::kBegin:
      return Begin(event.task);
    case EventKind::kReleased:
      return Released(event.task);
    case EventKind::kGrant:
      return GrantArrives(event.task);
    case EventKind::kPieceDone:
      return PieceDone(event.task);
    case EventKind::kReport:
      return ReportArrives(event.task);
    case EventKind::kReturn:
      return Return(event.task);
  }
}

void Engine::Decide() {
  decide_ = false;
  new_grants_.clear();
  scheduler_->Decide(now_ns_, &new_grants_);
  wake_ns_ = scheduler_->NextWakeNs();
  TakeFinished();
  for (const sched::Grant& grant : new_grants_) {
    ++result_.grants;
    const uint32_t index = by_id_[grant.task];
    VirtualTask& task = tasks_[index];
    uint64_t at_ns = now_ns_ + scenario_.host.grant_round_trip_ns / 2;
    if (grant.switched) at_ns += scenario_.host.switch_ns;
    task.last_coming_ns = std::max(task.last_coming_ns, at_ns);  // grants keep their order
    task.granted_ns = now_ns_;
    if (task.first_grant_ns == 0) task.first_grant_ns = now_ns_;
    task.coming.push_back(grant);
    if (task.last_coming_ns == now_ns_) {
      GrantArrives(index);
    } else {
      Push(task.last_coming_ns, EventKind::kGrant, index);
    }
  }
}

void Engine::TakeFinished() {
  for (const sched::FinishedJob& finished : scheduler_->TakeFinishedJobs()) {
    const uint32_t index = by_id_[finished.task];
    std::optional<uint64_t> moved;
    if (gated_) moved = finished.release_ns;
    JobRow row = tasks_[index].Book(finished.job, moved);
    if (!options_.keep_jobs || row.job == 0 || !Kept(row.release_ns, row.complete_ns)) continue;
    row.task = index;
    result_.jobs.push_back(row);
  }
}

// The application is back: it sleeps until its next release.
void Engine::Return(uint32_t index) {
  uint64_t at_ns = tasks_[index].NextJob(now_ns_);
  const uint64_t halt_ns = scenario_.warmup_ns / 2;
  const uint64_t resume_ns = halt_ns + scenario_.standstill_ns;
  if (at_ns >= halt_ns && at_ns < resume_ns) at_ns = resume_ns;
  if (at_ns != UINT64_MAX) Push(at_ns + scenario_.host.prepare_ns, EventKind::kBegin, index);
}

void Engine::Begin(uint32_t index) {
  tasks_[index].Begin(now_ns_);
  const uint64_t message_ns = scenario_.host.grant_round_trip_ns / 2;
  if (message_ns == 0) return Released(index);
  Push(now_ns_ + message_ns, EventKind::kReleased, index);
}

void Engine::Released(uint32_t index) {
  VirtualTask& task = tasks_[index];
  // The border of a job is seen when the next one begins. Networks repeat; so its launches are
  // those of the present job (of a recorded one their number may differ).
  scheduler_->JobReleased(task.id, task.job(), task.first_launch_ns(), now_ns_);
  decide_ = true;
}

void Engine::GrantArrives(uint32_t index) {
  VirtualTask& task = tasks_[index];
  const sched::Grant grant = task.coming.front();
  task.coming.pop_front();
  // What is over needs no grant: an open one for the rest of an earlier job.
  if (grant.job != task.job() || !task.in_job()) return;
  task.grants.push_back(grant);
  Issue(index);
}

// Puts the next piece of the granted range on the device, if there is one.
void Engine::Issue(uint32_t index) {
  VirtualTask& task = tasks_[index];
  if (task.running || task.grants.empty()) return;
  const sched::Grant& grant = task.grants.front();
  const uint64_t upto = std::min(grant.upto, task.work().length());
  if (task.issued >= upto) return;
  if (task.issued == grant.from) task.stage_start_ns = 0;
  Launch(index, grant, task.work().Piece(task.issued, upto));
}

int Engine::StreamPriority(const VirtualTask& task, SgprsLevel level) const {
  if (task.spec().task_class == SGPRS_CLASS_BEST_EFFORT) return device_->priority_least;
  if (level == SGPRS_LEVEL_HIGH) return device_->priority_greatest;
  return (device_->priority_least + device_->priority_greatest) / 2;
}

void Engine::Launch(uint32_t index, const sched::Grant& grant, const WorkPiece& piece) {
  VirtualTask& task = tasks_[index];
  KernelLaunch launch;
  launch.cost = piece.cost;
  launch.tag = index;
  launch.work = piece.work;
  launch.priority = StreamPriority(task, grant.level);
  launch.context = grant.partition;
  launch.sm_limit = spans_[grant.partition].sm_count;
  launch.context_limit = launch.sm_limit;
  const uint64_t start_ns = std::max(now_ns_ + scenario_.host.issue_ns,
                                     task.RecordedNs(task.issued, scenario_.host.launch_ns));
  if (task.stage_start_ns == 0) task.stage_start_ns = start_ns;
  task.running = true;
  task.piece_upto = piece.upto;
  fluid_->AddKernel(launch, start_ns);
}

// The device is done with it; the host may not have issued its last launch by then.
void Engine::PieceEnded(uint32_t index, uint64_t start_ns) {
  ++result_.events;
  VirtualTask& task = tasks_[index];
  const HostCosts& host = scenario_.host;
  const uint64_t launches = task.piece_upto - task.issued;
  const uint64_t issued_ns = std::max(start_ns + (launches - 1) * host.issue_ns,
                                      task.RecordedNs(task.piece_upto - 1, host.launch_ns));
  if (issued_ns > now_ns_) return Push(issued_ns, EventKind::kPieceDone, index);
  PieceDone(index);
}

void Engine::PieceDone(uint32_t index) {
  VirtualTask& task = tasks_[index];
  task.running = false;
  task.issued = task.piece_upto;
  const sched::Grant& grant = task.grants.front();
  const bool job_done = task.issued >= task.work().length();
  const bool whole = task.issued == grant.upto;
  if (whole || job_done) {
    if (options_.keep_stages) KeepStage(index, grant);
    task.ready_ns = now_ns_;
    SendReport(index, whole);
  }
  if (job_done) return JobDone(index);
  if (whole) task.grants.pop_front();
  Issue(index);
}

void Engine::JobDone(uint32_t index) {
  VirtualTask& task = tasks_[index];
  task.grants.clear();
  task.Complete(now_ns_);
  Push(now_ns_ + scenario_.host.synchronise_ns, EventKind::kReturn, index);
}

void Engine::SendReport(uint32_t index, bool whole) {
  VirtualTask& task = tasks_[index];
  const sched::Grant& grant = task.grants.front();
  sched::StageReport report;
  report.job = grant.job;
  report.stage = grant.stage;
  report.partition = grant.partition;
  report.done = task.issued;
  report.whole = whole;
  report.complete_ns = now_ns_;
  report.recorded = task.RecordedBy(now_ns_, scenario_.host.launch_ns);
  task.reports.push_back(report);
  const uint64_t message_ns = scenario_.host.grant_round_trip_ns / 2;
  if (message_ns == 0) return ReportArrives(index);
  Push(now_ns_ + message_ns, EventKind::kReport, index);
}

void Engine::ReportArrives(uint32_t index) {
  VirtualTask& task = tasks_[index];
  const sched::StageReport report = task.reports.front();
  task.reports.pop_front();
  scheduler_->StageProgress(task.id, report, now_ns_);
  if (report.done >= task.work().length()) {
    scheduler_->JobClosed(task.id, report.job, task.work().identities(), report.complete_ns,
                          now_ns_);
  }
  decide_ = true;
}

void Engine::KeepStage(uint32_t index, const sched::Grant& grant) {
  const VirtualTask& task = tasks_[index];
  if (!Kept(task.stage_start_ns, now_ns_)) return;
  StageRow row;
  row.task = index;
  row.job = grant.job;
  row.stage = grant.stage;
  row.stage_count = grant.stage_count;
  row.partition = grant.partition;
  row.level = grant.level;
  row.switched = grant.switched;
  row.ready_ns = task.ready_ns;
  row.granted_ns = task.granted_ns;
  row.start_ns = task.stage_start_ns;
  row.end_ns = now_ns_;
  row.virtual_deadline_ns = grant.virtual_deadline_ns;
  row.from_launch = grant.from;
  row.upto_launch = grant.upto;
  result_.stages.push_back(row);
}

}  // namespace sgprs::model
