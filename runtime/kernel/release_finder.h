// SPDX-License-Identifier: Apache-2.0
// Which wait released a job? Of all that the threads of one process waited for, the one that ended
// last before the job's first launch, in the thread whose waits come once a job.
//
// The lane does not say which thread launched. A process has helper threads that wait too, and its
// own thread also waits for the GPU; so every thread gains a vote whenever it had exactly one wait
// of the wanted kind between two jobs' first launches, loses one else, and the one with the most
// votes is believed. Ties: the main thread, then the wait that ended last.
//
// Pure: no clock, no I/O. Thread: its owner's. Memory: kMostThreads * kKept records.
#ifndef SGPRS_RUNTIME_KERNEL_RELEASE_FINDER_H_
#define SGPRS_RUNTIME_KERNEL_RELEASE_FINDER_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "sgprs/abi/job_log.h"
#include "sgprs/abi/wake_record.h"

namespace sgprs::kernel {

class ReleaseFinder {
 public:
  static constexpr size_t kMostThreads = 16;
  static constexpr size_t kKept = 8;  // waits kept of a thread

  // `rule`: kTimer takes what timers ended, kInput what anything else ended in poll, read, a socket
  // or io_uring; the other rules find nothing. `main_tid` as records count; 0 = not known.
  ReleaseFinder(SgprsReleaseRule rule, uint32_t main_tid) : rule_(rule), main_tid_(main_tid) {}

  // A record of this process that passed CheckWake(). Interrupted waits are passed over.
  void Add(const SgprsWakeRecord& record);

  // The wait before the job that first launched at `first_launch_ns`. Call once per job, rising,
  // when all records up to then are added. nullopt: none was seen.
  std::optional<SgprsWakeRecord> Find(uint64_t first_launch_ns);

  // When the job was released: `due` of a timer, the wakeup of an input.
  static uint64_t ReleaseOf(const SgprsWakeRecord& record);

 private:
  struct Thread {
    uint32_t tid = 0;
    int votes = 0;
    std::deque<SgprsWakeRecord> waits;  // oldest first
  };
  bool Wanted(const SgprsWakeRecord& record) const;
  Thread* Room(uint32_t tid);

  const SgprsReleaseRule rule_;
  const uint32_t main_tid_;
  uint64_t last_launch_ns_ = 0;
  std::vector<Thread> threads_;
};

}  // namespace sgprs::kernel

#endif  // SGPRS_RUNTIME_KERNEL_RELEASE_FINDER_H_
