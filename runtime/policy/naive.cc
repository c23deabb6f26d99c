// SPDX-License-Identifier: Apache-2.0
// The paper's baseline exactly as coded (papers.md 1.9): full-size partitions, task i bound for
// life to partition i mod n, stream priority by the parity of i, a whole network per launch, no
// staging, no switching, no deadlines, no limit on what runs at once.
#include "runtime/policy/policies.h"

namespace sgprs::policy {
namespace {

class NaivePolicy : public Policy {
 public:
  PolicyTraits traits() const override {
    return {.staged = false, .pool = PoolShape::kFullSize, .bounded = false};
  }

  Placement Place(const StageView& stage, const Snapshot& snapshot) override {
    const auto count = static_cast<uint32_t>(snapshot.partitions.size());
    return {stage.task % count, stage.task % 2 == 0 ? SGPRS_LEVEL_HIGH : SGPRS_LEVEL_LOW};
  }

  uint32_t Home(const TaskView& task, std::span<const PartitionLoad> load) const override {
    return task.task % static_cast<uint32_t>(load.size());
  }

  QueueKey Key(const StageView&, const Placement&) const override { return {}; }
};

}  // namespace

std::unique_ptr<Policy> MakeNaive(const PolicyOptions&) { return std::make_unique<NaivePolicy>(); }

}  // namespace sgprs::policy
