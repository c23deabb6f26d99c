// SPDX-License-Identifier: Apache-2.0
#include "shim/issue/value_waits.h"

#include "shim/interpose/interpose.h"

namespace sgprs::shim {

void ValueWaits::Note(CUstream stream) {
  FutexLock lock(&mutex_);
  uint32_t i = 0;
  while (i < kSlots && used_[i]) ++i;
  if (i < kSlots && events_[i] == nullptr) {
    SGPRS_REAL(cuEventCreate)(&events_[i], CU_EVENT_DISABLE_TIMING);
  }
  if (i == kSlots || events_[i] == nullptr ||
      SGPRS_REAL(cuEventRecord)(events_[i], stream) != CUDA_SUCCESS) {
    lost_ = true;
    open_.store(kSlots, std::memory_order_relaxed);
    return;
  }
  used_[i] = true;
  open_.fetch_add(1, std::memory_order_relaxed);
}

bool ValueWaits::Open() {
  if (open_.load(std::memory_order_relaxed) == 0) return false;
  FutexLock lock(&mutex_);
  if (lost_) return true;
  bool open = false;
  for (uint32_t i = 0; i < kSlots; ++i) {
    if (!used_[i]) continue;
    if (SGPRS_REAL(cuEventQuery)(events_[i]) == CUDA_ERROR_NOT_READY) {
      open = true;
    } else {
      used_[i] = false;
      open_.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  return open;
}

void ValueWaits::ResetAfterFork() {
  mutex_.ResetAfterFork();
  open_.store(0, std::memory_order_relaxed);
  for (CUevent& event : events_) event = nullptr;
  for (bool& used : used_) used = false;
  lost_ = false;
}

ValueWaits* TheValueWaits() {
  static constinit ValueWaits waits;
  return &waits;
}

}  // namespace sgprs::shim
