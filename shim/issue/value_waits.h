// SPDX-License-Identifier: Apache-2.0
// Waits of the device for a value or a semaphore, which may be written by work that comes later in
// program order: by then the rule that makes grants safe, that nothing waits for what was recorded
// after it, does not hold. While one is open, what is held is issued without a grant.
#ifndef SGPRS_SHIM_ISSUE_VALUE_WAITS_H_
#define SGPRS_SHIM_ISSUE_VALUE_WAITS_H_

#include <cuda.h>

#include <atomic>
#include <cstdint>

#include "shim/record/futex_mutex.h"

namespace sgprs::shim {

class ValueWaits {
 public:
  // The driver took a wait on `stream`, whose context is current. Application threads.
  void Note(CUstream stream);
  // Is the device perhaps still waiting? Asks the driver, if any wait was ever noted. Issuer.
  bool Open();
  void ResetAfterFork();

 private:
  static constexpr uint32_t kSlots = 32;
  FutexMutex mutex_;
  std::atomic<uint32_t> open_{0};  // slots in use; relaxed: only says whether to look
  CUevent events_[kSlots] = {};    // behind the wait
  bool used_[kSlots] = {};
  bool lost_ = false;  // more at once than slots: open for good
};

ValueWaits* TheValueWaits();

}  // namespace sgprs::shim

#endif  // SGPRS_SHIM_ISSUE_VALUE_WAITS_H_
