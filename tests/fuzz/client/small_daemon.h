// SPDX-License-Identifier: Apache-2.0
// What runtime/daemon does with clients, in virtual time and without loop, sockets and files.
#ifndef SGPRS_TESTS_FUZZ_CLIENT_SMALL_DAEMON_H_
#define SGPRS_TESTS_FUZZ_CLIENT_SMALL_DAEMON_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "runtime/client.h"
#include "runtime/sched/scheduler.h"

namespace sgprs::fuzz {

// One thread.
class SmallDaemon {
 public:
  SmallDaemon();

  // Registers a client; its id.
  uint64_t Join(const SgprsHello& hello);
  // nullptr once it was cut.
  runtime::Client* client(uint64_t id);
  void Leave(uint64_t id);

  // The client's bell rang: reads its lane, decides, publishes. A client that breaks a rule is cut.
  void Bell(uint64_t id);
  // Time passes; heartbeat of all clients, timers of the scheduler.
  void Pass(uint64_t ns);
  void SetPolicy(std::string_view name);

  uint64_t now_ns() const { return now_ns_; }
  uint64_t jobs_finished(uint64_t id) { return finished_[id]; }

 private:
  void Decide();
  void TakeFinished();
  void CheckRow(const SgprsTaskRow& row) const;

  std::unique_ptr<sched::Scheduler> scheduler_;
  std::map<uint64_t, std::unique_ptr<runtime::Client>> clients_;
  std::vector<runtime::Client*> by_task_;
  std::map<uint64_t, uint64_t> finished_;
  uint64_t next_id_ = 1;
  uint64_t now_ns_ = 1'000'000'000;
};

}  // namespace sgprs::fuzz

#endif  // SGPRS_TESTS_FUZZ_CLIENT_SMALL_DAEMON_H_
