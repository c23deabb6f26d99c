// SPDX-License-Identifier: Apache-2.0
// The scheduler core: what happened goes in, grants come out. Pure: no I/O, lock, thread, clock or
// log; every call takes `now_ns`. Runs in sgprsd and in virtual time. Sees neither lane nor loop:
// launches are counted from 0 within their job, the caller adds the lane's index.
//
// Life of a job: JobReleased -> Decide gives a grant for its first stage -> StageProgress (partial
// or whole) -> Decide grants the next ... -> the last stage's grant is open (upto = kOpen) -> the
// job is complete when its progress reaches the learnt length -> JobClosed when the next one
// begins.
//
// Learning (design.md 5; not with a profile): the first job runs in ranges as they come and gives
// the launch sequence; the next `learning_jobs` run cut into up to `learning_chunks` equal chunks,
// which measures where time goes; then the job is cut into `stages` stages of balanced time (fewer
// if they would be shorter than `min_stage_ns`). Per stage and partition the cost is the maximum of
// the last `window` measurements; what was never measured is scaled from a partition that was.
// `relearn_after` jobs in a row off the sequence start it again.
#ifndef SGPRS_RUNTIME_SCHED_SCHEDULER_H_
#define SGPRS_RUNTIME_SCHED_SCHEDULER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/policy/overload.h"
#include "runtime/policy/policy.h"
#include "sgprs/abi/abi.h"

namespace sgprs::sched {

using TaskId = uint32_t;
inline constexpr uint64_t kOpen = UINT64_MAX;

struct PartitionConfig {
  uint32_t sm_count = 0;
  uint32_t capacity = 0;  // stages at once; 0 = as the policy's options say
};

struct SchedulerConfig {
  std::vector<PartitionConfig> partitions;
  uint32_t device_sm_count = 0;
  std::string policy = "sgprs";
  policy::PolicyOptions options;
  policy::OverloadMode overload = policy::OverloadMode::kLate;
  // A job held so long starts whatever the gate says: a shim without a grant for 10 s grants
  // itself.
  uint64_t max_hold_ns = 5'000'000'000;
  uint32_t max_tasks = SGPRS_MAX_TASKS;
  uint32_t stages = 6;
  uint32_t window = 5;
  uint32_t learning_jobs = 2;
  uint32_t learning_chunks = 24;
  uint32_t relearn_after = 3;
  uint64_t min_stage_ns = 20'000;
  bool force_switch = false;  // every stage in another partition than its predecessor (tests)
  // Every job wholly in one partition, the next job in the next one: so that each stage is measured
  // in each size (`sgprs profile`).
  bool sweep = false;

