// SPDX-License-Identifier: Apache-2.0
// A task with its jobs, as the scheduler core keeps them. Plain data; scheduler_core.h owns and
// changes it.
#ifndef SGPRS_RUNTIME_SCHED_TASK_STATE_H_
#define SGPRS_RUNTIME_SCHED_TASK_STATE_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "runtime/policy/policy.h"
#include "runtime/sched/learner.h"
#include "runtime/sched/partition_state.h"
#include "runtime/sched/release_grid.h"
#include "runtime/sched/scheduler.h"
#include "runtime/sched/slot_history.h"
#include "runtime/sched/stage_state.h"

namespace sgprs::sched {

// What happens when a stage's timer fires.
enum class StageTimer : uint8_t { kPark, kStall, kPlace };

// The one stage of a job that is in flight.
struct Stage {
  StageState state = StageState::kNone;
  uint32_t index = 0;
  uint64_t from = 0;
  uint64_t upto = kOpen;
  uint64_t ready_ns = 0;
  uint64_t virtual_deadline_ns = policy::kNoDeadline;
  uint64_t sequence = 0;

  // Since it was placed.
  uint32_t partition = policy::kNoPartition;
  SgprsLevel level = SGPRS_LEVEL_LOW;
  QueueEntry entry;

  // Since it was granted.
  uint64_t granted_ns = 0;
  bool above_capacity = false;
  bool idle = false;      // reported: all that was issued is complete
  uint64_t timer_ns = 0;  // 0 = none
  StageTimer timer = StageTimer::kStall;
  bool released = false;  // the policy's not_before_ns has passed

  bool granted() const {
    return state == StageState::kRunning || state == StageState::kParked ||
           state == StageState::kStalled;
  }
};

// A job that waits for room, in the order of its gate.
struct Candidate {
  policy::JobGate::Key key;
  uint64_t sequence = 0;
  TaskId task = 0;
  size_t set = 0;  // of SchedulerCore::candidates_

  friend bool operator<(const Candidate& a, const Candidate& b) {
    if (a.key.high != b.key.high) return a.key.high < b.key.high;
    if (a.key.low != b.key.low) return a.key.low < b.key.low;
    return a.sequence < b.sequence;
  }
};

struct Job {
  uint64_t id = 0;
  JobState state = JobState::kWaiting;
  uint64_t release_ns = 0;
  uint64_t first_launch_ns = 0;
  uint64_t deadline_ns = policy::kNoDeadline;
  uint64_t skipped_periods = 0;

  // At the gate.
  uint64_t asked_ns = 0;     // first, 0 = never
  uint64_t admitted_ns = 0;  // 0 = not yet
  uint64_t held_periods = 0;
  uint64_t gate_timer_ns = 0;          // 0 = none: when its state at the gate changes by itself
  uint64_t held_until_ns = 0;          // 0 = not held; a release of its task
  std::optional<Candidate> candidate;  // among those who wait for room

  // The plan, fixed when the job becomes active (or when the policy changes before its first
  // grant).
  JobRecord record;                            // kind, generation, measurements
  uint64_t length = 0;                         // learnt, 0 = unknown
  std::vector<uint64_t> ends;                  // of the stages; empty = unknown
  std::vector<uint64_t> virtual_deadlines_ns;  // absolute, one a stage; empty = none

  Stage stage;
  uint64_t granted_upto = 0;  // launches granted so far
  uint64_t done = 0;          // launches reported complete
  uint64_t recorded = 0;      // as last reported, 0 = unknown
  uint64_t last_complete_ns = 0;
  bool predecessor_late = false;
  bool off_signature = false;
  bool reported = false;  // handed out as FinishedJob
  uint32_t stages = 0;
  uint32_t stages_late = 0;
  uint32_t switches = 0;
};

// A job that is over but was not closed by the caller yet: it may still teach.
struct RetiredJob {
  uint64_t id = 0;
  JobRecord record;
  bool off_signature = false;
};

struct Task {
  Task(TaskId id, const TaskConfig& config, const LearnerConfig& learning, const SizeClasses* sizes,
       const ProfileBook* profiles)
      : id(id), config(config), learner(learning, sizes, profiles) {
    if (config.period_ns != 0) grid.emplace(config.period_ns);
  }

  TaskId id;
  const TaskConfig config;
  Learner learner;
  std::optional<ReleaseGrid> grid;
  std::deque<Job> jobs;              // the first is active, the others wait for it
  std::deque<RetiredJob> retired;    // at most kMaxRetired, oldest first
  std::optional<uint64_t> last_job;  // id of the latest released
  uint64_t last_complete_ns = 0;
  uint64_t open_launch_ns = 0;  // time of one launch in open ranges, 0 = unknown
  uint32_t last_partition = policy::kNoPartition;
  SlotHistory history;

  // Load (scheduler_load.cc): what of this task is in the sums of its home.
  uint32_t home = policy::kNoPartition;
  bool home_by_cost = false;     // chosen since the cost was learnt
  uint64_t utilisation_ppb = 0;  // cost of a job in its home / period; 0 = unknown
  uint64_t share_ppb = 0;        // of all slots: cost in the largest partition / period / slots
  bool running = false;          // its job is admitted and wants a slot

  // The gate (scheduler_gate.cc).
  bool displaced = false;  // was held, so its process presents jobs early
  int64_t held_ns = 0;     // frames not served on time * period, against ClassAtGate::held_front_ns
  uint64_t response_ns = 0;  // admission to completion, smoothed; 0 = unknown
  uint64_t busy_ns = 0;      // sum of a job's stage times, smoothed; 0 = unknown
  SgprsLevel last_level = SGPRS_LEVEL_LOW;

  uint64_t stages_completed = 0;
  uint64_t stages_late = 0;
  uint64_t switches = 0;
  uint64_t jobs_off_signature = 0;

  bool best_effort() const { return config.task_class == SGPRS_CLASS_BEST_EFFORT; }
};

}  // namespace sgprs::sched

#endif  // SGPRS_RUNTIME_SCHED_TASK_STATE_H_
