// SPDX-License-Identifier: Apache-2.0
// Rings and waits on a Doorbell of protocol.h.
//
// No wake-up is lost: the sleeper stores `asleep` = 1 (seq_cst), looks for work once more, then
// FUTEX_WAITs on the sequence that it read before looking. The ringer publishes its work, adds 1 to
// `sequence` (seq_cst), then loads `asleep` (seq_cst). Either the ringer sees `asleep` and wakes,
// or the sleeper's look sees the work, or FUTEX_WAIT finds the sequence changed and returns.
#ifndef SGPRS_TOOLS_SIMGPU_DEVICE_BELL_H_
#define SGPRS_TOOLS_SIMGPU_DEVICE_BELL_H_

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

#include "runtime/base/clock.h"
#include "tools/simgpu/protocol.h"

namespace sgprs::simgpu {

// Any thread. Wakes every sleeper. Never blocks.
inline void RingBell(Doorbell* bell) {
  std::atomic_ref<uint32_t>(bell->sequence).fetch_add(1, std::memory_order_seq_cst);
  std::atomic_ref<uint32_t> asleep(bell->asleep);
  if (asleep.load(std::memory_order_seq_cst) == 0) return;
  asleep.store(0, std::memory_order_relaxed);  // relaxed: a hint that spares the next ringer a call
  syscall(SYS_futex, &bell->sequence, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// To be read before looking for work.
inline uint32_t BellSequence(Doorbell* bell) {
  return std::atomic_ref<uint32_t>(bell->sequence).load(std::memory_order_seq_cst);
}

// Then look for work once more before SleepUntil().
inline void AnnounceSleep(Doorbell* bell) {
  std::atomic_ref<uint32_t>(bell->asleep).store(1, std::memory_order_seq_cst);
}
inline void CancelSleep(Doorbell* bell) {
  std::atomic_ref<uint32_t>(bell->asleep).store(0, std::memory_order_relaxed);  // a hint, as above
}

// Sleeps until a ring after `sequence` was read, a signal, or `until_ns` of CLOCK_MONOTONIC.
inline void SleepUntil(Doorbell* bell, uint32_t sequence, uint64_t until_ns) {
  const timespec until = ToTimespec(until_ns);
  syscall(SYS_futex, &bell->sequence, FUTEX_WAIT_BITSET, sequence, &until, nullptr,
          FUTEX_BITSET_MATCH_ANY);
  CancelSleep(bell);
}

}  // namespace sgprs::simgpu

#endif  // SGPRS_TOOLS_SIMGPU_DEVICE_BELL_H_
