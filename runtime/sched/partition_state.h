// SPDX-License-Identifier: Apache-2.0
// One partition as the scheduler sees it: its queue, who holds a slot, when it is expected to end.
//
// Slots: `capacity` stages at once. Best-effort stages have slots of their own, as many, so that a
// stage with a deadline never waits for one; but they get one only while no stage with a deadline
// runs here.
#ifndef SGPRS_RUNTIME_SCHED_PARTITION_STATE_H_
#define SGPRS_RUNTIME_SCHED_PARTITION_STATE_H_

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "runtime/policy/policy.h"

namespace sgprs::sched {

struct QueueEntry {
  policy::Policy::QueueKey key;
  uint64_t sequence = 0;  // unique
  uint32_t task = 0;
  uint64_t ready_ns = 0;
  uint64_t cost_ns = 0;
  bool best_effort = false;
  bool high = false;  // level high: with level slots it has slots of its own

  friend bool operator<(const QueueEntry& a, const QueueEntry& b) {
    if (a.key.high != b.key.high) return a.key.high < b.key.high;
    if (a.key.low != b.key.low) return a.key.low < b.key.low;
    return a.sequence < b.sequence;
  }
};

struct SlotHolder {
  uint32_t task = 0;
  uint64_t granted_ns = 0;
  uint64_t cost_ns = 0;
  bool best_effort = false;
  bool above_capacity = false;
  bool high = false;
};

class PartitionState {
 public:
  PartitionState(uint32_t sm_count, uint32_t capacity) : sm_count_(sm_count), capacity_(capacity) {}

  // Half of the slots for level high, half for the rest (PolicyOptions::level_slots); the queue is
  // empty.
  void SetLevelSlots(bool level_slots) { level_slots_ = level_slots; }

  // Queue. O(log n).
  void Enqueue(const QueueEntry& entry);
  void Dequeue(const QueueEntry& entry);
  // Tasks queued here, in the order in which their stages became ready.
  std::vector<uint32_t> QueuedTasks() const;

  // The entry that may start now, or nullptr. `bounded` = capacity counts. Sets `*above_capacity`
  // if it may start only because it waited for `max_wait_ns`.
  const QueueEntry* Next(uint64_t now_ns, bool bounded, uint64_t max_wait_ns,
                         bool* above_capacity) const;
  // When Next() may answer because of a long wait; UINT64_MAX = never.
  uint64_t NextLongWaitNs(uint64_t max_wait_ns) const;

  // Slots. A task holds at most one in all partitions. O(stages running here).
  void TakeSlot(const SlotHolder& holder, uint64_t now_ns);
  void FreeSlot(uint32_t task, uint64_t now_ns);

  // What a policy sees. A stage with a deadline does not see the best-effort stages queued here. A
  // stalled partition has no end.
  policy::PartitionView View(uint64_t now_ns, bool for_best_effort) const;

  uint32_t capacity() const { return capacity_; }
  // Nothing runs, nothing is queued, nothing is stuck: it could take work from elsewhere.
  bool idle() const { return holders_.empty() && queued() == 0 && sound(); }
  // The first of the queue; nullptr if it is empty.
  const QueueEntry* Front() const;
  bool sound() const { return stalled == 0; }
  uint32_t running() const { return static_cast<uint32_t>(holders_.size()); }
  uint32_t queued() const { return static_cast<uint32_t>(by_age_.size()); }
  uint64_t BusyNs(uint64_t now_ns) const;

  // Counters, written by the scheduler core.
  uint32_t parked = 0;
  uint32_t stalled = 0;
  uint64_t stages_completed = 0;
  uint64_t switches_in = 0;

 private:
  std::set<QueueEntry>& QueueOf(const QueueEntry& entry) {
    return queues_[level_slots_ && entry.high];
  }
  bool HasSlot(const QueueEntry& entry) const;
  uint64_t FinishNs(uint64_t now_ns, uint64_t queued_ns) const;

  const uint32_t sm_count_;
  const uint32_t capacity_;
  bool level_slots_ = false;
  std::set<QueueEntry> queues_[2];                // [1]: level high, with level slots
  std::map<uint64_t, const QueueEntry*> by_age_;  // sequence -> node of queues_
  uint64_t queued_ns_ = 0;                        // estimated cost of the queue without best effort
  uint64_t queued_best_effort_ns_ = 0;            // and of its best-effort stages
  uint32_t queued_best_effort_ = 0;
  std::vector<SlotHolder> holders_;  // oldest grant first
  uint64_t running_ns_ = 0;          // estimated cost of all holders
  uint32_t running_best_effort_ = 0;
  uint32_t running_high_ = 0;  // level high, best effort aside
  uint32_t running_above_capacity_ = 0;
  uint64_t busy_ns_ = 0;
  uint64_t busy_since_ns_ = 0;
};

}  // namespace sgprs::sched

#endif  // SGPRS_RUNTIME_SCHED_PARTITION_STATE_H_
