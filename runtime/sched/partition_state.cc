// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/partition_state.h"

#include <algorithm>
#include <cstdlib>

namespace sgprs::sched {

void PartitionState::Enqueue(const QueueEntry& entry) {
  const auto [at, inserted] = QueueOf(entry).insert(entry);
  if (!inserted) std::abort();  // sequences are unique
  by_age_.emplace(entry.sequence, &*at);
  (entry.best_effort ? queued_best_effort_ns_ : queued_ns_) += entry.cost_ns;
  queued_best_effort_ += entry.best_effort;
}

void PartitionState::Dequeue(const QueueEntry& entry) {
  std::set<QueueEntry>& queue = QueueOf(entry);
  const auto at = queue.find(entry);
  if (at == queue.end()) std::abort();
  (at->best_effort ? queued_best_effort_ns_ : queued_ns_) -= at->cost_ns;
  queued_best_effort_ -= at->best_effort;
  by_age_.erase(at->sequence);
  queue.erase(at);
}

std::vector<uint32_t> PartitionState::QueuedTasks() const {
  std::vector<uint32_t> tasks;
  tasks.reserve(by_age_.size());
  for (const auto& [sequence, entry] : by_age_) tasks.push_back(entry->task);
  return tasks;
}

const QueueEntry* PartitionState::Front() const {
  const QueueEntry* first = nullptr;
  for (const std::set<QueueEntry>& queue : queues_) {
    if (!queue.empty() && (first == nullptr || *queue.begin() < *first)) first = &*queue.begin();
  }
  return first;
}

// Whether a slot is free that the entry may take.
bool PartitionState::HasSlot(const QueueEntry& entry) const {
  const uint32_t with_deadline = running() - running_best_effort_;
  if (entry.best_effort) return with_deadline == 0 && running_best_effort_ < capacity_;
  if (!level_slots_) return with_deadline < capacity_;
  const uint32_t high_slots = capacity_ - capacity_ / 2;
  return entry.high ? running_high_ < high_slots
                    : with_deadline - running_high_ < std::max(1u, capacity_ / 2);
}

const QueueEntry* PartitionState::Next(uint64_t now_ns, bool bounded, uint64_t max_wait_ns,
                                       bool* above_capacity) const {
  *above_capacity = false;
  const QueueEntry* first = nullptr;
  for (const std::set<QueueEntry>& queue : queues_) {
    if (queue.empty() || (bounded && !HasSlot(*queue.begin()))) continue;
    if (first == nullptr || *queue.begin() < *first) first = &*queue.begin();
  }
  if (first != nullptr || by_age_.empty()) return first;
  if (NextLongWaitNs(max_wait_ns) > now_ns) return nullptr;
  *above_capacity = true;
  return by_age_.begin()->second;
}

uint64_t PartitionState::NextLongWaitNs(uint64_t max_wait_ns) const {
  if (by_age_.empty() || running_above_capacity_ > 0) return UINT64_MAX;
  const uint64_t ready_ns = by_age_.begin()->second->ready_ns;
  return ready_ns > UINT64_MAX - max_wait_ns ? UINT64_MAX : ready_ns + max_wait_ns;
}

void PartitionState::TakeSlot(const SlotHolder& holder, uint64_t now_ns) {
  if (holders_.empty()) busy_since_ns_ = now_ns;
  holders_.push_back(holder);
  running_ns_ += holder.cost_ns;
  running_best_effort_ += holder.best_effort;
  running_high_ += holder.high && !holder.best_effort;
  running_above_capacity_ += holder.above_capacity;
}

void PartitionState::FreeSlot(uint32_t task, uint64_t now_ns) {
  const auto at = std::find_if(holders_.begin(), holders_.end(),
                               [task](const SlotHolder& holder) { return holder.task == task; });
  if (at == holders_.end()) std::abort();
  running_ns_ -= at->cost_ns;
  running_best_effort_ -= at->best_effort;
  running_high_ -= at->high && !at->best_effort;
  running_above_capacity_ -= at->above_capacity;
  holders_.erase(at);
  if (holders_.empty()) busy_ns_ += now_ns - busy_since_ns_;
}

policy::PartitionView PartitionState::View(uint64_t now_ns, bool for_best_effort) const {
  policy::PartitionView view;
  view.sm_count = sm_count_;
  view.capacity = capacity_;
  view.running = running() + stalled;
  view.queued = for_best_effort ? queued() : queued() - queued_best_effort_;
  view.finish_ns =
      sound() ? FinishNs(now_ns, queued_ns_ + (for_best_effort ? queued_best_effort_ns_ : 0))
              : UINT64_MAX;
  return view;
}

uint64_t PartitionState::BusyNs(uint64_t now_ns) const {
  const bool busy = !holders_.empty() && now_ns > busy_since_ns_;
  return busy_ns_ + (busy ? now_ns - busy_since_ns_ : 0);
}

// papers.md 1.5: start + the cost of everything running or queued (a serial estimate); start = when
// the oldest running stage started, or now if it has outlived its own estimate.
uint64_t PartitionState::FinishNs(uint64_t now_ns, uint64_t queued_ns) const {
  uint64_t start = now_ns;
  if (!holders_.empty()) {
    const SlotHolder& oldest = holders_.front();
    if (oldest.granted_ns + oldest.cost_ns >= now_ns) start = oldest.granted_ns;
  }
  return start + running_ns_ + queued_ns;
}

}  // namespace sgprs::sched
