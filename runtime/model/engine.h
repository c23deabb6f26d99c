// SPDX-License-Identifier: Apache-2.0
// The event loop of a virtual-time run: applications, scheduler and device.
//
//   release ► first launch recorded ─(message)► JobReleased ► Decide ► grant ─(message)► launches
//   on the device ► stage complete ─(message)► StageProgress ► Decide ► ... ► job complete
//   ► the application returns ► next release
// A message takes half of `grant_round_trip_ns`. Events at the same time are handled in the order
// in which they were made, ends on the device first; then the scheduler decides once.
//
// Not thread-safe. Only virtual_run.cc and tests use it.
#ifndef SGPRS_RUNTIME_MODEL_ENGINE_H_
#define SGPRS_RUNTIME_MODEL_ENGINE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/model/device_description.h"
#include "runtime/model/fluid_bound.h"
#include "runtime/model/fluid_model.h"
#include "runtime/model/job_work.h"
#include "runtime/model/scenario.h"
#include "runtime/model/sim_result.h"
#include "runtime/model/virtual_run.h"
#include "runtime/model/virtual_task.h"
#include "runtime/policy/admission.h"
#include "runtime/pool/layout.h"
#include "runtime/sched/scheduler.h"

namespace sgprs::model {

class Engine {
 public:
  // Both outlive it.
  Engine(const Scenario& scenario, const RunOptions& options);

  // Errors as of model::Run().
  Status Prepare();
  void RunToEnd();
  SimResult TakeResult();

 private:
  enum class EventKind : uint8_t { kBegin, kReleased, kGrant, kPieceDone, kReport, kReturn };
  struct Event {
    uint64_t at_ns;
    uint64_t sequence;
    EventKind kind;
    uint32_t task;
    friend bool operator>(const Event& a, const Event& b) {
      return a.at_ns != b.at_ns ? a.at_ns > b.at_ns : a.sequence > b.sequence;
    }
  };

  Status MakeScheduler();
  Status MakeTasks();
  Result<std::unique_ptr<JobWork>> MakeWork(const TaskSpec& spec);
  void Judge(VirtualTask* task);
  const sched::TaskProfile& ProfileOf(const std::string& network);

  FluidDemand DemandPerSecond(const VirtualTask& task) const;
  LossTable Losses() const;

  uint64_t NextEventNs() const;
  void Push(uint64_t at_ns, EventKind kind, uint32_t task);
  void Handle(const Event& event);
  void Decide();
  void TakeFinished();

  void Begin(uint32_t index);
  void Released(uint32_t index);
  void GrantArrives(uint32_t index);
  void Issue(uint32_t index);
  void Launch(uint32_t index, const sched::Grant& grant, const WorkPiece& piece);
  void PieceEnded(uint32_t index, uint64_t start_ns);
  void PieceDone(uint32_t index);
  void JobDone(uint32_t index);
  void SendReport(uint32_t index, bool whole);
  void ReportArrives(uint32_t index);
  void Return(uint32_t index);
  void KeepStage(uint32_t index, const sched::Grant& grant);
  bool Kept(uint64_t from_ns, uint64_t to_ns) const {
    return to_ns >= options_.keep_from_ns && from_ns < options_.keep_to_ns;
  }
  int StreamPriority(const VirtualTask& task, SgprsLevel level) const;

  const Scenario& scenario_;
  const RunOptions& options_;
  const DeviceDescription* device_ = nullptr;
  CountedWindow window_;
  uint64_t end_ns_ = 0;
  std::vector<TaskSpec> specs_;
  std::map<std::string, std::unique_ptr<NetworkCosts>> networks_;
  std::map<std::string, sched::TaskProfile> profiles_;
  std::vector<pool::PartitionSpan> spans_;
  uint32_t capacity_ = 0;  // of every partition
  bool gated_ = false;     // jobs may be held to a later release
  std::unique_ptr<FluidModel> fluid_;
  std::unique_ptr<sched::Scheduler> scheduler_;
  std::vector<VirtualTask> tasks_;
  std::vector<uint32_t> by_id_;  // scheduler's id -> index
  std::vector<policy::TaskDemand> admitted_;

  uint64_t now_ns_ = 0;
  std::vector<Event> heap_;
  uint64_t next_sequence_ = 0;
  bool decide_ = false;
  uint64_t wake_ns_ = UINT64_MAX;
  std::vector<sched::Grant> new_grants_;
  std::vector<KernelEnd> ends_;
  FluidUse use_at_[2];  // as the counted window begins and ends
  SimResult result_;
};

}  // namespace sgprs::model

#endif  // SGPRS_RUNTIME_MODEL_ENGINE_H_
