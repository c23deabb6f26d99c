// SPDX-License-Identifier: Apache-2.0
// A policy: pure functions over a snapshot. No I/O, lock, thread, clock or log. The same object
// runs in sgprsd and in the virtual-time simulator.
//
// The scheduler core (runtime/sched) owns tasks, jobs, queues and estimates; a policy answers three
// questions: where does a ready stage go, at which level, and who goes first in a partition's
// queue. To add one: a file here with the class, and a row in policy_table.cc. Names, help and
// tests come from the table.
#ifndef SGPRS_RUNTIME_POLICY_POLICY_H_
#define SGPRS_RUNTIME_POLICY_POLICY_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

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
  uint64_t release_ns = 0;             // of the job, absolute
  uint64_t deadline_ns = kNoDeadline;  // of the job, absolute
  uint64_t virtual_deadline_ns = kNoDeadline;  // of the stage, absolute
  uint32_t previous_partition = kNoPartition;  // where the task's stage before it ran
  uint64_t sequence = 0;                       // order in which stages became ready
  std::span<const uint64_t> cost_ns;           // estimated time, one entry a partition
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
  std::span<const PartitionView> partitions;
};

struct Placement {
  uint32_t partition = 0;
  SgprsLevel level = SGPRS_LEVEL_LOW;
};

// What a partition with nothing to do may take from the queue of another one.
enum class Stealing : uint8_t { kNothing, kBestEffort, kEverything };

// What a policy wants of the scheduler core.
struct PolicyTraits {
  bool staged = true;           // false: a job is one stage
  bool full_size_pool = false;  // true: meant for partitions of the whole device
  bool bounded = true;          // false: a partition takes every stage at once, capacity or not
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
};

struct PolicyRow {
  std::string_view name;
  std::string_view help;  // one line
  std::unique_ptr<Policy> (*make)();
};

// THE list of policies, in the order that help shows.
std::span<const PolicyRow> PolicyTable();
// nullptr if there is none of that name.
std::unique_ptr<Policy> MakePolicy(std::string_view name);
// "sgprs, naive, fifo, ..." for messages.
std::string_view PolicyNames();

}  // namespace sgprs::policy

#endif  // SGPRS_RUNTIME_POLICY_POLICY_H_
