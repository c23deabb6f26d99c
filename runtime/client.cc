// SPDX-License-Identifier: Apache-2.0
#include "runtime/client.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/base/clock.h"
#include "runtime/observe/text.h"

namespace sgprs::runtime {
namespace {

// Job border without a mark: the least pause without CUDA calls (design.md 5).
constexpr uint64_t kPauseNs = 1 * kNsPerMs;

void CopyName(char (&to)[SGPRS_NAME_BYTES], const std::string& from) {
  std::memcpy(to, from.data(), std::min(from.size(), sizeof(to) - 1));
}

uint32_t HistogramBucket(uint64_t ns) {
  const uint64_t us = ns / kNsPerUs;
  const auto bucket = us == 0 ? 0u : static_cast<uint32_t>(std::bit_width(us)) - 1;
  return std::min(bucket, static_cast<uint32_t>(SGPRS_HISTOGRAM_BUCKETS - 1));
}

}  // namespace

Result<std::unique_ptr<Client>> Client::Make(ingress::ConnectionId id, const ingress::Peer& peer,
                                             const SgprsHello& hello, uint32_t row,
                                             uint64_t now_ns) {
  std::unique_ptr<Client> client(new Client);
  Result<std::unique_ptr<lane::LaneOwner>> lane = lane::LaneOwner::Create(id, hello.device_uuid);
  if (!lane.ok()) return lane.status();
  client->id_ = id;
  client->row_index_ = row;
  client->name_ = observe::OneLine(hello.name);
  client->lane_ = std::move(*lane);
  client->tracker_.emplace(client->lane_.get());
  client->declared_length_ = hello.job_rule == SGPRS_JOB_LAUNCHES;
  client->lane_->SetPeriodNs(hello.period_ns);
  client->lane_->SetPauseNs(kPauseNs);
  client->lane_->SetJobLaunches(hello.job_launches);
  client->lane_->SetJobRule(hello.job_rule);
  client->lane_->SetAliveNs(now_ns);

  if (hello.release != 0) {
    client->release_rule_ = static_cast<SgprsReleaseRule>(hello.release - 1);
  }

  SgprsTaskRow& out = client->row_;
  out.state = SGPRS_TASK_JOINING;
  out.client_id = id;
  CopyName(out.name, client->name_);
  CopyName(out.program, observe::OneLine(hello.program));
  out.pid = static_cast<uint32_t>(peer.pid);
  out.task_class = hello.task_class;
  out.period_ns = hello.period_ns;
  out.deadline_ns = hello.deadline_ns != 0 ? hello.deadline_ns : hello.period_ns;
  out.backend = SGPRS_BACKEND_NONE;
  out.joined_ns = now_ns;
  return client;
}

sched::TaskConfig Client::TaskConfig() const {
  return {.name = name_,
          .task_class = static_cast<SgprsTaskClass>(row_.task_class),
          .period_ns = row_.period_ns,
          .deadline_ns = row_.deadline_ns};
}

void Client::Start(sched::Scheduler* scheduler, sched::TaskId task, SgprsBackend backend,
                   bool force_switch) {
  scheduler_ = scheduler;
  task_ = task;
  row_.backend = backend;
  row_.state = SGPRS_TASK_LEARNING;
  book_.emplace(lane_.get(), force_switch);
}

// Order: what is complete first, then what is over, then what begins, so that a new job is planned
// with all that the old one taught. A new job may be over at once, if it ran without a grant.
Status Client::Process(uint64_t now_ns) {
  if (Result<lane::LaneCursors> seen = lane_->Observe(); !seen.ok()) return seen.status();
  released_.clear();
  reports_.clear();
  if (Status read = tracker_->ReadSlots(now_ns, &released_); !read.ok()) return read;
  Result<completion::GrantBook::Progress> progress = book_->TakeCompletions(now_ns, &reports_);
  if (!progress.ok()) return progress.status();
  Report(&reports_, now_ns);
  NoteProgress(*progress);
  CloseJobs(released_.empty() ? UINT64_MAX : released_.front().job, now_ns);
  for (const ingress::JobTracker::Release& release : released_) {
    TellReleased(release, now_ns);
  }
  if (!released_.empty()) CloseJobs(UINT64_MAX, now_ns);
  return BoundJobs(now_ns);
}

void Client::TellReleased(const ingress::JobTracker::Release& release, uint64_t now_ns) {
  recorder::JobRecorder::Release known = {release.first_launch_ns, false};
  if (recorder_ != nullptr) {
    known = recorder_->Released(id_, release.job, release.first_launch_ns);
  }
  if (known.exact) {
    scheduler_->JobReleasedAt(task_, release.job, known.release_ns, release.first_launch_ns,
                              now_ns);
  } else {
    scheduler_->JobReleased(task_, release.job, release.first_launch_ns, now_ns);
  }
  if (keep_for_profile_ && last_first_launch_ns_ != 0) {
    std::vector<uint64_t>& kept = observed_.intervals_ns;
    if (kept.size() == kMostIntervals) kept.erase(kept.begin());
    kept.push_back(release.first_launch_ns - last_first_launch_ns_);
  }
  last_first_launch_ns_ = release.first_launch_ns;
  ++row_.counters.jobs_released;
  row_.last_release_ns = known.release_ns;
  if (row_.first_release_ns == 0) row_.first_release_ns = known.release_ns;
}

// Jobs that are complete without a word of it would pile up until the next tick, without end if
// there is never a quiet one.
Status Client::BoundJobs(uint64_t now_ns) {
  if (tracker_->open_jobs() <= ingress::JobTracker::kMostOpenJobs) return Status::Ok();
  ReportFromCursors(now_ns);
  if (tracker_->open_jobs() <= ingress::JobTracker::kMostOpenJobs) return Status::Ok();
  return Status(ErrorCode::kInvalid,
                fmt::format("{} jobs begun and not complete", tracker_->open_jobs()));
}

// Fills in how much of the job is recorded by now.
void Client::Report(std::vector<sched::StageReport>* reports, uint64_t now_ns) {
  for (sched::StageReport& report : *reports) {
    const ingress::JobTracker::Job* job = tracker_->Find(report.job);
    if (job != nullptr) {
      report.recorded = std::min(job->end, lane_->cursors().recorded) - job->first;
      // A grant may reach further than its job.
      if (report.done > report.recorded) {
        report.done = report.recorded;
        report.whole = false;
      }
    }
    scheduler_->StageProgress(task_, report, now_ns);
  }
  reports->clear();
}

void Client::NoteProgress(const completion::GrantBook::Progress& progress) {
  if (progress.upto != 0) {
    tracker_->NoteComplete(progress.upto, progress.complete_ns);
    row_.last_complete_ns = progress.complete_ns;
  }
  MoveGranted();
}

void Client::ReportFromCursors(uint64_t now_ns) {
  const completion::GrantBook::Progress progress = book_->ReportFromCursors(now_ns, &reports_);
  Report(&reports_, now_ns);
  NoteProgress(progress);
  CloseJobs(UINT64_MAX, now_ns);
}

void Client::CloseJobs(uint64_t before, uint64_t now_ns) {
  while (std::optional<ingress::JobTracker::Job> job = tracker_->TakeOver(before)) {
    const uint64_t id = job->id;
    const uint64_t complete_ns = job->last_complete_ns;
    CloseJob(std::move(*job), now_ns);
    book_->CloseJob(id, complete_ns);
  }
}

void Client::CloseJob(ingress::JobTracker::Job job, uint64_t now_ns) {
  scheduler_->JobClosed(task_, job.id, job.identities, job.last_complete_ns, now_ns);
  if (!keep_for_profile_ || job.identities.size() != job.slots.size()) return;
  if (sched::SignatureOf(job.identities) != scheduler_->View(task_).signature) return;
  observed_.slots = std::move(job.slots);
  observed_.identities = std::move(job.identities);
}

void Client::KeepForProfile() {
  keep_for_profile_ = true;
  tracker_->KeepSlots();
}

void Client::MoveGranted() {
  const ingress::JobTracker::Job* job = tracker_->Find(book_->granted_job());
  book_->MoveGranted(job != nullptr ? job->end : 0);
}

Status Client::Tick(uint64_t now_ns) {
  lane_->SetAliveNs(now_ns);
  if (!started()) return Status::Ok();
  if (Status processed = Process(now_ns); !processed.ok()) return processed;
  book_->Publish(now_ns);
  const lane::LaneCursors& seen = lane_->cursors();
  // The cursor is published before its completion; a tick later the completion is late for good.
  if (seen.completed == completed_at_tick_ && seen.completed > book_->reported_upto()) {
    ReportFromCursors(now_ns);
  }
  completed_at_tick_ = seen.completed;
  const uint64_t bypassed = lane_->CopyCountersUntrusted().bypassed;
  if (bypassed != bypassed_at_tick_ || seen.recorded != recorded_at_tick_) {
    bypassing_ = bypassed != bypassed_at_tick_ && seen.recorded == recorded_at_tick_;
  }
  bypassed_at_tick_ = bypassed;
  recorded_at_tick_ = seen.recorded;
  return Status::Ok();
}

void Client::Grant(const sched::Grant& grant, uint64_t now_ns) {
  const ingress::JobTracker::Job* job = tracker_->Find(grant.job);
  if (job == nullptr) return;  // over: all of it is complete
  book_->Add(grant, job->first, now_ns);
  MoveGranted();
}

void Client::NoteFinished(const sched::FinishedJob& job) {
  SgprsTaskCounters& counters = row_.counters;
  ++counters.jobs_completed;
  ++(job.on_time ? counters.jobs_on_time : counters.jobs_missed);
  counters.jobs_skipped += job.skipped_periods;
  row_.last_complete_ns = job.complete_ns;
  row_.last_response_ns = job.complete_ns - std::min(job.complete_ns, job.release_ns);
  row_.worst_response_ns = std::max(row_.worst_response_ns, row_.last_response_ns);
  ++row_.response_histogram[HistogramBucket(row_.last_response_ns)];
  book_->FinishJob(job.job, job.complete_ns);
}

void Client::Finish(uint64_t now_ns) {
  if (!started() || !Process(now_ns).ok()) return;
  ReportFromCursors(now_ns);
  if (std::optional<ingress::JobTracker::Job> job = tracker_->TakeLast()) {
    CloseJob(std::move(*job), now_ns);
  }
}

const SgprsTaskRow& Client::UpdateRow() {
  if (!started()) return row_;
  const sched::TaskView view = scheduler_->View(task_);
  const lane::LaneCursors& seen = lane_->cursors();
  const SgprsLaneCounters shim = lane_->CopyCountersUntrusted();
  row_.state = bypassing_       ? SGPRS_TASK_BYPASSED
               : view.scheduled ? SGPRS_TASK_SCHEDULED
                                : SGPRS_TASK_LEARNING;
  row_.stages = view.stages;
  row_.partition = view.partition;
  row_.level = view.level;
  row_.cost_ns = view.cost_ns;
  if (view.job_launches != row_.job_launches && !declared_length_) {
    lane_->SetJobLaunches(view.job_launches);
  }
  row_.job_launches = view.job_launches;
  SgprsTaskCounters& counters = row_.counters;
  row_.jobs_held = view.jobs_held;
  row_.longest_hold = view.longest_hold;
  row_.window_slots = sched::kWindowSlots;
  row_.worst_window = view.worst_window;
  counters.jobs_off_signature = view.jobs_off_signature;
  counters.stages_completed = view.stages_completed;
  counters.stages_late = view.stages_late;
  counters.switches = view.switches;
  counters.recorded = seen.recorded;
  counters.granted = book_->granted();
  counters.issued = seen.issued;
  counters.completed = seen.completed;
  counters.kernels = shim.kernels;
  counters.bypassed = shim.bypassed;
  counters.self_granted = shim.self_granted;
  counters.drains = shim.drains;
  counters.gpu_ns = book_->gpu_ns();
  return row_;
}

policy::TaskDemand Client::Demand() const {
  policy::TaskDemand demand = {.task_class = static_cast<SgprsTaskClass>(row_.task_class),
                               .period_ns = row_.period_ns,
                               .deadline_ns = row_.deadline_ns};
  if (!started()) return demand;
  const sched::TaskView view = scheduler_->View(task_);
  demand.response_ns = view.response_ns;
  demand.service_ns = view.service_ns;
  return demand;
}

bool Client::TakeJustLearnt() {
  if (learnt_ || !started()) return false;
  if (row_.counters.jobs_completed < Admission::kJobsBeforeJudgement) return false;
  learnt_ = scheduler_->View(task_).response_ns != 0;
  return learnt_;
}

void Client::WarnOfAdmission(const std::string& why) {
  row_.over_admission = 1;
  spdlog::warn("{} does not fit: {}", Describe(), why);
}

std::string Client::Describe() const {
  return fmt::format("{} (pid {}, client {})", name_, row_.pid, id_);
}

}  // namespace sgprs::runtime