  // Jobs whose length is not known, and what a task without a period does beyond it, are granted in
  // ranges of about `open_grant_ns` of work, at most `max_open_launches` launches each (README.md).
  uint32_t max_open_launches = 256;
  uint64_t open_grant_ns = 5'000'000;
  // A granted stage whose issued launches are all complete gives its slot back after this long; its
  // grant stays valid (README.md, "Parked and stalled").
  uint64_t park_after_ns = 1'000'000;
  // A stage with work outstanding and no report for max(stall_factor * cost, stall_min_ns) is
  // stalled: its partition takes no new stages while another one is sound.
  uint32_t stall_factor = 10;
  uint64_t stall_min_ns = 1'000'000'000;
  // A stage queued for longer than this is granted above capacity, one at a time per partition.
  uint64_t max_wait_ns = 1'000'000'000;
};

// What is known of a task before it runs (design.md 5: an offline profile).
struct TaskProfile {
  struct Cost {
    uint32_t sm_count = 0;
    uint64_t ns = 0;
  };
  struct Stage {
    uint64_t end = 0;         // launches of the job before its end; rising
    std::vector<Cost> costs;  // by size of partition, at least one; other sizes are scaled
  };
  std::vector<uint64_t> launches;  // identities, as in JobClosed; its size is the job's length
  std::vector<Stage> stages;       // at most SGPRS_MAX_STAGES; the last ends at the length
};

// The key of a launch sequence: a hash of the identities in order.
uint64_t SignatureOf(std::span<const uint64_t> launches);

struct TaskConfig {
  std::string name;
  SgprsTaskClass task_class = SGPRS_CLASS_LOW;
  uint64_t period_ns = 0;              // 0 = not periodic
  uint64_t deadline_ns = 0;            // relative, 0 = period_ns; both 0 = no deadline
  std::optional<TaskProfile> profile;  // with it nothing is to be learnt first
};

// Launches [from, upto) of the job may be issued on `partition`.
struct Grant {
  TaskId task = 0;
  uint64_t job = 0;
  uint32_t stage = 0;
  uint32_t stage_count = 1;
  uint64_t from = 0;
  uint64_t upto = kOpen;
  uint32_t partition = 0;
  SgprsLevel level = SGPRS_LEVEL_LOW;
  bool learning = false;
  bool switched = false;
  uint64_t virtual_deadline_ns = policy::kNoDeadline;
};

struct StageReport {
  uint64_t job = 0;
  uint32_t stage = 0;
  uint32_t partition = 0;
  uint64_t done = 0;    // launches of the job complete
  bool whole = false;   // the grant's range is complete (never for an open grant)
  uint64_t gpu_ns = 0;  // 0 = unknown
  uint64_t complete_ns = 0;
  // Launches of the job recorded by now, 0 = unknown. Tells a stage that waits for the GPU from one
  // that waits for its application. A report that is not `whole` says that all launches issued so
  // far are complete; a caller may make one up when it sees that from the lane's cursors.
  uint64_t recorded = 0;
};

// A job that is complete; handed out by TakeFinishedJobs() once, when its progress reaches the
// learnt length or, failing that, when it is closed.
struct FinishedJob {
  TaskId task = 0;
  uint64_t job = 0;
  uint64_t release_ns = 0;
  uint64_t first_launch_ns = 0;
  uint64_t deadline_ns = policy::kNoDeadline;  // absolute
  uint64_t complete_ns = 0;
  uint32_t stages = 0;
  uint32_t stages_late = 0;
  uint32_t switches = 0;
  // Whole periods without a release before this job; `held_periods` of them because it was held:
  // its launches were recorded for an earlier release and ran for this one.
  uint64_t skipped_periods = 0;
  uint64_t held_periods = 0;
  bool off_signature = false;  // as far as known by then; TaskView counts all of them
  bool on_time = true;
};

// (m,k) history (README.md, "Hold"): a window is kWindowSlots consecutive releases.
inline constexpr uint32_t kWindowSlots = 10;

struct TaskView {
  bool scheduled = false;   // stages are cut
  bool profiled = false;    // by a profile, and not learnt anew since
  uint64_t signature = 0;   // of the sequence learnt, 0 = none yet
  uint64_t generation = 0;  // another one: the sequence was learnt anew
  uint32_t stages = 0;
  uint64_t job_launches = 0;  // learnt length, 0 = unknown
  uint64_t cost_ns = 0;       // of a whole job in the largest partition
  uint32_t partition = 0;
  uint32_t level = 0;
  uint64_t stages_completed = 0;
  uint64_t stages_late = 0;
  uint64_t switches = 0;
  uint64_t jobs_off_signature = 0;
  uint64_t jobs_held = 0;     // times that a job was held to its next release
  uint64_t longest_hold = 0;  // most releases in a row that were held
  // Fewest jobs that ran on time in any window of kWindowSlots releases; kWindowSlots until one is
  // full.
  uint32_t worst_window = kWindowSlots;
  uint64_t response_ns = 0;  // of one job: the sum of its stages' times; 0 = unknown
  uint64_t service_ns = 0;   // of one job: that divided by the stages that the pool runs at once
};

struct PartitionStats {
  uint32_t running = 0;
  uint32_t queued = 0;
  uint64_t busy_ns = 0;
  uint64_t stages_completed = 0;
  uint64_t switches_in = 0;
  uint32_t parked = 0;   // granted, idle, not counted in `running`
  uint32_t stalled = 0;  // over the stall bound, not counted in `running`
};

class Scheduler {
 public:
  // Errors: no such policy, no partition, a value out of range; the text names it.
  static Result<std::unique_ptr<Scheduler>> Make(const SchedulerConfig& config);
  virtual ~Scheduler() = default;

