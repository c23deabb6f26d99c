// SPDX-License-Identifier: Apache-2.0
// What several policies share: the band of a task class and the three levels of the paper
// (facts: papers.md 1.6). Pure.
#ifndef SGPRS_RUNTIME_POLICY_LEVELS_H_
#define SGPRS_RUNTIME_POLICY_LEVELS_H_

#include <cstdint>

#include "runtime/policy/policy.h"

namespace sgprs::policy {

// Best effort is behind everything that has a deadline, in every policy that looks at classes.
inline bool IsBestEffort(const StageView& stage) {
  return stage.task_class == SGPRS_CLASS_BEST_EFFORT;
}

// Class first, level second: high-class stages go before low-class ones whatever their level
// (DARIS, papers.md 2.2), best effort last. Without `class_levels` high and low class are one.
inline uint64_t BandKey(const StageView& stage, SgprsLevel level, bool class_levels = true) {
  const bool one = !class_levels && stage.task_class == SGPRS_CLASS_HIGH;
  const uint64_t band = one ? SGPRS_CLASS_LOW : stage.task_class;
  return band * 4 + static_cast<uint64_t>(level);
}

// Level inside the class: high = last `high_stages` stages, medium = the predecessor missed its
// virtual deadline, low = the rest. Without a deadline there is nothing to hurry for: low.
inline SgprsLevel PaperLevel(const StageView& stage, uint32_t high_stages, bool medium_level) {
  if (IsBestEffort(stage) || stage.deadline_ns == kNoDeadline) return SGPRS_LEVEL_LOW;
  if (stage.stage + high_stages >= stage.stage_count) return SGPRS_LEVEL_HIGH;
  if (medium_level && stage.predecessor_late) return SGPRS_LEVEL_MEDIUM;
  return SGPRS_LEVEL_LOW;
}

// Level that chooses the stream. A high-class stage is never on the stream of best-effort work.
inline SgprsLevel StreamLevel(const StageView& stage, SgprsLevel level) {
  return stage.task_class == SGPRS_CLASS_HIGH ? SGPRS_LEVEL_HIGH : level;
}

inline bool IsIdle(const PartitionView& partition) {
  return partition.running == 0 && partition.queued == 0;
}

// When partition `index` is estimated to end once `stage` is behind what it has.
inline uint64_t EndNs(const StageView& stage, const Snapshot& snapshot, uint32_t index) {
  const uint64_t finish_ns = snapshot.partitions[index].finish_ns;
  const uint64_t start = finish_ns > snapshot.now_ns ? finish_ns : snapshot.now_ns;
  const uint64_t cost = index < stage.cost_ns.size() ? stage.cost_ns[index] : 0;
  return start > UINT64_MAX - cost ? UINT64_MAX : start + cost;
}

// The partition whose work is estimated to end first once `stage` is behind it; ties: lowest index.
// With `idle_only`, kNoPartition if none is idle.
inline uint32_t EarliestEnd(const StageView& stage, const Snapshot& snapshot, bool idle_only) {
  uint32_t best = kNoPartition;
  uint64_t best_end = 0;
  for (uint32_t i = 0; i < snapshot.partitions.size(); ++i) {
    if (idle_only && !IsIdle(snapshot.partitions[i])) continue;
    const uint64_t end = EndNs(stage, snapshot, i);
    if (best != kNoPartition && end >= best_end) continue;
    best = i;
    best_end = end;
  }
  return best;
}

}  // namespace sgprs::policy

#endif  // SGPRS_RUNTIME_POLICY_LEVELS_H_
