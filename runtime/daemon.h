// SPDX-License-Identifier: Apache-2.0
// sgprsd without its command line: clients, device, scheduler and observation put together on one
// loop. The hops themselves are in the directories beside this file.
//
// A turn of the loop: bells and packets change the scheduler's picture (Client, ControlServer); at
// the turn's end the scheduler decides, grants are published, then rows and trace are written.
//
// Thread: the loop's, for everything.
#ifndef SGPRS_RUNTIME_DAEMON_H_
#define SGPRS_RUNTIME_DAEMON_H_

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "runtime/admission.h"
#include "runtime/client.h"
#include "runtime/device_pool.h"
#include "runtime/ingress/control_server.h"
#include "runtime/ingress/listener.h"
#include "runtime/loop/loop.h"
#include "runtime/observe/schedule_trace.h"
#include "runtime/observe/state_segment.h"
#include "runtime/pool/config.h"
#include "runtime/profiles.h"
#include "runtime/recording.h"

namespace sgprs::runtime {

struct DaemonOptions {
  pool::Config config;
  std::string socket_path;
  std::vector<uid_t> allowed_uids;  // besides root and this process's own
};

class Daemon : public ingress::ControlHandler {
 public:
  // Listens when it returns. `loop` outlives it. Errors: as Listener::Open, StateSegment::Create,
  // and kInvalid for a trace file that can not be written.
  static Result<std::unique_ptr<Daemon>> Make(loop::Loop* loop, DaemonOptions options);
  ~Daemon() override;

  // For commands (runtime/commands.h) and main.
  std::string policy_name() const;
  // What the pool is to the new policy, if that is worth a word; else empty.
  Result<std::string> SetPolicy(std::string_view name);
  policy::OverloadMode overload() const { return overload_; }
  void SetOverload(policy::OverloadMode mode);
  policy::AdmissionMode admission() const { return admission_.mode(); }
  const policy::PolicyOptions& policy_options() const { return options_.config.options; }
  Status StartTrace(const std::string& path);
  // Path of the trace that ended. Error kNotFound: none is being written.
  Result<std::string> StopTrace();
  void Shutdown() { loop_->Stop(); }
  const Recording& recording() const { return *recording_; }
  // Error kNotFound: no such client.
  Result<std::string> Stages(uint32_t pid) const;
  Result<profile::Profile> LoadProfile(const std::string& path) {
    return profiles_.Load(path, pool_.get());
  }
  const std::string& socket_path() const { return listener_->path(); }

  // ControlHandler
  std::variant<Admission, ingress::Refusal> OnHello(ingress::ConnectionId id,
                                                    const ingress::Peer& peer,
                                                    const SgprsHello& hello) override;
  Status OnReady(ingress::ConnectionId id, const SgprsReady& ready) override;
  int StateFd() override { return state_->reader_fd(); }
  Reply OnCommand(const ingress::Peer& peer, const std::string& line) override;
  void OnGone(ingress::ConnectionId id, bool orderly) override;
  void OnRefused(const ingress::Peer& peer, const ingress::Refusal& refusal, bool cut) override;

 private:
  Daemon(loop::Loop* loop, DaemonOptions options);
  Result<Client*> AddClient(ingress::ConnectionId id, const ingress::Peer& peer,
                            const SgprsHello& hello);
  // The pool for this client's device; laid out if there is none.
  Status EnsurePool(const SgprsHello& hello);
  std::string SuitPool(policy::PoolShape shape);
  // Why `hello` does not fit; empty if it fits or nobody asks.
  std::string JudgeHello(const SgprsHello& hello) const;
  // Judges whoever's cost was learnt since; appends who is to be cut, and why.
  void JudgeLearnt(std::vector<std::pair<ingress::ConnectionId, std::string>>* cut);
  std::vector<policy::TaskDemand> Demands(const Client* except) const;
  void OnBell(ingress::ConnectionId id);
  void Touch(Client* client);
  void Tick();
  void ScheduleTick();
  void TurnEnd();
  void Decide(uint64_t now_ns);
  void TakeFinishedJobs();
  // What the trace says of pool, partitions and a task; nothing without a trace.
  void TracePool();
  void TraceTask(const Client& client);
  void TraceStages(Client* client);
  // Tells the job log what the task's stages are made of, once it is learnt.
  void NameStages(Client* client);
  void WriteRows(uint64_t now_ns);
  void WriteHeader(uint64_t now_ns);
  std::string MetricsText();
  void ScheduleWake();

  loop::Loop* const loop_;
  const DaemonOptions options_;
  std::string policy_;  // the one to begin with, until there is a scheduler
  policy::OverloadMode overload_;
  runtime::Admission admission_;
  std::unique_ptr<observe::StateSegment> state_;
  std::unique_ptr<observe::ScheduleTrace> trace_;
  std::unique_ptr<Recording> recording_;
  Profiles profiles_;
  std::unique_ptr<DevicePool> pool_;
  std::unordered_map<ingress::ConnectionId, std::unique_ptr<Client>> clients_;
  std::vector<Client*> by_task_;
  std::vector<Client*> dirty_;
  std::unique_ptr<ingress::Listener> listener_;
  std::unique_ptr<ingress::ControlServer> server_;
  SgprsStateHeader header_ = {};
  std::vector<sched::Grant> grants_;
  bool decide_ = false;  // something happened since the last decision
  uint64_t wake_ns_ = UINT64_MAX;
  loop::TimerId wake_timer_ = 0;
  loop::TimerId tick_timer_ = 0;
};

}  // namespace sgprs::runtime

#endif  // SGPRS_RUNTIME_DAEMON_H_