  // Profiles by signature (SignatureOf): a task whose job turns out to have one is scheduled by it
  // from its next job on, with nothing to be learnt. One of the same signature is replaced. Error
  // kInvalid: the text names what does not fit.
  virtual Status AddProfile(const TaskProfile& profile) = 0;
  // What was learnt of a task, `launches` left empty; stages with the costs that were measured.
  // nullopt: it is not scheduled in stages.
  virtual std::optional<TaskProfile> LearntProfile(TaskId task) const = 0;

  // Tasks. Ids are reused after RemoveTask. RemoveTask forgets all its jobs and queue entries at
  // once.
  virtual Result<TaskId> AddTask(const TaskConfig& config, uint64_t now_ns) = 0;
  virtual void RemoveTask(TaskId task, uint64_t now_ns) = 0;

  // The first launch of `job` was recorded at `first_launch_ns`. Release and deadline: with a
  // period the release is the point of the task's grid (release_grid.h), else the first launch.
  // Closes an earlier job that is still open, as soon as what is known of it is complete; until
  // then the new one waits. What such a job was not granted yet is granted openly first, so that
  // grants stay in program order.
  // Under kHold (and `daris`) a periodic job may get no grant until a later release of its task: it
  // then counts as that release's job, with its deadline. A process that was held presents its next
  // jobs early; while the pool is overloaded they are the next release's and wait for it.
  virtual void JobReleased(TaskId task, uint64_t job, uint64_t first_launch_ns,
                           uint64_t now_ns) = 0;
  // The same where the release is known (a stamp of the kernel: runtime/kernel), at most
  // `first_launch_ns`: the job was released then, and the task's grid goes through it.
  virtual void JobReleasedAt(TaskId task, uint64_t job, uint64_t release_ns,
                             uint64_t first_launch_ns, uint64_t now_ns) = 0;
  virtual void StageProgress(TaskId task, const StageReport& report, uint64_t now_ns) = 0;
  // All launches of the job are known: their identities (kernel, kind, stream hashed) in order.
  // `complete_ns`: when the last of them completed. A lost sequence is empty and teaches nothing.
  virtual void JobClosed(TaskId task, uint64_t job, std::span<const uint64_t> launches,
                         uint64_t complete_ns, uint64_t now_ns) = 0;

  // Places what is ready and appends what may start now. The caller publishes each; a grant that it
  // can not publish is its to keep and retry. O(log n) a decision.
  virtual void Decide(uint64_t now_ns, std::vector<Grant>* grants) = 0;
  // When Decide() must be called again even if nothing happens (parking, stalls, long waits);
  // UINT64_MAX = never. Later is harmless but for the delay.
  virtual uint64_t NextWakeNs() const = 0;

  // Swaps the policy, options as configured: queued stages are placed anew, running ones finish
  // where they are.
  virtual Status SetPolicy(std::string_view name, uint64_t now_ns) = 0;
  virtual std::string_view policy_name() const = 0;
  // What happens from the next release on; jobs that wait start at once under kLate.
  virtual void SetOverload(policy::OverloadMode mode, uint64_t now_ns) = 0;
  virtual policy::OverloadMode overload() const = 0;

  virtual std::vector<FinishedJob> TakeFinishedJobs() = 0;
  virtual TaskView View(TaskId task) const = 0;
  virtual PartitionStats Stats(uint32_t partition, uint64_t now_ns) const = 0;
};

}  // namespace sgprs::sched

#endif  // SGPRS_RUNTIME_SCHED_SCHEDULER_H_
