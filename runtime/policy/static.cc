// SPDX-License-Identifier: Apache-2.0
// A fixed partition per task (task i in partition i mod n), levels and EDF as in `sgprs`, but never
// a switch: what spatial partitioning gives without migration.
#include "runtime/policy/levels.h"
#include "runtime/policy/policies.h"

namespace sgprs::policy {
namespace {

class StaticPolicy : public Policy {
 public:
  PolicyTraits traits() const override { return {.pool = PoolShape::kDisjoint}; }

  Placement Place(const StageView& stage, const Snapshot& snapshot) override {
    return {stage.task % static_cast<uint32_t>(snapshot.partitions.size()),
            StreamLevel(stage, Level(stage))};
  }

  uint32_t Home(const TaskView& task, std::span<const PartitionLoad> load) const override {
    return task.task % static_cast<uint32_t>(load.size());
  }

  QueueKey Key(const StageView& stage, const Placement&) const override {
    return {BandKey(stage, Level(stage)), stage.virtual_deadline_ns};
  }

 private:
  static SgprsLevel Level(const StageView& stage) {
    return PaperLevel(stage, /*high_stages=*/1, /*medium_level=*/true);
  }
};

}  // namespace

std::unique_ptr<Policy> MakeStatic(const PolicyOptions&) {
  return std::make_unique<StaticPolicy>();
}

}  // namespace sgprs::policy
