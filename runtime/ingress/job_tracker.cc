// SPDX-License-Identifier: Apache-2.0
#include "runtime/ingress/job_tracker.h"

#include <algorithm>
#include <string>
#include <utility>

namespace sgprs::ingress {
namespace {

// splitmix64's finaliser: spreads every bit of the argument.
uint64_t Mix(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9;
  x ^= x >> 27;
  x *= 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

Status Malformed(uint64_t index, const std::string& why) {
  return Status(ErrorCode::kInvalid, "slot " + std::to_string(index) + " " + why);
}

}  // namespace

Status JobTracker::ReadSlots(uint64_t now_ns, std::vector<Release>* released) {
  const lane::LaneCursors seen = lane_->cursors();
  if (seen.recorded - scanned_ > SGPRS_LANE_SLOTS) {
    // A granted job ran more than a ring ahead of us; its identities are incomplete.
    scanned_ = seen.recorded - SGPRS_LANE_SLOTS;
    if (!jobs_.empty()) jobs_.back().lost = true;
  }
  for (; scanned_ < seen.recorded; ++scanned_) {
    SgprsSlot slot;
    if (!lane_->CopySlotUntrusted(scanned_, &slot)) {
      // Rewritten meanwhile is fine, but only what is issued may be rewritten.
      if (Result<lane::LaneCursors> later = lane_->Observe(); !later.ok()) return later.status();
      if (scanned_ >= lane_->cursors().issued) return Malformed(scanned_, "is malformed");
      if (!jobs_.empty()) jobs_.back().lost = true;
      continue;
    }
    if (Status taken = Take(slot, now_ns, released); !taken.ok()) return taken;
  }
  return Status::Ok();
}

Status JobTracker::Take(const SgprsSlot& slot, uint64_t now_ns, std::vector<Release>* released) {
  if (slot.kind == SGPRS_SLOT_NONE) return Malformed(slot.index, "has no kind");
  if (slot.job == 0 || slot.job < last_job_) {
    return Malformed(slot.index, "belongs to job " + std::to_string(slot.job) + " after job " +
                                     std::to_string(last_job_));
  }
  const bool first = (slot.flags & SGPRS_SLOT_JOB_FIRST) != 0;
  if (first && slot.job == last_job_) {
    return Malformed(slot.index, "begins job " + std::to_string(slot.job) + " twice");
  }
  // A job whose first slot was not read (overwritten, or recorded before this lane) begins here.
  if (slot.job != last_job_) BeginJob(slot, now_ns, released);
  if (jobs_.empty()) return Status::Ok();  // the job was closed already
  Job& job = jobs_.back();
  if (job.lost) return Status::Ok();
  if (job.identities.size() == kMostIdentities || identities_ == 4 * kMostIdentities) {
    job.lost = true;
    return Status::Ok();
  }
  Result<uint64_t> identity = Identity(slot);
  if (!identity.ok()) return identity.status();
  job.identities.push_back(*identity);
  if (keep_slots_) job.slots.push_back(slot);
  ++identities_;
  return Status::Ok();
}

Result<uint64_t> JobTracker::Identity(const SgprsSlot& slot) {
  uint64_t kernel = 0;
  if (slot.kernel != 0) {
    if (slot.kernel > lane_->cursors().kernels_interned) {
      return Malformed(slot.index, "names kernel " + std::to_string(slot.kernel) + " of " +
                                       std::to_string(lane_->cursors().kernels_interned));
    }
    if (kernel_hash_.size() < slot.kernel) kernel_hash_.resize(slot.kernel, 0);
    uint64_t& cached = kernel_hash_[slot.kernel - 1];
    SgprsKernelName name;
    if (cached == 0 && lane_->CopyKernelNameUntrusted(slot.kernel, &name)) {
      cached = name.hash != 0 ? name.hash : 1;
    }
    kernel = cached;
  }
  return Mix(Mix(kernel + slot.kind) + slot.stream);
}

void JobTracker::BeginJob(const SgprsSlot& slot, uint64_t now_ns, std::vector<Release>* released) {
  if (!jobs_.empty()) jobs_.back().end = slot.index;
  // Times of one client never run backwards, and are not in the future.
  last_release_ns_ = std::clamp(slot.time_ns, std::min(last_release_ns_, now_ns), now_ns);
  last_job_ = slot.job;
  jobs_.push_back({.id = slot.job, .first = slot.index});
  released->push_back({slot.job, last_release_ns_});
}

void JobTracker::NoteComplete(uint64_t upto, uint64_t complete_ns) {
  for (Job& job : jobs_) {
    if (upto <= job.first) break;
    if (job.completed_upto >= job.end) continue;  // was complete before
    job.completed_upto = std::min(std::max(job.completed_upto, upto), job.end);
    job.last_complete_ns = complete_ns;
  }
}

std::optional<JobTracker::Job> JobTracker::TakeOver(uint64_t before) {
  if (jobs_.empty() || jobs_.front().end == kUnknownEnd) return std::nullopt;
  if (jobs_.front().id >= before) return std::nullopt;
  if (jobs_.front().completed_upto < jobs_.front().end) return std::nullopt;
  std::optional<Job> job(std::move(jobs_.front()));
  jobs_.pop_front();
  identities_ -= job->identities.size();
  if (job->lost) job->identities.clear();
  return job;
}

std::optional<JobTracker::Job> JobTracker::TakeLast() {
  if (jobs_.empty() || jobs_.back().completed_upto < scanned_) return std::nullopt;
  jobs_.back().end = scanned_;
  return TakeOver();
}

const JobTracker::Job* JobTracker::Find(uint64_t id) const {
  const auto found =
      std::lower_bound(jobs_.begin(), jobs_.end(), id,
                       [](const Job& job, uint64_t wanted) { return job.id < wanted; });
  return found != jobs_.end() && found->id == id ? &*found : nullptr;
}

}  // namespace sgprs::ingress
