// SPDX-License-Identifier: Apache-2.0
// Timers by due time. Pure: takes the time, never asks for it. Thread: its owner's.
#ifndef SGPRS_RUNTIME_LOOP_TIMER_QUEUE_H_
#define SGPRS_RUNTIME_LOOP_TIMER_QUEUE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>

namespace sgprs::loop {

using TimerId = uint64_t;  // never 0

class TimerQueue {
 public:
  using Handler = std::function<void()>;

  // Runs `handler` once, at the first RunDue() with now >= due_ns; again every `interval_ns` after
  // that if it is not 0. Points that were missed are not made up for.
  TimerId Add(uint64_t due_ns, uint64_t interval_ns, Handler handler);
  // No effect if it has run or was removed. A handler may remove any timer, itself too.
  void Remove(TimerId id);

  // Runs what is due, in order of due time. A timer added by a handler runs in a later call.
  void RunDue(uint64_t now_ns);
  // UINT64_MAX if there is none.
  uint64_t next_due_ns() const;
  size_t size() const { return due_of_.size(); }

 private:
  struct Timer {
    uint64_t interval_ns = 0;
    Handler handler;
  };
  using Key = std::pair<uint64_t, TimerId>;

  uint64_t next_id_ = 1;
  std::map<Key, Timer> timers_;
  std::unordered_map<TimerId, uint64_t> due_of_;
};

}  // namespace sgprs::loop

#endif  // SGPRS_RUNTIME_LOOP_TIMER_QUEUE_H_
