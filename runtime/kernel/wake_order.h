// SPDX-License-Identifier: Apache-2.0
// Is a record of the probes whole? Tracing events go missing without any counter saying so
// (facts: up to 0.7 % of jobs), so every record is checked by itself. Pure.
#ifndef SGPRS_RUNTIME_KERNEL_WAKE_ORDER_H_
#define SGPRS_RUNTIME_KERNEL_WAKE_ORDER_H_

#include <cstdint>

#include "sgprs/abi/wake_record.h"

namespace sgprs::kernel {

enum class WakeCheck : uint32_t {
  kComplete = 0,
  kMissing = 1,   // a stamp that must be there is 0
  kOrder = 2,     // stamps run backwards: one is of another wait
  kSwitches = 3,  // the kernel counted other context switches than the probe saw
};

// kComplete: sleep <= wakeup <= on_cpu <= exit, with a timer also due <= expire <= wakeup, and the
// switches agree. A record that is not complete is counted and not used.
WakeCheck CheckWake(const SgprsWakeRecord& record);

// Whose records were lost: watches the sequence numbers of one thread.
// Returns how many are missing before this one.
uint32_t MissingBefore(uint32_t last_sequence, uint32_t sequence);

}  // namespace sgprs::kernel

#endif  // SGPRS_RUNTIME_KERNEL_WAKE_ORDER_H_
