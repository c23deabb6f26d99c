// SPDX-License-Identifier: Apache-2.0
// What the daemon does in each turn of the loop: heartbeat, decisions, rows, trace.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>

#include "runtime/base/clock.h"
#include "runtime/daemon.h"
#include "runtime/stage_report.h"

namespace sgprs::runtime {
namespace {

// A shim goes on by itself when the heartbeat is 1 s old; without clients nobody looks so closely.
constexpr uint64_t kTickNs = 100 * kNsPerMs;
constexpr uint64_t kIdleTickNs = 1 * kNsPerSecond;

template <size_t kBytes>
void CopyName(char (&to)[kBytes], std::string_view from) {
  std::memset(to, 0, sizeof(to));
  std::memcpy(to, from.data(), std::min(from.size(), sizeof(to) - 1));
}

}  // namespace

void Daemon::Touch(Client* client) {
  decide_ = true;
  if (client->dirty) return;
  client->dirty = true;
  dirty_.push_back(client);
}

// --- heartbeat ---

void Daemon::ScheduleTick() {
  loop_->RemoveTimer(tick_timer_);
  tick_timer_ = loop_->At(NowNs() + (clients_.empty() ? kIdleTickNs : kTickNs), [this] { Tick(); });
}

void Daemon::Tick() {
  const uint64_t now_ns = NowNs();
  std::vector<std::pair<ingress::ConnectionId, std::string>> broken;
  for (const auto& [id, client] : clients_) {
    Touch(client.get());
    if (Status lane = client->Tick(now_ns); !lane.ok()) broken.emplace_back(id, lane.text());
  }
  JudgeLearnt(&broken);
  for (const auto& [id, why] : broken) server_->Cut(id, why);
  state_->SetAliveNs(now_ns);
  recording_->Tick(now_ns);
  if (trace_ != nullptr) {
    if (Status flushed = trace_->Flush(); !flushed.ok()) {
      spdlog::error("{}: the trace ends here", flushed.text());
      trace_.reset();
    }
  }
  ScheduleTick();
}

// --- decisions ---

void Daemon::TurnEnd() {
  if (!decide_) return;
  decide_ = false;
  const uint64_t now_ns = NowNs();
  if (pool_ != nullptr) {
    Decide(now_ns);
    TakeFinishedJobs();
    ScheduleWake();
  }
  WriteRows(now_ns);
  WriteHeader(now_ns);
}

void Daemon::Decide(uint64_t now_ns) {
  grants_.clear();
  pool_->scheduler()->Decide(now_ns, &grants_);
  header_.decision_ns += NowNs() - now_ns;
  header_.decisions += grants_.size();
  for (const sched::Grant& grant : grants_) {
    Client* client = grant.task < by_task_.size() ? by_task_[grant.task] : nullptr;
    if (client == nullptr) continue;
    client->Grant(grant, now_ns);
    ++header_.grants;
    if (!client->dirty) {
      client->dirty = true;
      dirty_.push_back(client);
    }
  }
}

void Daemon::ScheduleWake() {
  const uint64_t wake_ns = pool_->scheduler()->NextWakeNs();
  if (wake_ns == wake_ns_ && wake_timer_ != 0) return;
  loop_->RemoveTimer(wake_timer_);
  wake_timer_ = 0;
  wake_ns_ = wake_ns;
  if (wake_ns == UINT64_MAX) return;
  wake_timer_ = loop_->At(wake_ns, [this] {
    wake_timer_ = 0;
    decide_ = true;
  });
}

void Daemon::TakeFinishedJobs() {
  for (const sched::FinishedJob& job : pool_->scheduler()->TakeFinishedJobs()) {
    Client* client = job.task < by_task_.size() ? by_task_[job.task] : nullptr;
    if (client == nullptr) continue;
    client->NoteFinished(job);
    TraceStages(client);
    NameStages(client);
    recording_->jobs()->Finished(client->id(), job, NowNs());
    if (trace_ == nullptr) continue;
    trace_->AddJob({.task = client->id(),
                    .job = job.job,
                    .release_ns = job.release_ns,
                    .complete_ns = job.complete_ns,
                    .deadline_ns = job.deadline_ns,
                    .on_time = job.on_time,
                    .off_signature = job.off_signature});
  }
}

void Daemon::TraceStages(Client* client) {
  for (const completion::StageRecord& stage : client->TakeEndedStages()) {
    recording_->jobs()->StageEnded(client->id(), stage);
    if (trace_ == nullptr) continue;
    const bool bounded = stage.grant.upto != sched::kOpen;
    trace_->AddStage({.task = client->id(),
                      .job = stage.grant.job,
                      .stage = stage.grant.stage,
                      .stage_count = stage.grant.stage_count,
                      .partition = stage.grant.partition,
                      .level = static_cast<uint32_t>(stage.grant.level),
                      .learning = stage.grant.learning,
                      .switched = stage.grant.switched,
                      .launches = bounded ? stage.grant.upto - stage.grant.from : 0,
                      .granted_ns = stage.granted_ns,
                      .first_issue_ns = stage.first_issue_ns,
                      .complete_ns = stage.complete_ns,
                      .virtual_deadline_ns = stage.grant.virtual_deadline_ns});
  }
}

void Daemon::NameStages(Client* client) {
  constexpr uint32_t kMostTries = 8;  // a whole job may not lie in the lane just now
  observe::JobLog* log = recording_->jobs()->log();
  if (log == nullptr) return;
  const sched::TaskView view = client->View();
  if (!view.scheduled) return;
  if (client->named_generation != view.generation) {
    client->named_generation = view.generation;
    client->naming_tries = kMostTries;
  }
  if (client->naming_tries == 0) return;
  --client->naming_tries;
  if (log->AppendContents(client->id(), KernelsOfStages(*client, *pool_->scheduler()))) {
    client->naming_tries = 0;
  }
}

// --- state segment ---

void Daemon::WriteRows(uint64_t now_ns) {
  for (Client* client : dirty_) {
    client->dirty = false;
    if (client->started()) TraceStages(client);
    state_->WriteTask(client->row_index(), client->UpdateRow());
  }
  dirty_.clear();
  for (uint32_t i = 0; pool_ != nullptr && i < pool_->partition_count(); ++i) {
    state_->WritePartition(i, pool_->Row(i, now_ns));
  }
}

std::string Daemon::MetricsText() {
  const uint64_t now_ns = NowNs();
  std::vector<SgprsPartitionRow> partitions;
  for (uint32_t i = 0; pool_ != nullptr && i < pool_->partition_count(); ++i) {
    partitions.push_back(pool_->Row(i, now_ns));
  }
  std::vector<observe::TaskMetrics> tasks;
  for (const auto& [id, client] : clients_) {
    tasks.push_back({client->UpdateRow(), recording_->jobs()->Phases(id)});
  }
  return observe::OpenMetricsText(header_, partitions, tasks, recording_->Metrics());
}

void Daemon::WriteHeader(uint64_t now_ns) {
  header_.alive_ns = now_ns;
  CopyName(header_.policy, policy_name());
  CopyName(header_.overload, policy::OverloadName(overload_));
  CopyName(header_.admission, policy::AdmissionName(admission_.mode()));
  header_.clients = static_cast<uint32_t>(clients_.size());
  if (pool_ != nullptr) {
    header_.partition_count = pool_->partition_count();
    header_.sm_count = pool_->sm_count();
    CopyName(header_.device_name, pool_->device_name());
  }
  state_->WriteHeader(header_);
}

}  // namespace sgprs::runtime
