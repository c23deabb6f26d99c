// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/client/small_daemon.h"

#include <cstdlib>

namespace sgprs::fuzz {
namespace {

void Require(bool promise) {
  if (!promise) std::abort();
}

}  // namespace

SmallDaemon::SmallDaemon() {
  sched::SchedulerConfig config;
  config.device_sm_count = 68;
  config.partitions = {{34, 2}, {34, 2}, {34, 2}};
  auto made = sched::Scheduler::Make(config);
  Require(made.ok());
  scheduler_ = std::move(*made);
}

uint64_t SmallDaemon::Join(const SgprsHello& hello) {
  const uint64_t id = next_id_++;
  auto made = runtime::Client::Make(id, {}, hello, static_cast<uint32_t>(id), now_ns_);
  Require(made.ok());
  auto task = scheduler_->AddTask((*made)->TaskConfig(), now_ns_);
  Require(task.ok());
  (*made)->Start(scheduler_.get(), *task, SGPRS_BACKEND_GREEN, false);
  if (by_task_.size() <= *task) by_task_.resize(*task + 1, nullptr);
  by_task_[*task] = made->get();
  clients_.emplace(id, std::move(*made));
  return id;
}

runtime::Client* SmallDaemon::client(uint64_t id) {
  const auto found = clients_.find(id);
  return found != clients_.end() ? found->second.get() : nullptr;
}

void SmallDaemon::Leave(uint64_t id) {
  runtime::Client* gone = client(id);
  if (gone == nullptr) return;
  gone->Finish(now_ns_);
  TakeFinished();
  (void)gone->TakeEndedStages();
  CheckRow(gone->UpdateRow());
  scheduler_->RemoveTask(gone->task(), now_ns_);
  by_task_[gone->task()] = nullptr;
  clients_.erase(id);
}

void SmallDaemon::Bell(uint64_t id) {
  runtime::Client* rung = client(id);
  if (rung == nullptr) return;
  now_ns_ += 1000;
  if (!rung->Process(now_ns_).ok()) Leave(id);
  Decide();
}

void SmallDaemon::Pass(uint64_t ns) {
  now_ns_ += ns;
  std::vector<uint64_t> broken;
  for (const auto& [id, client] : clients_) {
    if (!client->Tick(now_ns_).ok()) broken.push_back(id);
  }
  for (const uint64_t id : broken) Leave(id);
  Decide();
}

void SmallDaemon::SetPolicy(std::string_view name) {
  Require(scheduler_->SetPolicy(name, now_ns_).ok());
  Decide();
}

void SmallDaemon::Decide() {
  std::vector<sched::Grant> grants;
  scheduler_->Decide(now_ns_, &grants);
  for (const sched::Grant& grant : grants) {
    Require(grant.from < grant.upto && grant.partition < 3);
    Require(by_task_.at(grant.task) != nullptr);
    by_task_[grant.task]->Grant(grant, now_ns_);
  }
  Require(scheduler_->NextWakeNs() > now_ns_);
  TakeFinished();
  for (const auto& [id, client] : clients_) {
    (void)client->TakeEndedStages();
    CheckRow(client->UpdateRow());
  }
}

void SmallDaemon::TakeFinished() {
  for (const sched::FinishedJob& job : scheduler_->TakeFinishedJobs()) {
    runtime::Client* client = by_task_.at(job.task);
    Require(client != nullptr && job.complete_ns <= now_ns_);
    client->NoteFinished(job);
    ++finished_[client->id()];
  }
}

void SmallDaemon::CheckRow(const SgprsTaskRow& row) const {
  const SgprsTaskCounters& counters = row.counters;
  Require(row.state > SGPRS_TASK_JOINING && row.state < SGPRS_TASK_GONE);
  Require(counters.completed <= counters.issued && counters.issued <= counters.recorded);
  Require(counters.jobs_completed <= counters.jobs_released);
  Require(counters.jobs_on_time + counters.jobs_missed == counters.jobs_completed);
  Require(row.last_complete_ns <= now_ns_ && row.last_release_ns <= now_ns_);
  Require(row.stages <= SGPRS_MAX_STAGES);
}

}  // namespace sgprs::fuzz
