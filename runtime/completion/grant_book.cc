// SPDX-License-Identifier: Apache-2.0
#include "runtime/completion/grant_book.h"

#include <algorithm>
#include <string>
#include <utility>

namespace sgprs::completion {
namespace {

uint64_t Bound(uint64_t value, uint64_t least, uint64_t most) {
  return least > most ? most : std::clamp(value, least, most);
}

}  // namespace

// --- grants ---

void GrantBook::Add(const sched::Grant& grant, uint64_t job_first, uint64_t now_ns) {
  Entry entry;
  entry.grant = grant;
  entry.job_first = job_first;
  entry.from = job_first + grant.from;
  entry.upto = grant.upto == sched::kOpen ? SGPRS_GRANT_OPEN : job_first + grant.upto;
  waiting_.push_back(entry);
  Publish(now_ns);
}

void GrantBook::Publish(uint64_t now_ns) {
  while (!waiting_.empty()) {
    Entry& entry = waiting_.front();
    if (!lane_->PublishGrant(ToLane(entry, now_ns), &entry.sequence)) return;
    entry.granted_ns = now_ns;
    ++published_;
    granted_upto_ = entry.upto;
    granted_job_ = entry.grant.job;
    open_.push_back(entry);
    waiting_.pop_front();
  }
}

SgprsGrant GrantBook::ToLane(const Entry& entry, uint64_t now_ns) const {
  const sched::Grant& grant = entry.grant;
  SgprsGrant out = {};
  out.from = entry.from;
  out.upto = entry.upto;
  out.time_ns = now_ns;
  out.virtual_deadline_ns = grant.virtual_deadline_ns;
  out.job = static_cast<uint32_t>(grant.job);
  out.stage = grant.stage;
  out.partition = static_cast<uint16_t>(grant.partition);
  out.level = static_cast<uint8_t>(grant.level);
  // Open ranges say stage + 2: of them none is known to be the last.
  const bool last = grant.stage + 1 >= grant.stage_count;
  out.flags = static_cast<uint8_t>(
      (last ? SGPRS_GRANT_LAST_STAGE : 0) | (grant.learning ? SGPRS_GRANT_LEARNING : 0) |
      (grant.switched && force_switch_ ? SGPRS_GRANT_FORCED_SWITCH : 0));
  return out;
}

void GrantBook::MoveGranted(uint64_t job_end) {
  const lane::LaneCursors& seen = lane_->cursors();
  const uint64_t upto = granted_upto_ == SGPRS_GRANT_OPEN ? job_end : granted_upto_;
  // What was issued without a grant of ours is past it, too.
  const uint64_t granted = std::max({granted_, seen.issued, std::min(upto, seen.recorded)});
  if (granted == granted_) return;
  granted_ = granted;
  lane_->SetGranted(granted);
}

// --- completions ---

Result<GrantBook::Progress> GrantBook::TakeCompletions(uint64_t now_ns, Reports* reports) {
  Progress progress;
  SgprsCompletion completion;
  for (uint32_t i = 0; i < SGPRS_LANE_COMPLETIONS; ++i) {
    if (!lane_->TakeCompletionUntrusted(&completion)) break;
    if (Status taken = TakeOne(completion, now_ns, reports); !taken.ok()) return taken;
    progress.upto = std::max(progress.upto, completion.upto);
    progress.complete_ns = std::min(completion.complete_ns, now_ns);
  }
  reported_upto_ = std::max(reported_upto_, progress.upto);
  return progress;
}

Status GrantBook::TakeOne(const SgprsCompletion& completion, uint64_t now_ns, Reports* reports) {
  if (completion.upto > lane_->cursors().recorded) {
    if (Result<lane::LaneCursors> later = lane_->Observe(); !later.ok()) return later.status();
    if (completion.upto > lane_->cursors().recorded) {
      return Status(ErrorCode::kInvalid, "a completion up to " + std::to_string(completion.upto) +
                                             " of " + std::to_string(lane_->cursors().recorded) +
                                             " recorded");
    }
  }
  if (completion.grant > published_) {
    return Status(ErrorCode::kInvalid, "a completion of grant " + std::to_string(completion.grant) +
                                           " of " + std::to_string(published_));
  }
  if ((completion.flags & SGPRS_COMPLETION_ERROR) != 0) ++driver_errors_;
  if ((completion.flags & SGPRS_COMPLETION_SELF) != 0 || completion.grant == 0) {
    ++self_completions_;
    ReportUpto(completion.upto, std::min(completion.complete_ns, now_ns), reports);
    return Status::Ok();
  }
  // Grants before the one that is named: in program order, so what they cover is over.
  while (!open_.empty() && open_.front().sequence < completion.grant) {
    Entry& before = open_.front();
    const uint64_t complete_ns = Bound(completion.complete_ns, before.granted_ns, now_ns);
    const bool whole = before.upto <= completion.upto;
    if (whole) Report(before, before.upto, complete_ns, 0, reports);
    if (whole || before.first_issue_ns != 0) End(&before, complete_ns);
    open_.pop_front();
  }
  if (!open_.empty() && open_.front().sequence == completion.grant) {
    TakeOwn(&open_.front(), completion, now_ns, reports);
  }
  return Status::Ok();
}

void GrantBook::TakeOwn(Entry* entry, const SgprsCompletion& completion, uint64_t now_ns,
                        Reports* reports) {
  const uint64_t complete_ns = Bound(completion.complete_ns, entry->granted_ns, now_ns);
  const uint64_t gpu_ns = std::min(completion.gpu_ns, now_ns - std::min(now_ns, entry->granted_ns));
  if (gpu_ns > entry->gpu_ns) {
    gpu_ns_ += gpu_ns - entry->gpu_ns;
    entry->gpu_ns = gpu_ns;
  }
  if (entry->first_issue_ns == 0) {
    entry->first_issue_ns = Bound(completion.first_issue_ns, entry->granted_ns, complete_ns);
  }
  Report(*entry, completion.upto, complete_ns, gpu_ns, reports);
  if (completion.upto < entry->upto) return;
  End(entry, complete_ns);
  open_.pop_front();
}

GrantBook::Progress GrantBook::ReportFromCursors(uint64_t now_ns, Reports* reports) {
  const uint64_t completed = lane_->cursors().completed;
  if (completed <= reported_upto_) return {};
  reported_upto_ = completed;
  ReportUpto(completed, now_ns, reports);
  return {completed, now_ns};
}

void GrantBook::ReportUpto(uint64_t completed, uint64_t complete_ns, Reports* reports) {
  while (!open_.empty()) {
    Entry& entry = open_.front();
    if (completed <= entry.from) return;
    // The next grant's work has begun to complete, so this one is over, open or not.
    const bool passed = open_.size() > 1 && completed > open_[1].from;
    Report(entry, completed, complete_ns, 0, reports);
    if (completed < entry.upto && !passed) return;
    End(&entry, complete_ns);
    open_.pop_front();
  }
}

void GrantBook::Report(const Entry& entry, uint64_t completed, uint64_t complete_ns,
                       uint64_t gpu_ns, Reports* reports) {
  sched::StageReport report;
  report.job = entry.grant.job;
  report.stage = entry.grant.stage;
  report.partition = entry.grant.partition;
  report.done = Bound(completed, entry.from, entry.upto) - entry.job_first;
  report.whole = entry.upto != SGPRS_GRANT_OPEN && completed >= entry.upto;
  report.gpu_ns = gpu_ns;
  report.complete_ns = complete_ns;
  reports->push_back(report);
}

// --- ends ---

void GrantBook::End(Entry* entry, uint64_t complete_ns) {
  if (std::exchange(entry->ended, true)) return;
  ended_.push_back(
      {entry->grant, entry->granted_ns, entry->first_issue_ns, complete_ns, entry->gpu_ns});
}

void GrantBook::FinishJob(uint64_t job, uint64_t complete_ns) {
  for (Entry& entry : open_) {
    // A grant that nothing was issued under is no stage.
    if (entry.grant.job == job && entry.first_issue_ns != 0) End(&entry, complete_ns);
  }
}

void GrantBook::CloseJob(uint64_t job, uint64_t complete_ns) {
  FinishJob(job, complete_ns);
  while (!open_.empty() && open_.front().grant.job <= job) open_.pop_front();
  // An issuer that takes no grants is not to make them pile up.
  while (!waiting_.empty() && waiting_.front().grant.job <= job) waiting_.pop_front();
}

std::vector<StageRecord> GrantBook::TakeEnded() { return std::exchange(ended_, {}); }

}  // namespace sgprs::completion
