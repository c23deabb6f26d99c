// SPDX-License-Identifier: Apache-2.0
// Puts a job's record together: what the kernel probes, the lane, the scheduler and the completions
// told of it, and what held it. Records go to the job log and into histograms.
//
// A job's record waits until its thread's next wait told what it did meanwhile (kPatienceNs at
// most). Thread: the loop's. Nothing blocks but Add() and Remove() (kernel/probes.h: the first and
// the last attach and detach). Memory: per client kMostWaiting jobs; per partition kKeptStages.
#ifndef SGPRS_RUNTIME_RECORDER_JOB_RECORDER_H_
#define SGPRS_RUNTIME_RECORDER_JOB_RECORDER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/base/unique_fd.h"
#include "runtime/completion/grant_book.h"
#include "runtime/kernel/probes.h"
#include "runtime/kernel/release_watch.h"
#include "runtime/observe/job_log.h"
#include "runtime/observe/job_phases.h"
#include "runtime/sched/scheduler.h"

namespace sgprs::recorder {

class JobRecorder {
 public:
  static constexpr uint64_t kPatienceNs = 250'000'000;
  static constexpr size_t kMostWaiting = 16;
  static constexpr size_t kKeptStages = 64;
  static constexpr uint64_t kHeldAtLeastNs = 20'000;  // less than this is nobody's fault

  // `probes` outlives this object. `log`: null = none is written.
  JobRecorder(kernel::Probes* probes, std::unique_ptr<observe::JobLog> log);
  ~JobRecorder();

  struct Task {
    uint64_t client_id = 0;
    std::string name;
    std::string program;
    uint32_t pid = 0;
    uint32_t task_class = 0;
    uint64_t period_ns = 0;
    uint64_t deadline_ns = 0;  // relative
    uint64_t joined_ns = 0;
    SgprsReleaseRule rule = SGPRS_RELEASE_FIRST_LAUNCH;
    UniqueFd pidfd;  // not valid: its threads are not followed
  };
  // Errors are the probes' (the task is recorded without stamps then); never fatal.
  Status Add(Task task);
  void Remove(uint64_t client_id, uint64_t now_ns);

  // The release of the job whose first launch was recorded at `first_launch_ns`; call once per job,
  // rising. Reads the probes' ring. Not exact: the first launch, which the scheduler may move to
  // the task's grid.
  struct Release {
    uint64_t release_ns = 0;
    bool exact = false;
  };
  Release Released(uint64_t client_id, uint64_t job, uint64_t first_launch_ns);
  void StageEnded(uint64_t client_id, const completion::StageRecord& stage);
  // After the last of its stages.
  void Finished(uint64_t client_id, const sched::FinishedJob& job, uint64_t now_ns);
  // At least every 100 ms, and when the probes' ring is half full.
  void Tick(uint64_t now_ns);

  observe::JobLog* log() { return log_.get(); }
  const kernel::Probes& probes() const { return *probes_; }
  // nullptr: unknown client.
  const observe::PhaseHistograms* Phases(uint64_t client_id) const;
  // Of all clients, gone ones too.
  kernel::WakeCounts WakeTotals() const;

 private:
  struct Waiting {
    SgprsLogJob job;
    std::vector<SgprsLogStage> stages;
    uint64_t since_ns = 0;
  };
  struct Client {
    Task task;
    kernel::ReleaseWatch watch;
    bool registered = false;
    uint64_t last_release_ns = 0;
    uint64_t last_complete_ns = 0;
    uint64_t last_finished = 0;
    std::unordered_map<uint64_t, uint64_t> first_launch_ns;  // of jobs not finished
    std::map<uint64_t, std::vector<SgprsLogStage>> stages;   // of jobs not finished
    std::deque<Waiting> waiting;
    observe::PhaseHistograms phases;
  };
  struct Occupancy {
    uint64_t client_id;
    uint64_t from_ns;
    uint64_t to_ns;
  };

  void Drain();
  SgprsLogJob Begin(const Client& client, const sched::FinishedJob& finished) const;
  void FillWake(const Client& client, SgprsLogJob* job) const;
  void FillHeld(const Client& client, const sched::FinishedJob& finished,
                std::vector<SgprsLogStage>* stages, SgprsLogJob* job) const;
  // Who else was in the partition longest in [from, to); 0 = nobody.
  uint64_t Occupant(uint32_t partition, uint64_t client_id, uint64_t from, uint64_t to) const;
  // Writes what need not wait any longer.
  void Settle(Client* client, uint64_t now_ns, bool all);
  void Write(Client* client, Waiting* waiting);

  kernel::Probes* const probes_;
  const std::unique_ptr<observe::JobLog> log_;
  std::unordered_map<uint64_t, std::unique_ptr<Client>> clients_;
  std::map<uint32_t, std::deque<Occupancy>> occupied_;  // by partition
  kernel::WakeCounts gone_;
};

}  // namespace sgprs::recorder

#endif  // SGPRS_RUNTIME_RECORDER_JOB_RECORDER_H_
