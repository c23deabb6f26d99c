// SPDX-License-Identifier: Apache-2.0
// The published policy (papers.md 1.4-1.6): over-subscribed pool, virtual deadlines, three levels,
// EDF inside a level. SgprsOptions holds what papers.md 1.10 leaves open; a preset is a row with
// other values.
#include "runtime/policy/levels.h"
#include "runtime/policy/policies.h"

namespace sgprs::policy {
namespace {

struct SgprsOptions {
  uint32_t high_stages = 1;  // paper: the last stage; the DATE code: the last two
  bool medium_level = true;  // paper: yes; the DATE code: removed
  bool edf = true;           // paper: EDF inside a level; the DATE code: wake-up order
};

class SgprsPolicy : public Policy {
 public:
  explicit SgprsPolicy(const SgprsOptions& options) : options_(options) {}

  // The papers never move a placed stage; of best effort they do not speak.
  PolicyTraits traits() const override { return {.stealing = Stealing::kBestEffort}; }

  Placement Place(const StageView& stage, const Snapshot& snapshot) override {
    Placement placement;
    placement.level = StreamLevel(stage, Level(stage));
    placement.partition = SmallestIdleInTime(stage, snapshot);
    if (placement.partition == kNoPartition) {
      placement.partition = EarliestEnd(stage, snapshot, /*idle_only=*/true);
    }
    if (placement.partition == kNoPartition) {
      placement.partition = EarliestEnd(stage, snapshot, /*idle_only=*/false);
    }
    return placement;
  }

  QueueKey Key(const StageView& stage, const Placement&) const override {
    return {BandKey(stage, Level(stage)), options_.edf ? stage.virtual_deadline_ns : 0};
  }

 private:
  SgprsLevel Level(const StageView& stage) const {
    return PaperLevel(stage, options_.high_stages, options_.medium_level);
  }

  // The idle partition of fewest SMs in which the stage ends before its virtual deadline.
  static uint32_t SmallestIdleInTime(const StageView& stage, const Snapshot& snapshot) {
    uint32_t best = kNoPartition;
    for (uint32_t i = 0; i < snapshot.partitions.size(); ++i) {
      if (!IsIdle(snapshot.partitions[i])) continue;
      const uint64_t cost = i < stage.cost_ns.size() ? stage.cost_ns[i] : 0;
      const bool in_time = snapshot.now_ns < stage.virtual_deadline_ns &&
                           cost < stage.virtual_deadline_ns - snapshot.now_ns;
      if (!in_time) continue;
      if (best == kNoPartition ||
          snapshot.partitions[i].sm_count < snapshot.partitions[best].sm_count) {
        best = i;
      }
    }
    return best;
  }

  const SgprsOptions options_;
};

}  // namespace

std::unique_ptr<Policy> MakeSgprs() { return std::make_unique<SgprsPolicy>(SgprsOptions{}); }

}  // namespace sgprs::policy
