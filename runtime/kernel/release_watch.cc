// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernel/release_watch.h"

#include <algorithm>

#include "runtime/kernel/wake_order.h"

namespace sgprs::kernel {

ReleaseWatch::ReleaseWatch(SgprsReleaseRule rule, uint32_t main_tid)
    : rule_(rule), timers_(SGPRS_RELEASE_TIMER, main_tid), inputs_(SGPRS_RELEASE_INPUT, main_tid) {}

void ReleaseWatch::Add(const SgprsWakeRecord& record) {
  WatchSequence(record);
  if (CheckWake(record) != WakeCheck::kComplete) {
    ++counts_.incomplete;
    return;
  }
  ++counts_.complete;
  for (Job& job : jobs_) {
    if (job.wake && !job.after && job.wake->tid == record.tid &&
        job.wake->sequence + 1 == record.sequence) {
      job.after = record;
    }
  }
  timers_.Add(record);
  inputs_.Add(record);
}

void ReleaseWatch::WatchSequence(const SgprsWakeRecord& record) {
  for (Sequence& sequence : sequences_) {
    if (sequence.tid != record.tid) continue;
    counts_.missing += MissingBefore(sequence.last, record.sequence);
    sequence.last = record.sequence;
    return;
  }
  if (sequences_.size() == kKeptSequences) sequences_.pop_front();
  sequences_.push_back({record.tid, record.sequence});
}

const ReleaseWatch::Job& ReleaseWatch::Released(uint64_t job, uint64_t first_launch_ns,
                                                uint64_t oldest_ns) {
  const std::optional<SgprsWakeRecord> timer = timers_.Find(first_launch_ns);
  const std::optional<SgprsWakeRecord> input = inputs_.Find(first_launch_ns);
  Job released = {.id = job, .release_ns = first_launch_ns};
  // For the record: the wait of the rule, else whichever ended last.
  released.wake = rule_ == SGPRS_RELEASE_INPUT ? input : timer;
  if (!released.wake) released.wake = timer ? timer : input;
  if (rule_ == SGPRS_RELEASE_GRID) {
    released.rule = SGPRS_RELEASE_GRID;
  } else if (rule_ == SGPRS_RELEASE_TIMER || rule_ == SGPRS_RELEASE_INPUT) {
    const std::optional<SgprsWakeRecord>& wait = rule_ == SGPRS_RELEASE_TIMER ? timer : input;
    const uint64_t release_ns = wait ? ReleaseFinder::ReleaseOf(*wait) : 0;
    if (release_ns > oldest_ns && release_ns <= first_launch_ns) {
      released.release_ns = release_ns;
      released.rule = rule_;
    } else {
      ++counts_.unreleased;
    }
  }
  if (jobs_.size() == kKeptJobs) jobs_.pop_front();
  return jobs_.emplace_back(released);
}

const ReleaseWatch::Job* ReleaseWatch::Find(uint64_t job) const {
  const auto found =
      std::find_if(jobs_.begin(), jobs_.end(), [job](const Job& kept) { return kept.id == job; });
  return found != jobs_.end() ? &*found : nullptr;
}

}  // namespace sgprs::kernel
