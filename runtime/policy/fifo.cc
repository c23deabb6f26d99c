// SPDX-License-Identifier: Apache-2.0
// Stages in the order in which they became ready, each on the partition that is estimated to end
// first. No deadlines, no levels; best-effort work goes behind the rest. What `sgprs` is without
// its order and its sizes.
#include "runtime/policy/levels.h"
#include "runtime/policy/policies.h"

namespace sgprs::policy {
namespace {

class FifoPolicy : public Policy {
 public:
  PolicyTraits traits() const override { return {.stealing = Stealing::kEverything}; }

  Placement Place(const StageView& stage, const Snapshot& snapshot) override {
    return {EarliestEnd(stage, snapshot, /*idle_only=*/false),
            IsBestEffort(stage) ? SGPRS_LEVEL_LOW : SGPRS_LEVEL_HIGH};
  }

  QueueKey Key(const StageView& stage, const Placement&) const override {
    return {IsBestEffort(stage) ? 1u : 0u, 0};
  }
};

}  // namespace

std::unique_ptr<Policy> MakeFifo(const PolicyOptions&) { return std::make_unique<FifoPolicy>(); }

}  // namespace sgprs::policy
