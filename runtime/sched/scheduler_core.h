// SPDX-License-Identifier: Apache-2.0
// The one implementation of Scheduler. scheduler_core.cc: tasks, stage states, timers, views;
// scheduler_jobs.cc: jobs and stages; scheduler_decide.cc: placing and granting; scheduler_gate.cc:
// whether jobs start; scheduler_load.cc: utilisations and homes.
//
// Single-threaded, deterministic: every container it walks is ordered by values, never by
// addresses.
#ifndef SGPRS_RUNTIME_SCHED_SCHEDULER_CORE_H_
#define SGPRS_RUNTIME_SCHED_SCHEDULER_CORE_H_

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/sched/partition_state.h"
#include "runtime/sched/scheduler.h"
#include "runtime/sched/task_state.h"

namespace sgprs::sched {

class SchedulerCore final : public Scheduler {
 public:
  // `config` is valid (Scheduler::Make checks it).
  SchedulerCore(const SchedulerConfig& config, std::unique_ptr<policy::Policy> policy);

  Status AddProfile(const TaskProfile& profile) override;
  std::optional<TaskProfile> LearntProfile(TaskId task) const override;
  Result<TaskId> AddTask(const TaskConfig& config, uint64_t now_ns) override;
  void RemoveTask(TaskId task, uint64_t now_ns) override;
  void JobReleased(TaskId task, uint64_t job, uint64_t first_launch_ns, uint64_t now_ns) override {
    Release(task, job, std::nullopt, first_launch_ns, now_ns);
  }
  void JobReleasedAt(TaskId task, uint64_t job, uint64_t release_ns, uint64_t first_launch_ns,
                     uint64_t now_ns) override {
    Release(task, job, release_ns, first_launch_ns, now_ns);
  }
  void StageProgress(TaskId task, const StageReport& report, uint64_t now_ns) override;
  void JobClosed(TaskId task, uint64_t job, std::span<const uint64_t> launches,
                 uint64_t complete_ns, uint64_t now_ns) override;
  void Decide(uint64_t now_ns, std::vector<Grant>* grants) override;
  uint64_t NextWakeNs() const override;
  Status SetPolicy(std::string_view name, uint64_t now_ns) override;
  std::string_view policy_name() const override { return policy_name_; }
  void SetOverload(policy::OverloadMode mode, uint64_t now_ns) override;
  policy::OverloadMode overload() const override { return overload_; }
  std::vector<FinishedJob> TakeFinishedJobs() override;
  TaskView View(TaskId task) const override;
  PartitionStats Stats(uint32_t partition, uint64_t now_ns) const override;

 private:
  // Jobs and stages (scheduler_jobs.cc).
  void Release(TaskId task, uint64_t job, std::optional<uint64_t> release_ns,
               uint64_t first_launch_ns, uint64_t now_ns);
  void Advance(Task& task, uint64_t now_ns);
  void MakePlan(Task& task, Job& job);
  void StartStage(Task& task, Job& job, uint32_t index, uint64_t from, uint64_t now_ns);
  void BoundStage(const Task& task, Job& job) const;
  uint64_t EndOfStage(const Task& task, const Job& job, uint32_t index, uint64_t from) const;
  uint64_t OpenRange(const Task& task) const;
  void ExtendRange(Task& task, Job& job);
  void CompleteStage(Task& task, Job& job, uint64_t complete_ns, uint64_t gpu_ns);
  void ReportJob(Task& task, Job& job, uint64_t complete_ns);
  void MarkOffSignature(Task& task, Job& job);
  void WholeStage(Task& task, Job& job, const StageReport& report, uint64_t now_ns);
  void PartialStage(Task& task, Job& job, bool progress, const StageReport& report,
                    uint64_t now_ns);
  bool Over(const Job& job) const;
  void Retire(Task& task, uint64_t now_ns);
  void DropFront(Task& task, uint64_t now_ns);

  // The gate (scheduler_gate.cc).
  const policy::JobGate* GateOf(const Task& task) const;
  bool Paced(Task& task, uint64_t now_ns);
  void AskGate(Task& task, Job& job, uint64_t now_ns);
  void WaitAtGate(Task& task, Job& job, uint64_t until_ns);
  void LeaveGate(Task& task, Job& job);
  void Hold(Task& task, Job& job, uint64_t now_ns);
  void ShiftToNextRelease(Task& task, Job& job);
  void Admit(Task& task, Job& job, uint64_t now_ns);
  void MoveFront(const Task& task);
  int64_t GapNs(const Task& task) const;
  void RunGateTimers(uint64_t now_ns);
  void AdmitCandidates(uint64_t now_ns);
  void AskAllAnew(uint64_t now_ns);
  policy::JobView ViewJob(const Task& task, const Job& job, uint64_t now_ns) const;
  policy::GateSnapshot SnapshotForGate(uint64_t now_ns);
  uint64_t ExpectedResponseNs(const Task& task) const;
  void LearnResponse(Task& task, const Job& job, uint64_t complete_ns);

