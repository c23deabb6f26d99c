// SPDX-License-Identifier: Apache-2.0
// Rate-monotonic: the shorter a task's period, the sooner its stages run, whatever their deadlines.
// Pool and assignment as in `sgprs`. The level (which chooses the stream) follows the rate, too:
// high within twice the shortest period there is, medium within four times, low beyond.
#include "runtime/policy/levels.h"
#include "runtime/policy/policies.h"

namespace sgprs::policy {
namespace {

class RmPolicy : public Policy {
 public:
  explicit RmPolicy(const PolicyOptions& options) : options_(options) {}

  PolicyTraits traits() const override {
    return {.staged = options_.staging,
            .level_slots = options_.level_slots,
            .stealing = Stealing::kBestEffort};
  }

  Placement Place(const StageView& stage, const Snapshot& snapshot) override {
    Placement placement;
    placement.level = StreamLevel(stage, Level(stage, snapshot));
    placement.partition = EarliestEnd(stage, snapshot, /*idle_only=*/true);
    if (placement.partition == kNoPartition) {
      placement.partition = EarliestEnd(stage, snapshot, /*idle_only=*/false);
    }
    return placement;
  }

  // Of one rate: who was released first.
  QueueKey Key(const StageView& stage, const Placement&) const override {
    const uint64_t band = options_.class_levels || IsBestEffort(stage) ? stage.task_class : 0;
    const uint64_t period = stage.period_ns != 0 ? stage.period_ns : kNoPeriod;
    return {band * (kNoPeriod + 1) + (period < kNoPeriod ? period : kNoPeriod), stage.release_ns};
  }

 private:
  static constexpr uint64_t kNoPeriod = (uint64_t{1} << 60) - 1;  // 36 years

  static SgprsLevel Level(const StageView& stage, const Snapshot& snapshot) {
    if (IsBestEffort(stage) || stage.period_ns == 0) return SGPRS_LEVEL_LOW;
    const uint64_t times = stage.period_ns / (snapshot.shortest_period_ns + 1);
    return times < 2 ? SGPRS_LEVEL_HIGH : times < 4 ? SGPRS_LEVEL_MEDIUM : SGPRS_LEVEL_LOW;
  }

  const PolicyOptions options_;
};

}  // namespace

std::unique_ptr<Policy> MakeRm(const PolicyOptions& options) {
  return std::make_unique<RmPolicy>(options);
}

}  // namespace sgprs::policy
