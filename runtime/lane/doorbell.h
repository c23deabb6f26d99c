// SPDX-License-Identifier: Apache-2.0
// Rings and waits on an SgprsDoorbell in shared memory (include/sgprs/abi/lane.h).
//
// Lost-wake-up argument: the sleeper stores `asleep` = 1 (seq_cst), then looks for work once more,
// then FUTEX_WAITs on the sequence it read before looking. The ringer publishes its work, adds 1 to
// `sequence` (seq_cst), then loads `asleep` (seq_cst). Either the ringer sees `asleep` and wakes,
// or the sleeper's later look sees the work, or FUTEX_WAIT sees the changed sequence and returns.
#ifndef SGPRS_RUNTIME_LANE_DOORBELL_H_
#define SGPRS_RUNTIME_LANE_DOORBELL_H_

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "runtime/base/clock.h"
#include "sgprs/abi/lane.h"

namespace sgprs::lane {

// FUTEX_WAKE on a word that other processes may have mapped. Never blocks.
inline void FutexWake(uint32_t* word, int count) {
  syscall(SYS_futex, word, FUTEX_WAKE, count, nullptr, nullptr, 0);
}

// Sleeps until woken, `word` differs from `expected`, a signal, or `timeout_ns` (0 = no limit).
inline void FutexWait(uint32_t* word, uint32_t expected, uint64_t timeout_ns) {
  timespec ts = ToTimespec(timeout_ns);
  syscall(SYS_futex, word, FUTEX_WAIT, expected, timeout_ns != 0 ? &ts : nullptr, nullptr, 0);
}

// Any thread, any process that may write the lane. One atomic add; a system call only if the other
// side sleeps.
inline void Ring(SgprsDoorbell* bell) {
  std::atomic_ref<uint32_t>(bell->sequence).fetch_add(1, std::memory_order_seq_cst);
  std::atomic_ref<uint32_t> asleep(bell->asleep);
  // The ringer that takes the flag down spares the next ones the call, and owes the sleeper a
  // wake-up. The sleeper may by now be past the sequence above and on its way to sleep anew, so the
  // flag is taken before `sequence` moves once more: FUTEX_WAIT sees that, or the wake-up comes
  // after it.
  if (asleep.load(std::memory_order_seq_cst) != 0 &&
      asleep.exchange(0, std::memory_order_seq_cst) != 0) {
    std::atomic_ref<uint32_t>(bell->sequence).fetch_add(1, std::memory_order_seq_cst);
    FutexWake(&bell->sequence, 1);
  }
}

// The sequence to hand to Sleep(); read it before looking for work.
inline uint32_t Sequence(SgprsDoorbell* bell) {
  return std::atomic_ref<uint32_t>(bell->sequence).load(std::memory_order_seq_cst);
}

// The one sleeper of the bell announces itself; it must look for work after this and before
// Sleep().
inline void AnnounceSleep(SgprsDoorbell* bell) {
  std::atomic_ref<uint32_t>(bell->asleep).store(1, std::memory_order_seq_cst);
}
inline void CancelSleep(SgprsDoorbell* bell) {
  std::atomic_ref<uint32_t>(bell->asleep).store(0, std::memory_order_relaxed);
}
inline void Sleep(SgprsDoorbell* bell, uint32_t sequence, uint64_t timeout_ns) {
  FutexWait(&bell->sequence, sequence, timeout_ns);
  CancelSleep(bell);
}

}  // namespace sgprs::lane

#endif  // SGPRS_RUNTIME_LANE_DOORBELL_H_