  // Utilisations and homes (scheduler_load.cc).
  struct LoadSums {
    int64_t tasks = 0;
    int64_t running = 0;
    int64_t high_ppb = 0;
    int64_t active_ppb = 0;
    int64_t overall_ppb = 0;
  };
  uint64_t CostOf(const Task& task) const;
  void CountLoad(const Task& task, int64_t sign);
  std::span<const policy::PartitionLoad> Loads();
  void SetRunning(Task& task, bool running);
  void Bind(Task& task, uint32_t home);
  void RefreshLoad(Task& task);
  void RefreshUtilisation(Task& task);
  void LearnBusy(Task& task, const JobRecord& record);
  void ChooseHome(Task& task);
  void ChooseHomes();

  // Stage states, slots, timers (scheduler_core.cc).
  Task* Find(TaskId task);
  const Task* Find(TaskId task) const;
  void SetStage(Task& task, Stage& stage, StageState to, uint64_t now_ns);
  void SetTimer(Task& task, Stage& stage, uint64_t at_ns, StageTimer timer);
  void ClearTimer(Task& task, Stage& stage);
  void ArmStallTimer(Task& task, Stage& stage, uint64_t now_ns);
  void RunTimers(uint64_t now_ns);
  void TimerFired(Task& task, uint64_t now_ns);
  void PlaceAnew(uint32_t partition, uint64_t now_ns);
  uint64_t Clock(uint64_t now_ns);  // never runs backwards

  // Placing and granting (scheduler_decide.cc).
  void PlaceReady(uint64_t now_ns);
  void Place(Task& task, Job& job, uint64_t now_ns);
  void Queue(Task& task, Job& job, const policy::StageView& view, policy::Placement placement,
             uint64_t now_ns);
  bool StealFor(uint32_t partition, uint64_t now_ns);
  void ViewPartitions(const Task& task, uint64_t now_ns);
  policy::StageView MakeView(const Task& task, const Job& job) const;
  uint64_t RelativeDeadlineNs(const Job& job) const;
  std::span<const uint64_t> StageCosts(const Task& task, const Job& job) const;
  uint32_t Corrected(const Task& task, const Job& job, uint32_t wanted) const;
  uint32_t SoundPartition(const std::vector<policy::PartitionView>& views, uint32_t except) const;
  void GrantFrom(uint32_t partition, uint64_t now_ns, std::vector<Grant>* grants);
  void GrantStage(Task& task, Job& job, bool above_capacity, uint64_t now_ns,
                  std::vector<Grant>* grants);
  bool WorkIsRecorded(const Job& job) const;
  Grant MakeGrant(const Task& task, const Job& job) const;

  const SchedulerConfig config_;
  const SizeClasses sizes_;
  const LearnerConfig learning_;
  std::string_view policy_name_;
  std::unique_ptr<policy::Policy> policy_;
  policy::PolicyTraits traits_;
  policy::OverloadMode overload_;
  const std::unique_ptr<policy::JobGate> hold_gate_;

  ProfileBook profiles_;
  std::vector<std::unique_ptr<Task>> tasks_;  // by id; empty = free
  std::set<TaskId> free_ids_;                 // below tasks_.size()
  std::vector<PartitionState> partitions_;
  std::vector<policy::PartitionView> views_;       // scratch of Place()
  std::deque<std::pair<TaskId, uint64_t>> ready_;  // (task, stage sequence); stale ones are skipped
  std::set<std::pair<uint64_t, TaskId>> timers_;   // of stages

  std::set<std::pair<uint64_t, TaskId>> gate_timers_;  // of jobs at the gate
  // Those of them who wait for room, by home; the last set: of tasks without one.
  std::vector<std::set<Candidate>> candidates_;
  uint32_t slots_ = 0;  // stages at once in all partitions
  uint32_t running_high_ = 0;
  uint32_t running_jobs_ = 0;  // admitted, not complete and in want of a slot; no best effort
  uint64_t last_hold_ns_ = 0;
  struct ClassAtGate {
    int64_t held_front_ns = 0;       // Task::held_ns of those who were admitted last
    double unmet_run = 0;            // releases in a row that had not been served of them before
    double caution = kLeastCaution;  // a response is taken to be so much longer than on average
  };
  static constexpr double kLeastCaution = 1.1;
  ClassAtGate& AtGate(const Task& task) { return at_gate_[task.config.task_class]; }
  const ClassAtGate& AtGate(const Task& task) const { return at_gate_[task.config.task_class]; }
  std::array<ClassAtGate, 3> at_gate_;
  std::vector<LoadSums> load_sums_;           // by partition, of the tasks bound to it
  std::vector<policy::PartitionLoad> loads_;  // scratch of Loads()
  int64_t high_share_ppb_ = 0;                // Task::share_ppb of the high class
  std::multiset<uint64_t> periods_ns_;        // of all periodic tasks
  std::vector<Grant> tail_grants_;            // of jobs closed before they were granted wholly
  std::vector<FinishedJob> finished_;
  uint64_t next_sequence_ = 1;
  uint64_t clock_ns_ = 0;
};

}  // namespace sgprs::sched

#endif  // SGPRS_RUNTIME_SCHED_SCHEDULER_CORE_H_
