// SPDX-License-Identifier: Apache-2.0
// Clients and messages. What the daemon does by itself is in daemon_turn.cc.
#include "runtime/daemon.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "runtime/base/clock.h"
#include "runtime/commands.h"
#include "runtime/observe/text.h"
#include "runtime/policy/policy.h"
#include "runtime/stage_report.h"

namespace sgprs::runtime {

Daemon::Daemon(loop::Loop* loop, DaemonOptions options)
    : loop_(loop),
      options_(std::move(options)),
      policy_(options_.config.policy),
      overload_(options_.config.overload),
      admission_(options_.config.admission),
      profiles_(options_.config.profile_directory) {}

Result<std::unique_ptr<Daemon>> Daemon::Make(loop::Loop* loop, DaemonOptions options) {
  std::unique_ptr<Daemon> daemon(new Daemon(loop, std::move(options)));
  const DaemonOptions& given = daemon->options_;
  Result<std::unique_ptr<observe::StateSegment>> state = observe::StateSegment::Create();
  if (!state.ok()) return state.status();
  daemon->state_ = std::move(*state);
  daemon->header_.pid = static_cast<uint32_t>(getpid());
  daemon->header_.started_ns = NowNs();
  daemon->WriteHeader(daemon->header_.started_ns);

  const bool shared = !given.allowed_uids.empty();
  Result<std::unique_ptr<ingress::Listener>> listener =
      ingress::Listener::Open({.path = given.socket_path,
                               .directory_mode = static_cast<mode_t>(shared ? 0755 : 0700),
                               .socket_mode = static_cast<mode_t>(shared ? 0666 : 0600)});
  if (!listener.ok()) return listener.status();
  daemon->listener_ = std::move(*listener);
  if (!given.config.trace_file.empty()) {
    if (Status trace = daemon->StartTrace(given.config.trace_file); !trace.ok()) return trace;
  }
  daemon->server_ = std::make_unique<ingress::ControlServer>(
      loop, daemon.get(), ingress::ControlServerOptions{.allowed_uids = given.allowed_uids});
  daemon->server_->Serve(daemon->listener_->fd());
  Daemon* self = daemon.get();
  Result<std::unique_ptr<Recording>> recording =
      Recording::Make(loop, given.config, [self] { return self->MetricsText(); });
  if (!recording.ok()) return recording.status();
  daemon->recording_ = std::move(*recording);
  loop->SetTurnEnd([self] { self->TurnEnd(); });
  daemon->ScheduleTick();
  return daemon;
}

Daemon::~Daemon() {
  if (server_ != nullptr) server_->Close();
  if (state_ != nullptr) loop_->SetTurnEnd(nullptr);
  for (auto& [id, client] : clients_) {
    if (client->bell != 0) loop_->Remove(client->bell);
  }
  loop_->RemoveTimer(wake_timer_);
  loop_->RemoveTimer(tick_timer_);
}

// --- clients ---

std::variant<ingress::ControlHandler::Admission, ingress::Refusal> Daemon::OnHello(
    ingress::ConnectionId id, const ingress::Peer& peer, const SgprsHello& hello) {
  if (clients_.size() >= options_.config.max_clients) {
    return ingress::Refusal{SGPRS_REFUSE_FULL, "there are " + std::to_string(clients_.size()) +
                                                   " clients already (limits.max_clients)"};
  }
  if (Status device = EnsurePool(hello); !device.ok()) {
    return ingress::Refusal{SGPRS_REFUSE_DEVICE, device.text()};
  }
  const std::string too_much = JudgeHello(hello);
  if (!too_much.empty() && admission_.mode() == policy::AdmissionMode::kReject) {
    return ingress::Refusal{SGPRS_REFUSE_ADMISSION, too_much};
  }
  Result<Client*> client = AddClient(id, peer, hello);
  if (!client.ok()) return ingress::Refusal{SGPRS_REFUSE_FULL, client.status().text()};
  ++header_.clients_total;
  if (!too_much.empty()) (*client)->WarnOfAdmission(too_much);
  if (clients_.size() == 1) ScheduleTick();  // the heartbeat, from now on
  Admission admission;
  admission.welcome.client_id = id;
  admission.welcome.lane_bytes = (*client)->lane()->bytes();
  pool_->FillWelcome(hello, &admission.welcome);
  admission.lane_fd = (*client)->lane()->fd();
  Touch(*client);
  TraceTask(**client);
  return admission;
}

Status Daemon::EnsurePool(const SgprsHello& hello) {
  if (pool_ != nullptr) {
    const Status same = pool_->CheckSame(hello);
    if (!clients_.empty()) return same;
    // A policy that was swapped in while there were clients gets its layout now.
    const auto chosen = policy::MakePolicy(policy_name(), options_.config.options);
    if (same.ok() && chosen->traits().pool == pool_->shape()) return same;
  }
  Result<std::unique_ptr<DevicePool>> pool =
      DevicePool::Make(options_.config, policy_name(), hello);
  if (!pool.ok()) return pool.status();
  pool_ = std::move(*pool);
  pool_->scheduler()->SetOverload(overload_, NowNs());
  profiles_.Seed(pool_.get());
  spdlog::info("{}", pool_->Describe());
  recording_->NotePool(*pool_, policy_name());
  TracePool();
  return Status::Ok();
}

Result<Client*> Daemon::AddClient(ingress::ConnectionId id, const ingress::Peer& peer,
                                  const SgprsHello& hello) {
  const std::optional<uint32_t> row = state_->TakeRow();
  if (!row.has_value()) return Status(ErrorCode::kExhausted, "no room for another client");
  Result<std::unique_ptr<Client>> made = Client::Make(id, peer, hello, *row, NowNs());
  if (!made.ok()) {
    state_->RetireRow(*row);
    return made.status();
  }
  Client* client = made->get();
  clients_.emplace(id, std::move(*made));
  return client;
}

Status Daemon::OnReady(ingress::ConnectionId id, const SgprsReady& ready) {
  if (Status plan = pool_->CheckReady(ready); !plan.ok()) return plan;
  Client* client = clients_.at(id).get();
  pool_->NoteReady(ready);
  if (client->started()) return Status::Ok();  // its partitions were built anew
  const uint64_t now_ns = NowNs();
  sched::Scheduler* scheduler = pool_->scheduler();
  Result<sched::TaskId> task = scheduler->AddTask(client->TaskConfig(), now_ns);
  if (!task.ok()) return task.status();
  if (by_task_.size() <= *task) by_task_.resize(*task + 1, nullptr);
  by_task_[*task] = client;
  if (profiles_.writing()) client->KeepForProfile();
  client->Start(scheduler, *task, static_cast<SgprsBackend>(ready.backend),
                options_.config.force_switch);
  recording_->AddClient(client->UpdateRow(), client->release_rule());
  client->SetRecorder(recording_->jobs());
  client->bell = loop_->WatchBell(client->lane()->runtime_doorbell(), [this, id] { OnBell(id); });
  Touch(client);
  spdlog::info("{} joined", client->Describe());
  return Status::Ok();
}

void Daemon::OnBell(ingress::ConnectionId id) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  Client* client = found->second.get();
  Touch(client);
  if (Status lane = client->Process(NowNs()); !lane.ok()) server_->Cut(id, lane.text());
}

