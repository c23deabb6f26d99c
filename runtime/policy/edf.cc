// SPDX-License-Identifier: Apache-2.0
// Non-preemptive global EDF: whole jobs by absolute deadline on partitions of the whole GPU. Tasks
// without a deadline, best effort among them, go behind the rest.
#include "runtime/policy/levels.h"
#include "runtime/policy/policies.h"

namespace sgprs::policy {
namespace {

class EdfPolicy : public Policy {
 public:
  PolicyTraits traits() const override {
    return {.staged = false, .pool = PoolShape::kFullSize, .stealing = Stealing::kEverything};
  }

  Placement Place(const StageView& stage, const Snapshot& snapshot) override {
    Placement placement;
    placement.partition = EarliestEnd(stage, snapshot, /*idle_only=*/true);
    if (placement.partition == kNoPartition) {
      placement.partition = EarliestEnd(stage, snapshot, /*idle_only=*/false);
    }
    placement.level = IsBestEffort(stage) ? SGPRS_LEVEL_LOW : SGPRS_LEVEL_HIGH;
    return placement;
  }

  QueueKey Key(const StageView& stage, const Placement&) const override {
    return {IsBestEffort(stage) ? 1u : 0u, stage.deadline_ns};
  }
};

}  // namespace

std::unique_ptr<Policy> MakeEdf(const PolicyOptions&) { return std::make_unique<EdfPolicy>(); }

}  // namespace sgprs::policy
