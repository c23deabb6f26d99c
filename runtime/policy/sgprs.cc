// SPDX-License-Identifier: Apache-2.0
// The published policy (papers.md 1.4-1.6): over-subscribed pool, virtual deadlines, three levels,
// EDF inside a level. What papers.md 1.10 leaves open is in PolicyOptions.
#include "runtime/policy/levels.h"
#include "runtime/policy/policies.h"

namespace sgprs::policy {
namespace {

bool EndsInTime(uint64_t end_ns, const StageView& stage) {
  return end_ns < stage.virtual_deadline_ns;
}

class SgprsPolicy : public Policy {
 public:
  explicit SgprsPolicy(const PolicyOptions& options) : options_(options) {}

  // The papers never move a placed stage; of best effort they do not speak.
  PolicyTraits traits() const override {
    return {.staged = options_.staging,
            .level_slots = options_.level_slots,
            .stealing = options_.switching ? Stealing::kBestEffort : Stealing::kNothing};
  }

  Placement Place(const StageView& stage, const Snapshot& snapshot) override {
    const SgprsLevel level = Level(stage);
    Placement placement;
    placement.level = StreamLevel(stage, level);
    if (!options_.switching && stage.previous_partition != kNoPartition) {
      placement.partition = stage.previous_partition;
      return placement;
    }
    placement.partition = IdleInTime(stage, snapshot);
    if (placement.partition == kNoPartition) {
      placement.partition = EarliestEnd(stage, snapshot, /*idle_only=*/true);
    }
    if (placement.partition != kNoPartition) return placement;
    placement.not_before_ns = GateNs(stage, level);
    if (options_.assignment == Assignment::kPaper) {
      placement.partition = SmallestInTime(stage, snapshot);
      if (placement.partition != kNoPartition) return placement;
    }
    placement.partition = EarliestEnd(stage, snapshot, /*idle_only=*/false);
    return placement;
  }

  QueueKey Key(const StageView& stage, const Placement&) const override {
    const bool edf = options_.queue_order == QueueOrder::kEdf;
    return {BandKey(stage, Level(stage), options_.class_levels),
            edf ? stage.virtual_deadline_ns : 0};
  }

 private:
  SgprsLevel Level(const StageView& stage) const {
    return PaperLevel(stage, options_.high_stages, options_.medium_level);
  }

  // papers.md 1.5, pre-gate. 0 = none.
  uint64_t GateNs(const StageView& stage, SgprsLevel level) const {
    if (!options_.early_release_gate || level != SGPRS_LEVEL_LOW) return 0;
    if (stage.virtual_deadline_ns == kNoDeadline) return 0;
    const uint64_t twice = 2 * stage.relative_deadline_ns;
    return stage.virtual_deadline_ns > twice ? stage.virtual_deadline_ns - twice : 0;
  }

  // The idle partition of fewest SMs in which the stage ends before its virtual deadline; the code
  // takes the first in pool order instead.
  uint32_t IdleInTime(const StageView& stage, const Snapshot& snapshot) const {
    uint32_t best = kNoPartition;
    for (uint32_t i = 0; i < snapshot.partitions.size(); ++i) {
      if (!IsIdle(snapshot.partitions[i])) continue;
      if (!EndsInTime(EndNs(stage, snapshot, i), stage)) continue;
      if (options_.assignment == Assignment::kCode) return i;
      if (best == kNoPartition ||
          snapshot.partitions[i].sm_count < snapshot.partitions[best].sm_count) {
        best = i;
      }
    }
    return best;
  }

  // The partition of fewest SMs, busy or not, that is expected to end the stage in time; of equal
  // ones the one that ends first.
  static uint32_t SmallestInTime(const StageView& stage, const Snapshot& snapshot) {
    uint32_t best = kNoPartition;
    uint64_t best_end = 0;
    for (uint32_t i = 0; i < snapshot.partitions.size(); ++i) {
      const uint64_t end = EndNs(stage, snapshot, i);
      if (!EndsInTime(end, stage)) continue;
      const uint32_t sms = snapshot.partitions[i].sm_count;
      const uint32_t best_sms = best == kNoPartition ? 0 : snapshot.partitions[best].sm_count;
      if (best != kNoPartition && (sms > best_sms || (sms == best_sms && end >= best_end))) {
        continue;
      }
      best = i;
      best_end = end;
    }
    return best;
  }

  const PolicyOptions options_;
};

}  // namespace

std::unique_ptr<Policy> MakeSgprs(const PolicyOptions& options) {
  return std::make_unique<SgprsPolicy>(options);
}

}  // namespace sgprs::policy
