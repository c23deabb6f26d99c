// SPDX-License-Identifier: Apache-2.0
// One registered process: its lane, its task in the scheduler, what it has recorded, been granted
// and completed, and its row in the state segment.
//
// Thread: the loop's. Nothing blocks.
#ifndef SGPRS_RUNTIME_CLIENT_H_
#define SGPRS_RUNTIME_CLIENT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/admission.h"
#include "runtime/base/result.h"
#include "runtime/completion/grant_book.h"
#include "runtime/ingress/control_server.h"
#include "runtime/ingress/job_tracker.h"
#include "runtime/ingress/peer.h"
#include "runtime/lane/lane_owner.h"
#include "runtime/loop/loop.h"
#include "runtime/recorder/job_recorder.h"
#include "runtime/sched/scheduler.h"
#include "sgprs/abi/control.h"
#include "sgprs/abi/state.h"

namespace sgprs::runtime {

class Client {
 public:
  // Makes the lane. Errors: kExhausted, kInternal. `row`: its row in the state segment.
  static Result<std::unique_ptr<Client>> Make(ingress::ConnectionId id, const ingress::Peer& peer,
                                              const SgprsHello& hello, uint32_t row,
                                              uint64_t now_ns);

  // The client has built its partitions: from now on it is `task` of `scheduler`, which outlives
  // it.
  void Start(sched::Scheduler* scheduler, sched::TaskId task, SgprsBackend backend,
             bool force_switch);
  // Asks `recorder` for the release of each job from now on; it outlives this object.
  void SetRecorder(recorder::JobRecorder* recorder) { recorder_ = recorder; }
  bool started() const { return scheduler_ != nullptr; }
  // From now on it keeps what a profile is made of.
  void KeepForProfile();

  // Reads the lane and tells the scheduler. Error kInvalid: the client broke the lane's rules and
  // is to be cut.
  Status Process(uint64_t now_ns);
  // At least every 250 ms: heartbeat, and what no bell told.
  Status Tick(uint64_t now_ns);
  // A decision of the scheduler.
  void Grant(const sched::Grant& grant, uint64_t now_ns);
  // A finished job of this task.
  void NoteFinished(const sched::FinishedJob& job);
  // The process is over: reads the lane a last time and closes the last job if it is complete.
  void Finish(uint64_t now_ns);

  sched::TaskConfig TaskConfig() const;
  // What a profile needs beside the scheduler's view, after KeepForProfile().
  struct Observed {
    std::vector<SgprsSlot> slots;        // of a job that has the learnt signature
    std::vector<uint64_t> identities;    // of the same launches
    std::vector<uint64_t> intervals_ns;  // between first launches, the latest kMostIntervals
  };
  const Observed& observed() const { return observed_; }
  sched::TaskView View() const { return started() ? scheduler_->View(task_) : sched::TaskView(); }
  // Contents of its row. Learnt settings are written to the lane on the way.
  const SgprsTaskRow& UpdateRow();
  // As it asked; nullopt: as configured.
  std::optional<SgprsReleaseRule> release_rule() const { return release_rule_; }
  const SgprsTaskRow& MarkGone() {
    row_.state = SGPRS_TASK_GONE;
    return row_;
  }
  std::vector<completion::StageRecord> TakeEndedStages() { return book_->TakeEnded(); }

  ingress::ConnectionId id() const { return id_; }
  uint32_t row_index() const { return row_index_; }
  sched::TaskId task() const { return task_; }
  lane::LaneOwner* lane() { return lane_.get(); }
  const lane::LaneOwner* lane() const { return lane_.get(); }
  uint64_t recorded() const { return lane_->cursors().recorded; }
  const std::string& name() const { return name_; }  // fit for a log line
  uint32_t pid() const { return row_.pid; }
  std::string program() const { return row_.program; }

  // What it needs, as far as learnt.
  policy::TaskDemand Demand() const;
  // True once, when its cost has become credible (Admission::kJobsBeforeJudgement).
  bool TakeJustLearnt();
  // It does not fit and stays: said in the log and in its row.
  void WarnOfAdmission(const std::string& why);
  // "resnet18 (pid 12, client 3)".
  std::string Describe() const;

  // The daemon's: its watch on the lane's bell, whether its row waits to be written, and for which
  // learning (TaskView::generation) it told the job log of its stages, or tried to.
  loop::WatchId bell = 0;
  bool dirty = false;
  uint64_t named_generation = 0;
  uint32_t naming_tries = 0;

 private:
  Client() = default;
  void Report(std::vector<sched::StageReport>* reports, uint64_t now_ns);
  void NoteProgress(const completion::GrantBook::Progress& progress);
  // Takes for complete what the lane's cursors say, completion entry or not.
  void ReportFromCursors(uint64_t now_ns);
  Status BoundJobs(uint64_t now_ns);
  void TellReleased(const ingress::JobTracker::Release& release, uint64_t now_ns);
  // Tells the scheduler of jobs that are over, of those before job `before`.
  void CloseJobs(uint64_t before, uint64_t now_ns);
  void MoveGranted();
  void CloseJob(ingress::JobTracker::Job job, uint64_t now_ns);
  static constexpr size_t kMostIntervals = 1024;

  ingress::ConnectionId id_ = 0;
  uint32_t row_index_ = 0;
  std::string name_;
  std::unique_ptr<lane::LaneOwner> lane_;
  std::optional<ingress::JobTracker> tracker_;
  std::optional<completion::GrantBook> book_;
  sched::Scheduler* scheduler_ = nullptr;
  sched::TaskId task_ = 0;
  recorder::JobRecorder* recorder_ = nullptr;
  std::optional<SgprsReleaseRule> release_rule_;
  bool declared_length_ = false;  // SGPRS_JOB_LAUNCHES: the shim's, not ours to learn
  uint64_t completed_at_tick_ = 0;
  uint64_t bypassed_at_tick_ = 0;
  uint64_t recorded_at_tick_ = 0;
  bool bypassing_ = false;
  bool learnt_ = false;
  bool keep_for_profile_ = false;
  uint64_t last_first_launch_ns_ = 0;
  Observed observed_;
  SgprsTaskRow row_ = {};
  // Kept, so that a wake-up allocates nothing.
  std::vector<ingress::JobTracker::Release> released_;
  std::vector<sched::StageReport> reports_;
};

}  // namespace sgprs::runtime

#endif  // SGPRS_RUNTIME_CLIENT_H_