void Daemon::OnGone(ingress::ConnectionId id, bool orderly) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  const std::unique_ptr<Client> client = std::move(found->second);
  clients_.erase(found);
  if (client->started()) {
    const uint64_t now_ns = NowNs();
    loop_->Remove(client->bell);
    client->Finish(now_ns);
    if (profiles_.writing()) profiles_.Write(client.get(), pool_.get());
    TakeFinishedJobs();
    TraceStages(client.get());
    client->UpdateRow();
    pool_->scheduler()->RemoveTask(client->task(), now_ns);
    by_task_[client->task()] = nullptr;
    recording_->jobs()->Remove(id, now_ns);
  }
  WriteHeader(NowNs());  // never behind the rows: who sees the task gone sees one client less
  state_->WriteTask(client->row_index(), client->MarkGone());
  state_->RetireRow(client->row_index());
  std::erase(dirty_, client.get());
  if (trace_ != nullptr) trace_->RemoveTask(id);
  decide_ = true;
  spdlog::info("{} is gone{}", client->Describe(), orderly ? "" : " (died or was cut)");
}

void Daemon::OnRefused(const ingress::Peer& peer, const ingress::Refusal& refusal, bool cut) {
  ++(cut ? header_.clients_cut : header_.clients_refused);
  decide_ = true;  // the header is written
  spdlog::warn("{} process {} (user {}): {}", cut ? "cut" : "refused", peer.pid, peer.uid,
               observe::OneLine(refusal.text));
}

ingress::ControlHandler::Reply Daemon::OnCommand(const ingress::Peer& peer,
                                                 const std::string& line) {
  const bool privileged = peer.uid == 0 || peer.uid == geteuid();
  return RunCommand(this, line, privileged);
}

// --- what commands ask for ---

std::string Daemon::policy_name() const {
  return pool_ != nullptr ? std::string(pool_->scheduler()->policy_name()) : policy_;
}

