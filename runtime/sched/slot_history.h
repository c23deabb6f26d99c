// SPDX-License-Identifier: Apache-2.0
// What became of a task's releases, in order: the (m,k) history. A slot is a release that had a
// job; it is met if that job ran for it and was on time, else held or late. Releases that a process
// never came for are no slots.
#ifndef SGPRS_RUNTIME_SCHED_SLOT_HISTORY_H_
#define SGPRS_RUNTIME_SCHED_SLOT_HISTORY_H_

#include <algorithm>
#include <bit>
#include <cstdint>

#include "runtime/sched/scheduler.h"

namespace sgprs::sched {

class SlotHistory {
 public:
  void Held() {
    ++held_;
    longest_hold_ = std::max(longest_hold_, ++hold_run_);
    Push(false);
  }
  void Ran(bool on_time) {
    hold_run_ = 0;
    Push(on_time);
  }

  uint64_t held() const { return held_; }
  uint64_t hold_run() const { return hold_run_; }    // slots held in a row, up to now
  uint64_t unmet_run() const { return unmet_run_; }  // held or late in a row, up to now
  uint64_t longest_hold() const { return longest_hold_; }
  // Fewest met in any kWindowSlots slots in a row; kWindowSlots until there were so many.
  uint32_t worst_window() const { return worst_; }

 private:
  void Push(bool met) {
    unmet_run_ = met ? 0 : unmet_run_ + 1;
    bits_ = (bits_ << 1 | (met ? 1u : 0u)) & ((1u << kWindowSlots) - 1);
    slots_ = std::min(slots_ + 1, kWindowSlots);
    if (slots_ == kWindowSlots) {
      worst_ = std::min(worst_, static_cast<uint32_t>(std::popcount(bits_)));
    }
  }

  uint32_t bits_ = 0;
  uint32_t slots_ = 0;
  uint32_t worst_ = kWindowSlots;
  uint64_t held_ = 0;
  uint64_t hold_run_ = 0;
  uint64_t unmet_run_ = 0;
  uint64_t longest_hold_ = 0;
};

}  // namespace sgprs::sched

#endif  // SGPRS_RUNTIME_SCHED_SLOT_HISTORY_H_
