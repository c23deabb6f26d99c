// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernel/wake_order.h"

namespace sgprs::kernel {

WakeCheck CheckWake(const SgprsWakeRecord& r) {
  if (r.exit_ns == 0) return WakeCheck::kMissing;
  if ((r.flags & SGPRS_WAKE_NO_SLEEP) != 0) {
    if (r.due_ns == 0) return WakeCheck::kMissing;
    return r.due_ns <= r.exit_ns ? WakeCheck::kComplete : WakeCheck::kOrder;
  }
  if (r.sleep_ns == 0 || r.wakeup_ns == 0 || r.on_cpu_ns == 0) return WakeCheck::kMissing;
  if (r.sleep_ns > r.wakeup_ns || r.wakeup_ns > r.on_cpu_ns || r.on_cpu_ns > r.exit_ns) {
    return WakeCheck::kOrder;
  }
  if ((r.flags & SGPRS_WAKE_TIMER) != 0) {
    if (r.due_ns == 0 || r.expire_ns == 0) return WakeCheck::kMissing;
    if (r.due_ns > r.expire_ns || r.expire_ns > r.wakeup_ns) return WakeCheck::kOrder;
  }
  return r.switches_seen == r.switches_counted ? WakeCheck::kComplete : WakeCheck::kSwitches;
}

uint32_t MissingBefore(uint32_t last_sequence, uint32_t sequence) {
  const uint32_t step = sequence - last_sequence;  // wraps
  return step == 0 || step > INT32_MAX ? 0 : step - 1;
}

}  // namespace sgprs::kernel