Result<std::string> Daemon::SetPolicy(std::string_view name) {
  const std::unique_ptr<policy::Policy> wanted = policy::MakePolicy(name, options_.config.options);
  if (wanted == nullptr) {
    return Status(ErrorCode::kInvalid, "no policy '" + observe::OneLine(name) + "': use one of " +
                                           std::string(policy::PolicyNames()));
  }
  if (pool_ != nullptr) {
    if (Status set = pool_->scheduler()->SetPolicy(name, NowNs()); !set.ok()) return set;
    recording_->NotePool(*pool_, name);
    TracePool();
  }
  policy_ = name;
  decide_ = true;
  spdlog::info("policy {}", policy_);
  return SuitPool(wanted->traits().pool);
}

// Partitions are built by each client when it registers, so a pool can not change under one.
// Without clients the next one gets a new pool.
std::string Daemon::SuitPool(policy::PoolShape shape) {
  if (pool_ == nullptr || pool_->shape() == shape) return "";
  if (clients_.empty()) {
    pool_.reset();
    header_.partition_count = 0;
    return "the pool is laid out anew for the next task";
  }
  return "the pool stays, and is not laid out as '" + policy_ +
         "' wants it, until every task has ended";
}

void Daemon::SetOverload(policy::OverloadMode mode) {
  overload_ = mode;
  if (pool_ != nullptr) pool_->scheduler()->SetOverload(mode, NowNs());
  decide_ = true;
  spdlog::info("overload {}", policy::OverloadName(mode));
}

// --- admission ---

std::vector<policy::TaskDemand> Daemon::Demands(const Client* except) const {
  std::vector<policy::TaskDemand> demands;
  for (const auto& [id, client] : clients_) {
    if (client.get() != except) demands.push_back(client->Demand());
  }
  return demands;
}

std::string Daemon::JudgeHello(const SgprsHello& hello) const {
  if (admission_.mode() == policy::AdmissionMode::kOff) return "";
  return policy::JudgeAdmission(Demands(nullptr), admission_.Expect(hello)).why;
}

void Daemon::JudgeLearnt(std::vector<std::pair<ingress::ConnectionId, std::string>>* cut) {
  for (const auto& [id, client] : clients_) {
    if (!client->TakeJustLearnt()) continue;
    profiles_.Judge(*client, *pool_);
    admission_.Remember(client->name(), client->program(), client->Demand());
    if (admission_.mode() == policy::AdmissionMode::kOff) continue;
    const std::string why = policy::JudgeAdmission(Demands(client.get()), client->Demand()).why;
    if (why.empty()) continue;
    if (admission_.mode() == policy::AdmissionMode::kReject) {
      cut->emplace_back(id, "admission: " + why);
    } else {
      client->WarnOfAdmission(why);
    }
  }
}

Result<std::string> Daemon::Stages(uint32_t pid) const {
  for (const auto& [id, client] : clients_) {
    if (client->pid() == pid) return StageReport(*client, *pool_->scheduler());
  }
  return Status(ErrorCode::kNotFound, fmt::format("no client has pid {}", pid));
}

Status Daemon::StartTrace(const std::string& path) {
  if (trace_ != nullptr) {
    return Status(ErrorCode::kInvalid,
                  "a trace is being written to '" + trace_->path() + "': stop it first");
  }
  Result<std::unique_ptr<observe::TraceFile>> file = observe::TraceFile::Open(path);
  if (!file.ok()) return file.status();
  trace_ = std::make_unique<observe::ScheduleTrace>(std::move(*file));
  TracePool();
  for (const auto& [id, client] : clients_) TraceTask(*client);
  return Status::Ok();
}

void Daemon::TracePool() {
  if (trace_ == nullptr || pool_ == nullptr) return;
  trace_->SetPool({.device = pool_->device_name(),
                   .sm_count = pool_->sm_count(),
                   .policy = pool_->scheduler()->policy_name()});
  for (uint32_t i = 0; i < pool_->partition_count(); ++i) {
    trace_->AddPartition(i, pool_->span(i).sm_count);
  }
}

void Daemon::TraceTask(const Client& client) {
  if (trace_ == nullptr) return;
  const sched::TaskConfig config = client.TaskConfig();
  trace_->AddTask(client.id(), client.Describe(),
                  {.name = config.name,
                   .task_class = static_cast<uint32_t>(config.task_class),
                   .period_ns = config.period_ns,
                   .deadline_ns = config.deadline_ns});
}

Result<std::string> Daemon::StopTrace() {
  if (trace_ == nullptr) return Status(ErrorCode::kNotFound, "no trace is being written");
  const std::string path = trace_->path();
  const Status flushed = trace_->Flush();
  trace_.reset();
  if (!flushed.ok()) return flushed;
  return path;
}

}  // namespace sgprs::runtime
