// SPDX-License-Identifier: Apache-2.0
#include "runtime/loop/timer_queue.h"

namespace sgprs::loop {

TimerId TimerQueue::Add(uint64_t due_ns, uint64_t interval_ns, Handler handler) {
  const TimerId id = next_id_++;
  timers_.emplace(Key(due_ns, id), Timer{interval_ns, std::move(handler)});
  due_of_.emplace(id, due_ns);
  return id;
}

void TimerQueue::Remove(TimerId id) {
  const auto due = due_of_.find(id);
  if (due == due_of_.end()) return;
  timers_.erase(Key(due->second, id));
  due_of_.erase(due);
}

void TimerQueue::RunDue(uint64_t now_ns) {
  const TimerId newest = next_id_;
  while (!timers_.empty()) {
    auto first = timers_.begin();
    const auto [due_ns, id] = first->first;
    if (due_ns > now_ns || id >= newest) break;
    Timer timer = std::move(first->second);
    timers_.erase(first);
    // A repeating timer keeps its place while its handler runs, so that the handler can remove it.
    if (timer.interval_ns != 0) {
      due_of_[id] = now_ns + timer.interval_ns;
      timers_.emplace(Key(now_ns + timer.interval_ns, id), Timer{timer.interval_ns, nullptr});
    } else {
      due_of_.erase(id);
    }
    timer.handler();
    if (auto due = due_of_.find(id); due != due_of_.end()) {
      timers_[Key(due->second, id)].handler = std::move(timer.handler);
    }
  }
}

uint64_t TimerQueue::next_due_ns() const {
  return timers_.empty() ? UINT64_MAX : timers_.begin()->first.first;
}

}  // namespace sgprs::loop
