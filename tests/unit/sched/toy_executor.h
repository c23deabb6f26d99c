// SPDX-License-Identifier: Apache-2.0
// Processes and a GPU in virtual time, just real enough to drive the scheduler: processes record
// launches, partitions run granted ones and share themselves among what runs in them. Checks on the
// way what must hold for every schedule; Violations() has what did not.
#ifndef SGPRS_TESTS_UNIT_SCHED_TOY_EXECUTOR_H_
#define SGPRS_TESTS_UNIT_SCHED_TOY_EXECUTOR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/sched/scheduler.h"

namespace sgprs::sched {

inline constexpr uint64_t kMs = 1'000'000;
inline constexpr uint64_t kNever = UINT64_MAX;

// When the executor tells JobClosed.
enum class Closing { kAtCompletion, kBeforeNextRelease, kAfterNextRelease };

struct ToyProcess {
  TaskConfig config;
  uint64_t phase_ns = 0;
  std::vector<uint64_t> launch_ns;  // each alone on the whole device
  uint64_t record_gap_ns = 0;       // between two launches; 0 = all at once
  uint64_t jobs = kNever;
  bool endless = false;  // one job that repeats `launch_ns` for ever
  // Launch times of job n if they differ; identities differ with them.
  std::function<std::vector<uint64_t>(uint64_t job)> vary;
  uint64_t hang_job = kNever;  // its launch `hang_launch` never ends
  uint64_t hang_launch = 0;
  uint64_t killed_ns = kNever;
};

class ToyExecutor {
 public:
  explicit ToyExecutor(const SchedulerConfig& config, Closing closing = Closing::kAtCompletion);

  // Its task id is fixed when the phase has passed and it registers.
  size_t Add(const ToyProcess& process);
  void RunUntil(uint64_t end_ns);

  Scheduler& scheduler() { return *scheduler_; }
  uint64_t now_ns() const { return now_ns_; }
  const std::vector<Grant>& grants() const { return grants_; }
  const std::vector<FinishedJob>& finished() const { return finished_; }
  std::vector<FinishedJob> FinishedOf(size_t process) const;
  uint64_t launches_done(size_t process) const { return processes_[process].launches_done; }
  TaskId task(size_t process) const { return processes_[process].task; }
  const std::vector<std::string>& violations() const { return violations_; }
  // From a job's first launch to its first grant, the longest of a process since `from_ns`.
  uint64_t WorstFirstGrantNs(size_t process, uint64_t from_ns) const;
  // Everything that was decided, a line a grant.
  std::string Log() const;

 private:
  struct Process {
    ToyProcess spec;
    bool registered = false;
    bool gone = false;
    TaskId task = 0;
    uint64_t job = 0;  // 0 = none yet
    bool in_job = false;
    uint64_t first_launch_ns = 0;
    uint64_t next_release_ns = 0;
    uint64_t complete_ns = 0;
    std::vector<uint64_t> launches;  // of this job
    uint64_t done = 0;
    uint64_t left_ns = 0;  // of the launch that runs, at full speed alone
    bool left_known = false;
    bool idle_reported = false;
    Grant grant;
    bool granted = false;
    uint64_t granted_upto = 0;
    bool close_pending = false;
    uint64_t launches_done = 0;
    std::vector<std::pair<uint64_t, uint64_t>> first_grants;  // (first launch, waited)
  };

  uint64_t Recorded(const Process& p) const;
  uint64_t NextRecordNs(const Process& p) const;
  bool Runs(const Process& p) const;
  bool Hangs(const Process& p) const;
  double Rate(const Process& p, const std::vector<uint32_t>& active) const;
  std::vector<uint32_t> ActivePerPartition() const;
  uint64_t LaunchNs(const Process& p, uint64_t index) const;
  uint64_t NextEventNs();
  void Progress(uint64_t to_ns);
  void Deliver();
  void LaunchDone(Process& p);
  void Report(Process& p, bool whole);
  void JobDone(Process& p);
  void Close(Process& p);
  void StartJob(Process& p);
  void Kill(Process& p);
  void Decide();
  void TakeGrant(const Grant& grant);
  void Violation(const Grant& grant, const std::string& what);

  const SchedulerConfig config_;
  const Closing closing_;
  std::unique_ptr<Scheduler> scheduler_;
  std::vector<Process> processes_;
  std::map<TaskId, size_t> by_task_;
  std::vector<Grant> grants_;
  std::vector<uint64_t> grant_times_;
  std::vector<FinishedJob> finished_;
  std::vector<std::string> violations_;
  uint64_t now_ns_ = 0;
};

// A pool like the paper's second scenario: three partitions of 34 of 68 SMs.
SchedulerConfig PaperPool(const std::string& policy);
// A periodic process of `launches` equal launches, `work_ns` together on the whole device.
ToyProcess Periodic(const std::string& name, uint64_t period_ns, uint64_t work_ns,
                    uint64_t launches = 48, SgprsTaskClass task_class = SGPRS_CLASS_LOW);
ToyProcess Flood(const std::string& name, uint64_t launch_ns);

}  // namespace sgprs::sched

#endif  // SGPRS_TESTS_UNIT_SCHED_TOY_EXECUTOR_H_
