// SPDX-License-Identifier: Apache-2.0
// A policy: pure functions over a snapshot. No I/O, lock, thread, clock or log. The same object
// runs in sgprsd and in the virtual-time simulator.
//
// The scheduler core (runtime/sched) owns tasks, jobs, queues and estimates; a policy answers three
// questions: where does a ready stage go, at which level, and who goes first in a partition's
// queue. Whether a job starts at all is a JobGate's (overload.h), which a policy may bring along.
// To add one: a file here with the class, and a row in policy_table.cc. Names, help and tests come
// from the table.
#ifndef SGPRS_RUNTIME_POLICY_POLICY_H_
#define SGPRS_RUNTIME_POLICY_POLICY_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "runtime/policy/overload.h"
#include "runtime/policy/policy_options.h"
#include "sgprs/abi/abi.h"

namespace sgprs::policy {

inline constexpr uint64_t kNoDeadline = UINT64_MAX;
inline constexpr uint32_t kNoPartition = UINT32_MAX;

// A stage that is ready to be placed.
struct StageView {
  uint32_t task = 0;
  uint64_t job = 0;
  uint32_t stage = 0;
  uint32_t stage_count = 1;
  SgprsTaskClass task_class = SGPRS_CLASS_LOW;
  bool predecessor_late = false;       // the stage before it ended after its virtual deadline
  uint64_t period_ns = 0;              // of the task, 0 = not periodic
  uint64_t release_ns = 0;             // of the job, absolute
  uint64_t deadline_ns = kNoDeadline;  // of the job, absolute
  uint64_t virtual_deadline_ns = kNoDeadline;   // of the stage, absolute
  uint64_t relative_deadline_ns = kNoDeadline;  // of the stage: its share of the job's
  uint32_t previous_partition = kNoPartition;   // where the task's stage before it ran
  uint32_t home = kNoPartition;                 // that the task is bound to (Policy::Home)
  uint64_t sequence = 0;                        // order in which stages became ready
  std::span<const uint64_t> cost_ns;            // estimated time, one entry a partition
};

struct PartitionView {
  uint32_t sm_count = 0;
  uint32_t capacity = 1;  // stages at once
  uint32_t running = 0;
  uint32_t queued = 0;
  uint64_t finish_ns = 0;  // estimated end of all that is queued or running; <= now if idle
};

struct Snapshot {
  uint64_t now_ns = 0;
  uint32_t device_sm_count = 0;
  uint64_t shortest_period_ns = 0;  // of all tasks, 0 = none is periodic
  std::span<const PartitionView> partitions;
};

struct Placement {
  uint32_t partition = 0;
  SgprsLevel level = SGPRS_LEVEL_LOW;
  uint64_t not_before_ns = 0;  // later than now: not placed yet, asked again then
};

// A task whose home is to be chosen.
struct TaskView {
  uint32_t task = 0;
  SgprsTaskClass task_class = SGPRS_CLASS_LOW;
  double utilisation = 0;  // 0 = unknown
  uint32_t home = kNoPartition;
};

// What a partition with nothing to do may take from the queue of another one.
enum class Stealing : uint8_t { kNothing, kBestEffort, kEverything };

// Which layout of the pool a policy is meant for.
enum class PoolShape : uint8_t {
  kConfigured,  // as the configuration says, over-subscribed or not
  kFullSize,    // every partition is the whole device
  kDisjoint,    // equal parts of the device that do not overlap
};

// What a policy wants of the scheduler core.
struct PolicyTraits {
  bool staged = true;  // false: a job is one stage
  PoolShape pool = PoolShape::kConfigured;
  bool bounded = true;       // false: a partition takes every stage at once, capacity or not
  bool level_slots = false;  // PolicyOptions::level_slots
  Stealing stealing = Stealing::kNothing;
};

class Policy {
 public:
  virtual ~Policy() = default;
  virtual PolicyTraits traits() const = 0;
  // Where `stage` goes and at which level. Called when the stage becomes ready, and again if it is
  // still queued when its partition stalls or the policy changes.
  virtual Placement Place(const StageView& stage, const Snapshot& snapshot) = 0;
  // Key by which a partition's queue is ordered: smaller goes first; ties by `sequence`.
  // `high` is compared before `low`.
  struct QueueKey {
    uint64_t high = 0;
    uint64_t low = 0;
  };
  virtual QueueKey Key(const StageView& stage, const Placement& placement) const = 0;
  // The gate that this policy brings along, whatever the overload mode; nullptr = none. Owned by
  // the policy.
  virtual const JobGate* gate() const { return nullptr; }
  // The partition that a task is bound to; asked when it registers and when its cost is first
  // learnt. `load` without the task. kNoPartition = none.
  virtual uint32_t Home(const TaskView&, std::span<const PartitionLoad>) const {
    return kNoPartition;
  }
};

struct PolicyRow {
  std::string_view name;
  std::string_view help;  // one line
  std::unique_ptr<Policy> (*make)(const PolicyOptions& options);
};

// THE list of policies, in the order that help shows.
std::span<const PolicyRow> PolicyTable();
// nullptr if there is none of that name.
std::unique_ptr<Policy> MakePolicy(std::string_view name, const PolicyOptions& options = {});
// "sgprs, naive, fifo, ..." for messages.
std::string_view PolicyNames();

}  // namespace sgprs::policy

#endif  // SGPRS_RUNTIME_POLICY_POLICY_H_
