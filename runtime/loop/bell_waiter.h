// SPDX-License-Identifier: Apache-2.0
// Waits on doorbell words where the kernel has no IORING_OP_FUTEX_WAIT (before 6.7): helper threads
// in futex_waitv (5.16), one per 127 words, and one eventfd that the loop polls.
//
// Threads: every method is the loop's. A helper reads a word only under its group's lock, and
// Disarm() takes that lock, so that a lane may be unmapped once Disarm() returned.
#ifndef SGPRS_RUNTIME_LOOP_BELL_WAITER_H_
#define SGPRS_RUNTIME_LOOP_BELL_WAITER_H_

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace sgprs::loop {

class BellWaiter {
 public:
  // Errors: kUnavailable (no futex_waitv), kExhausted.
  static Result<std::unique_ptr<BellWaiter>> Make();
  ~BellWaiter();

  // Readable when TakeFired() has something.
  int event_fd() const { return event_fd_.get(); }
  // Fires `id` once, when `word` differs from `expected`.
  void Arm(uint64_t id, uint32_t* word, uint32_t expected);
  // No effect if `id` has fired. After it, `word` is not touched any more.
  void Disarm(uint64_t id);
  // Ids that fired since the last call. Clears the eventfd. Does not block.
  std::vector<uint64_t> TakeFired();

 private:
  class Group;
  BellWaiter() = default;

  UniqueFd event_fd_;
  std::vector<std::unique_ptr<Group>> groups_;
  std::unordered_map<uint64_t, Group*> group_of_;
};

}  // namespace sgprs::loop

#endif  // SGPRS_RUNTIME_LOOP_BELL_WAITER_H_
