// SPDX-License-Identifier: Apache-2.0
// Futex calls on words inside and outside of shared memory.
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_FUTEX_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_FUTEX_H_

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>
#include <cstdint>

namespace sgprs::simgpu::driver {

// Sleeps while *word == value, at most `timeout_ms`. May return early; look again.
inline void FutexWait(uint32_t* word, uint32_t value, uint32_t timeout_ms, bool shared) {
  timespec timeout{static_cast<time_t>(timeout_ms / 1000),
                   static_cast<long>(timeout_ms % 1000) * 1'000'000};
  syscall(SYS_futex, word, shared ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE, value, &timeout, nullptr, 0);
}

inline void FutexWakeAll(uint32_t* word, bool shared) {
  syscall(SYS_futex, word, shared ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_FUTEX_H_
