// SPDX-License-Identifier: Apache-2.0
// DARIS (facts: papers.md 2.2): each task is bound to a partition; high-class jobs always run,
// low-class ones only if the partition's active utilisation allows, else they migrate to another
// partition or are dropped; eight lists of fixed priority, EDF inside each. Its published code
// tests
// `!last` when it queues for the first list and `last` when it takes from it; here both mean
// "last and delayed".
//
// Dropping: an unmodified job can not be dropped, so it is held to its task's next release.
// Costs are MRET: the maximum of the last W jobs per stage (`learning.window`).
#include "runtime/policy/levels.h"
#include "runtime/policy/policies.h"

namespace sgprs::policy {
namespace {

double PerStream(double utilisation, const PartitionLoad& load) {
  return utilisation / load.capacity;
}

class DarisGate : public JobGate {
 public:
  GateDecision Ask(const JobView& job, const GateSnapshot& snapshot) const override {
    if (job.task_class == SGPRS_CLASS_HIGH || job.home >= snapshot.load.size()) return {};
    const PartitionLoad& here = snapshot.load[job.home];
    const double u = PerStream(job.utilisation, here);
    if (PerStream(here.active, here) + u < 1) return {};
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < snapshot.load.size(); ++i) {
      const PartitionLoad& there = snapshot.load[i];
      if (i == job.home || PerStream(there.overall, there) >= PerStream(here.overall, here) - u) {
        continue;
      }
      if (best == UINT32_MAX || PerStream(there.active, there) <
                                    PerStream(snapshot.load[best].active, snapshot.load[best])) {
        best = i;
      }
    }
    if (best == UINT32_MAX) return {GateAnswer::kHold};
    const PartitionLoad& there = snapshot.load[best];
    if (PerStream(there.active, there) + PerStream(job.utilisation, there) >= 1) {
      return {GateAnswer::kHold};
    }
    return {GateAnswer::kStart, best};
  }

  // It lets nobody wait.
  Key Order(const JobView&) const override { return {}; }
  uint64_t LatestStartNs(const JobView& job) const override { return job.release_ns; }
};

class DarisPolicy : public Policy {
 public:
  explicit DarisPolicy(const PolicyOptions& options) : options_(options) {}

  PolicyTraits traits() const override {
    return {.staged = options_.staging, .level_slots = options_.level_slots};
  }

  Placement Place(const StageView& stage, const Snapshot& snapshot) override {
    Placement placement;
    placement.partition =
        stage.home != kNoPartition ? stage.home : EarliestEnd(stage, snapshot, /*idle_only=*/false);
    placement.level = StreamLevel(stage, Level(stage));
    return placement;
  }

  QueueKey Key(const StageView& stage, const Placement&) const override {
    return {List(stage), stage.virtual_deadline_ns};
  }

  const JobGate* gate() const override { return &gate_; }

  // The partition of least overall utilisation; of equal ones that of fewest tasks.
  uint32_t Home(const TaskView&, std::span<const PartitionLoad> load) const override {
    uint32_t best = 0;
    for (uint32_t i = 1; i < load.size(); ++i) {
      const double there = PerStream(load[i].overall, load[i]);
      const double least = PerStream(load[best].overall, load[best]);
      if (there < least || (there == least && load[i].tasks < load[best].tasks)) best = i;
    }
    return best;
  }

 private:
  bool Last(const StageView& stage) const {
    return stage.stage + options_.high_stages >= stage.stage_count;
  }
  bool Delayed(const StageView& stage) const {
    return options_.medium_level && stage.predecessor_late;
  }

  // 0 goes first. High class: last and delayed, last, delayed, other; low class: last and delayed,
  // delayed, last, other; best effort behind all.
  uint64_t List(const StageView& stage) const {
    if (IsBestEffort(stage)) return 8;
    const bool high = stage.task_class == SGPRS_CLASS_HIGH || !options_.class_levels;
    const uint64_t last = Last(stage) ? 0 : (high ? 2 : 1);
    const uint64_t delayed = Delayed(stage) ? 0 : (high ? 1 : 2);
    return (high ? 0 : 4) + last + delayed;
  }

  SgprsLevel Level(const StageView& stage) const {
    return PaperLevel(stage, options_.high_stages, options_.medium_level);
  }

  const PolicyOptions options_;
  const DarisGate gate_;
};

}  // namespace

std::unique_ptr<Policy> MakeDaris(const PolicyOptions& options) {
  return std::make_unique<DarisPolicy>(options);
}

}  // namespace sgprs::policy
