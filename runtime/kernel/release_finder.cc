// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernel/release_finder.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace sgprs::kernel {
namespace {

constexpr int kMostVotes = 8;  // so that a change of habit is believed after as many jobs

bool IsInput(uint8_t wait) {
  return wait == SGPRS_WAIT_POLL || wait == SGPRS_WAIT_READ || wait == SGPRS_WAIT_SOCKET ||
         wait == SGPRS_WAIT_IO_URING;
}

}  // namespace

uint64_t ReleaseFinder::ReleaseOf(const SgprsWakeRecord& record) {
  const bool timer = (record.flags & (SGPRS_WAKE_TIMER | SGPRS_WAKE_NO_SLEEP)) != 0;
  return timer ? record.due_ns : record.wakeup_ns;
}

bool ReleaseFinder::Wanted(const SgprsWakeRecord& record) const {
  if ((record.flags & SGPRS_WAKE_INTERRUPTED) != 0) return false;
  const bool timer = (record.flags & (SGPRS_WAKE_TIMER | SGPRS_WAKE_NO_SLEEP)) != 0;
  switch (rule_) {
    case SGPRS_RELEASE_TIMER:
      return timer;
    case SGPRS_RELEASE_INPUT:
      return !timer && IsInput(record.wait);
    default:
      return false;
  }
}

// A new thread takes the place of the one with the fewest votes, never of the main thread.
ReleaseFinder::Thread* ReleaseFinder::Room(uint32_t tid) {
  const auto found = std::find_if(threads_.begin(), threads_.end(),
                                  [tid](const Thread& thread) { return thread.tid == tid; });
  if (found != threads_.end()) return &*found;
  if (threads_.size() < kMostThreads) {
    threads_.push_back({.tid = tid});
    return &threads_.back();
  }
  // Of equals the newest, so that a crowd of short-lived threads replaces itself.
  Thread& worst = *std::min_element(
      threads_.rbegin(), threads_.rend(), [this](const Thread& a, const Thread& b) {
        return std::pair(a.tid == main_tid_, a.votes) < std::pair(b.tid == main_tid_, b.votes);
      });
  worst = {.tid = tid};
  return &worst;
}

void ReleaseFinder::Add(const SgprsWakeRecord& record) {
  if (!Wanted(record) || record.exit_ns <= last_launch_ns_) return;
  Thread* thread = Room(record.tid);
  if (thread->waits.size() == kKept) thread->waits.pop_front();
  thread->waits.push_back(record);
}

std::optional<SgprsWakeRecord> ReleaseFinder::Find(uint64_t first_launch_ns) {
  std::optional<SgprsWakeRecord> best;
  std::tuple<int, bool, uint64_t> best_rank;
  for (Thread& thread : threads_) {
    // What lies before the last job's launch was dropped then.
    size_t seen = 0;
    std::optional<SgprsWakeRecord> last;
    for (const SgprsWakeRecord& wait : thread.waits) {
      if (wait.exit_ns > first_launch_ns) continue;
      ++seen;
      if (!last || wait.exit_ns > last->exit_ns) last = wait;
    }
    thread.votes = std::clamp(thread.votes + (seen == 1 ? 1 : -1), -kMostVotes, kMostVotes);
    std::erase_if(thread.waits, [first_launch_ns](const SgprsWakeRecord& wait) {
      return wait.exit_ns <= first_launch_ns;
    });
    if (!last) continue;
    const std::tuple rank(thread.votes, thread.tid == main_tid_, last->exit_ns);
    if (!best || rank > best_rank) {
      best = last;
      best_rank = rank;
    }
  }
  last_launch_ns_ = first_launch_ns;
  return best;
}

}  // namespace sgprs::kernel
