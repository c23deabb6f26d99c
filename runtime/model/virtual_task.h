// SPDX-License-Identifier: Apache-2.0
// One application in virtual time: a periodic loop that releases a job, launches its kernels, waits
// for the device and goes back to sleep; with the book of what became of its frames.
//
// Releases are the points phase + k * period, each late by a draw of jitter. A job that ends late
// follows the paper's rule (facts/papers.md 1.1): if it is late by more than a whole period, whole
// periods are skipped until the next release is less than one period behind; else the next job
// starts at once, already late, and keeps its deadline.
//
// Pure, not thread-safe; owned by the engine.
#ifndef SGPRS_RUNTIME_MODEL_VIRTUAL_TASK_H_
#define SGPRS_RUNTIME_MODEL_VIRTUAL_TASK_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/model/job_work.h"
#include "runtime/model/random.h"
#include "runtime/model/scenario.h"
#include "runtime/model/sim_result.h"
#include "runtime/sched/scheduler.h"

namespace sgprs::model {

// The counted part of a run.
struct CountedWindow {
  uint64_t from_ns = 0;
  uint64_t to_ns = 0;
  bool Has(uint64_t release_ns) const { return release_ns >= from_ns && release_ns < to_ns; }
};

class VirtualTask {
 public:
  // `spec` outlives it.
  VirtualTask(const TaskSpec& spec, std::unique_ptr<JobWork> work, const CountedWindow& window,
              Random random);

  // Application. Goes to the next job as seen at `now_ns` (the application is back from the one
  // before). Returns when the job is released, at or after `now_ns`; UINT64_MAX = no more jobs.
  uint64_t NextJob(uint64_t now_ns);
  // The present job begins: its first launch is recorded at `now_ns`.
  void Begin(uint64_t now_ns);
  // Its last launch is complete. It is booked when the scheduler says for which release it ran.
  void Complete(uint64_t now_ns);
  // `release_ns`: of the frame that the job was for in the end, if the scheduler moved it to a
  // later one. Returns the row, of a job that was completed and not booked yet.
  JobRow Book(uint64_t job, std::optional<uint64_t> release_ns);

  uint64_t job() const { return job_; }  // counted from 1
  bool in_job() const { return in_job_; }
  uint64_t first_launch_ns() const { return first_launch_ns_; }
  // When launch `index` of the present job is recorded at the earliest.
  uint64_t RecordedNs(uint64_t index, uint64_t launch_ns) const {
    return first_launch_ns_ + index * launch_ns;
  }
  uint64_t RecordedBy(uint64_t now_ns, uint64_t launch_ns) const;

  JobWork& work() { return *work_; }
  const JobWork& work() const { return *work_; }
  const TaskSpec& spec() const { return spec_; }

  // Filled by the engine as grants come and launches are issued.
  sched::TaskId id = 0;
  bool admitted = true;
  std::deque<sched::Grant> grants;         // published, the first is being worked off
  std::deque<sched::Grant> coming;         // on their way to the application
  std::deque<sched::StageReport> reports;  // on their way to the scheduler
  uint64_t last_coming_ns = 0;
  uint64_t issued = 0;      // launches of the present job that went to the device
  bool running = false;     // a piece is on the device
  uint64_t piece_upto = 0;  // its end
  uint64_t ready_ns = 0;    // since when the next stage could run
  uint64_t stage_start_ns = 0;
  uint64_t granted_ns = 0;
  uint64_t first_grant_ns = 0;

  // What became of the counted frames. Call once, at the end of the run.
  TaskResult Result();

 private:
  uint64_t Nominal(uint64_t slot) const;
  uint64_t Deadline() const { return spec_.deadline_ns != 0 ? spec_.deadline_ns : spec_.period_ns; }
  uint64_t SlotAt(uint64_t release_ns) const;
  void Count(const JobRow& row, uint64_t slot);
  void FillWindows(TaskResult* result) const;

  const TaskSpec& spec_;
  std::unique_ptr<JobWork> work_;
  const CountedWindow window_;
  Random random_;
  uint64_t phase_ns_ = 0;

  uint64_t job_ = 0;
  uint64_t slot_ = 0;  // release that the application works for
  bool in_job_ = false;
  uint64_t first_launch_ns_ = 0;

  struct Unbooked {
    JobRow row;
    uint64_t slot = 0;
  };
  std::deque<Unbooked> unbooked_;
  uint64_t first_slot_ = 0;       // of the window
  std::vector<uint8_t> on_time_;  // per counted slot
  std::vector<uint64_t> response_ns_;
  uint64_t moved_ = 0;
  uint64_t on_time_jobs_ = 0;
  uint64_t last_on_time_ns_ = 0;
  uint64_t longest_gap_ns_ = 0;
};

}  // namespace sgprs::model

#endif  // SGPRS_RUNTIME_MODEL_VIRTUAL_TASK_H_
