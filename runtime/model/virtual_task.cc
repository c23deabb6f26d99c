// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/virtual_task.h"

#include <algorithm>

namespace sgprs::model {
namespace {

constexpr uint64_t kNsPerMsUnit = 1'000'000;
constexpr uint32_t kWindowFrames = 10;  // k of (m,k)

uint64_t CeilDivide(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

}  // namespace

VirtualTask::VirtualTask(const TaskSpec& spec, std::unique_ptr<JobWork> work,
                         const CountedWindow& window, Random random)
    : spec_(spec), work_(std::move(work)), window_(window), random_(random) {
  phase_ns_ = spec.phase_ns;
  if (spec.random_phase && spec.jobs.empty()) {
    const uint64_t most_ms = 2 * spec.period_ns / kNsPerMsUnit;
    phase_ns_ = most_ms == 0 ? 0 : random_.UpTo(most_ms - 1) * kNsPerMsUnit;
  }
  if (window.from_ns > phase_ns_) {
    first_slot_ = CeilDivide(window.from_ns - phase_ns_, spec.period_ns);
  }
  uint64_t slots = 0;
  if (window.to_ns > phase_ns_) {
    slots = CeilDivide(window.to_ns - phase_ns_, spec.period_ns) - first_slot_;
  }
  on_time_.assign(slots, 0);
  response_ns_.reserve(slots);
}

uint64_t VirtualTask::Nominal(uint64_t slot) const {
  return spec_.jobs.empty() ? phase_ns_ + slot * spec_.period_ns : spec_.jobs[slot].release_ns;
}

uint64_t VirtualTask::NextJob(uint64_t now_ns) {
  if (job_ != 0) ++slot_;
  if (spec_.jobs.empty()) {
    // Whole periods are skipped until the release is less than one behind.
    while (Nominal(slot_) + spec_.period_ns <= now_ns) ++slot_;
  }
  ++job_;
  if (!work_->NextJob(random_.LogNormal(spec_.cost_noise))) return UINT64_MAX;
  const uint64_t jitter_ns = spec_.jitter_ns == 0 ? 0 : random_.UpTo(spec_.jitter_ns);
  return std::max(now_ns, Nominal(slot_) + jitter_ns);
}

void VirtualTask::Begin(uint64_t now_ns) {
  in_job_ = true;
  first_launch_ns_ = now_ns;
  ready_ns = now_ns;
  first_grant_ns = 0;
  issued = 0;
}

void VirtualTask::Complete(uint64_t now_ns) {
  in_job_ = false;
  JobRow row;
  row.job = job_;
  row.first_launch_ns = first_launch_ns_;
  row.first_grant_ns = first_grant_ns;
  row.complete_ns = now_ns;
  unbooked_.push_back({row, slot_});
}

uint64_t VirtualTask::RecordedBy(uint64_t now_ns, uint64_t launch_ns) const {
  if (launch_ns == 0) return work_->length();
  return std::min(work_->length(), 1 + (now_ns - first_launch_ns_) / launch_ns);
}

uint64_t VirtualTask::SlotAt(uint64_t release_ns) const {
  const uint64_t half = spec_.period_ns / 2;
  return release_ns + half < phase_ns_ ? 0 : (release_ns + half - phase_ns_) / spec_.period_ns;
}

JobRow VirtualTask::Book(uint64_t job, std::optional<uint64_t> release_ns) {
  while (!unbooked_.empty() && unbooked_.front().row.job < job) Book(unbooked_.front().row.job, {});
  if (unbooked_.empty() || unbooked_.front().row.job != job) return {};
  Unbooked open = unbooked_.front();
  unbooked_.pop_front();
  if (release_ns && spec_.jobs.empty()) {
    const uint64_t slot = SlotAt(*release_ns);
    open.row.held = slot > open.slot;
    open.slot = std::max(open.slot, slot);
  }
  open.row.release_ns = Nominal(open.slot);
  open.row.deadline_ns = open.row.release_ns + Deadline();
  open.row.on_time = open.row.complete_ns <= open.row.deadline_ns;
  Count(open.row, open.slot);
  return open.row;
}

void VirtualTask::Count(const JobRow& row, uint64_t slot) {
  if (!window_.Has(row.release_ns)) return;
  moved_ += row.held;
  response_ns_.push_back(row.complete_ns - std::min(row.complete_ns, row.release_ns));
  if (!row.on_time) return;
  if (spec_.jobs.empty()) {
    // After a hold two jobs can be for one release: that is one frame.
    uint8_t& known = on_time_[slot - first_slot_];
    on_time_jobs_ += known == 0;
    known = 1;
  } else {
    ++on_time_jobs_;
  }
  const uint64_t since_ns = std::max(last_on_time_ns_, window_.from_ns);
  longest_gap_ns_ =
      std::max(longest_gap_ns_, row.complete_ns - std::min(row.complete_ns, since_ns));
  last_on_time_ns_ = row.complete_ns;
}

void VirtualTask::FillWindows(TaskResult* result) const {
  result->mk_k = kWindowFrames;
  result->mk_worst = kWindowFrames;
  uint32_t sum = 0;
  for (size_t i = 0; i < on_time_.size(); ++i) {
    sum += on_time_[i];
    if (i >= kWindowFrames) sum -= on_time_[i - kWindowFrames];
    if (i + 1 >= kWindowFrames) result->mk_worst = std::min(result->mk_worst, sum);
  }
}

TaskResult VirtualTask::Result() {
  while (!unbooked_.empty()) Book(unbooked_.front().row.job, {});
  TaskResult result;
  result.name = spec_.name;
  result.task_class = spec_.task_class;
  result.period_ns = spec_.period_ns;
  result.deadline_ns = Deadline();
  result.admitted = admitted;
  result.expected = on_time_.size();
  if (!spec_.jobs.empty()) {
    result.expected = static_cast<uint64_t>(
        std::count_if(spec_.jobs.begin(), spec_.jobs.end(),
                      [this](const RecordedJob& job) { return window_.Has(job.release_ns); }));
  }
  result.completed = response_ns_.size();
  const bool open = in_job_ && window_.Has(Nominal(slot_));
  result.released = result.completed + open;
  result.on_time = on_time_jobs_;
  result.held = moved_;
  result.skipped = result.expected - std::min(result.expected, result.released);
  if (spec_.jobs.empty()) FillWindows(&result);
  result.longest_gap_ns =
      std::max(longest_gap_ns_,
               window_.to_ns - std::clamp(last_on_time_ns_, window_.from_ns, window_.to_ns));
  std::vector<uint64_t> sorted = response_ns_;
  std::sort(sorted.begin(), sorted.end());
  if (!sorted.empty()) {
    const size_t last = sorted.size() - 1;
    result.response = {sorted[last / 2], sorted[last * 99 / 100], sorted[last]};
  }
  return result;
}

}  // namespace sgprs::model
