// SPDX-License-Identifier: Apache-2.0
// The device process: clients come over the socket, commands over shared memory, the engine says
// what happens when, log entries go back.
//
// One thread does all the work and sleeps on the device-wide doorbell until the engine's next
// wake-up, to the nanosecond that the kernel's timers allow. A second, almost always idle one waits
// for sockets and signals and rings that same doorbell, so that the way of a command is one futex.
#ifndef SGPRS_TOOLS_SIMGPU_DEVICE_SERVER_H_
#define SGPRS_TOOLS_SIMGPU_DEVICE_SERVER_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <unordered_map>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/model/device_description.h"
#include "tools/simgpu/device/channel.h"
#include "tools/simgpu/device/command_log.h"
#include "tools/simgpu/device/engine.h"

namespace sgprs::simgpu {

struct ServerOptions {
  const model::DeviceDescription* device = nullptr;
  std::string socket_path;
  bool mps = true;
  std::string log_path;       // empty: no log
  uint32_t device_count = 1;  // of that description; 1 to kMaxDevices
};

class Server : private EngineListener {
 public:
  // Opens the socket. Error: one line for the user.
  static Result<std::unique_ptr<Server>> Make(const ServerOptions& options);
  // Takes the socket file away.
  ~Server() override;

  // Blocks until SIGTERM, SIGINT or a kShutdown, then hangs up on everybody. Once. SIGTERM and
  // SIGINT must be blocked in every thread.
  Status Run();

 private:
  struct Peer {
    UniqueFd socket;
    uint64_t client_id = 0;  // 0: has not said hello
    uint32_t pid = 0;
    uint32_t uid = 0;
  };
  struct Client {
    std::unique_ptr<Channel> channel;
    int socket = -1;  // of its peer
    uint32_t pid = 0;
    uint64_t asks = 0;     // Channel::Asks() when they were read
    bool touched = false;  // has entries to flush
    std::string fault;     // not empty: to be cut
  };

  explicit Server(const ServerOptions& options);
  Status Open();
  void Close();
  Status Watch(int fd);

  // EngineListener.
  void OnLog(uint64_t client_id, const LogEntry& entry) override;
  void OnFinished(const FinishedCommand& finished) override;

  // The working thread.
  void TurnOnce();
  void DrainCommands();
  void DrainClient(uint64_t id, Client* client);
  void ReadAsked(uint64_t id, Client* client);
  void FlushLogs();
  void CutFaulty();
  bool AnyPending() const;
  void SleepUntilNeeded(uint32_t sequence);

  // Sockets and signals, also on the working thread.
  void HandleSockets();
  void AcceptAll();
  void HandlePeer(int fd);
  void HandleHello(Peer* peer, const Hello& hello);
  void Welcomed(Peer* peer);
  void Refuse(Peer* peer, uint32_t error);
  void DropPeer(int fd);
  void WatchSockets();  // the second thread

  ServerOptions options_;
  uint64_t started_ns_;
  std::optional<CommandLog> log_;
  UniqueFd listener_;
  UniqueFd epoll_;
  UniqueFd signals_;
  UniqueFd stop_event_;
  UniqueFd bell_fd_;
  UniqueFd spare_fd_;
  Doorbell* bell_ = nullptr;
  Engine engine_;
  uint64_t next_client_ = 1;
  std::map<uint64_t, Client> clients_;
  std::unordered_map<int, Peer> peers_;
  bool stopping_ = false;

  std::thread watcher_;
  std::atomic<bool> sockets_ready_{false};
  std::atomic<bool> watcher_stops_{false};
  std::binary_semaphore sockets_handled_{0};
};

}  // namespace sgprs::simgpu

#endif  // SGPRS_TOOLS_SIMGPU_DEVICE_SERVER_H_
