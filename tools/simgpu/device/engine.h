// SPDX-License-Identifier: Apache-2.0
// The simulated devices (one or more, all alike): clients, contexts, streams in order, copy engines
// and the fluid model of the SMs, on a time line that only AdvanceTo() moves. No clock, socket or
// shared memory in here, so tests and the device process drive the same object. Not thread-safe.
#ifndef SGPRS_TOOLS_SIMGPU_DEVICE_ENGINE_H_
#define SGPRS_TOOLS_SIMGPU_DEVICE_ENGINE_H_

#include <cstdint>
#include <memory>
#include <queue>
#include <unordered_map>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/model/fluid_model.h"
#include "tools/simgpu/device/client_state.h"
#include "tools/simgpu/device/copy_engine.h"
#include "tools/simgpu/protocol.h"

namespace sgprs::simgpu {

// One finished command, for whoever listens.
struct FinishedCommand {
  const ClientState& client;
  const StreamState& stream;
  const QueuedCommand& command;
  uint64_t start_ns;
  uint64_t end_ns;
  double mean_sms;  // kernels
  uint32_t error;   // CUresult
};

class EngineListener {
 public:
  virtual ~EngineListener() = default;
  // In end-time order per device. Must not call the engine.
  virtual void OnLog(uint64_t client_id, const LogEntry& entry) = 0;
  virtual void OnFinished(const FinishedCommand&) {}
};

class Engine {
 public:
  // `device` and `listener` must outlive the engine. `mps` false: processes take turns.
  // `device_count`: 1 to kMaxDevices of that description.
  Engine(const model::DeviceDescription& device, bool mps, EngineListener* listener,
         uint64_t now_ns, uint32_t device_count = 1);

  void AddClient(uint64_t client_id, uint32_t pid);
  // Everything of the client vanishes at once, running kernels too.
  void RemoveClient(uint64_t client_id);

  // The next command of the client, our own copy. Takes effect when time reaches its submit_ns.
  // Error: the client broke the protocol and is to be removed.
  Status Submit(uint64_t client_id, const Command& command);

  // The ends that the client wants to hear of at once, ascending; of others it may hear late.
  void SetAsked(uint64_t client_id, bool all, std::vector<uint64_t> seqs);

  // Next change of the simulated device; model::kNeverNs = none. All of them.
  uint64_t NextEventNs() const;
  // When AdvanceTo() should run next so that no client waits in vain; most inner events need no
  // wake-up, being simulated just as exactly afterwards. kNeverNs = no need.
  uint64_t NextWakeNs() const;
  // Simulates all that happens up to `now_ns`. Commands submitted before must be in by now.
  void AdvanceTo(uint64_t now_ns);

  uint64_t now_ns() const { return now_ns_; }
  const std::unordered_map<uint64_t, ClientState>& clients() const { return clients_; }
  uint64_t kernels_total() const { return kernels_total_; }
  uint64_t clients_total() const { return clients_total_; }
  size_t running_kernels() const;
  uint32_t device_count() const { return static_cast<uint32_t>(devices_.size()); }

 private:
  // One of the devices.
  struct Device {
    Device(const model::DeviceDescription& description, bool mps);
    model::FluidModel model;
    CopyEngine copy_engines[2];  // host to device; device to host, and to other devices
  };
  struct Timer {
    uint64_t at_ns;
    uint64_t order;  // ties: first set, first served
    uint64_t stream_uid;
    bool operator>(const Timer& other) const {
      return at_ns != other.at_ns ? at_ns > other.at_ns : order > other.order;
    }
  };

  // Submission.
  Status OpenContext(ClientState& client, const Command& command);
  Result<StreamState*> TargetStream(ClientState& client, const Command& command);
  Result<StreamState*> OpenStream(ClientState& client, const Command& command);
  StreamState& NewStream(ClientState& client);
  QueuedCommand Compact(const Command& command);
  void SetCost(const model::KernelGeometry& geometry, QueuedCommand* queued);

  // Simulation.
  void DrainReady();
  void LookAtHead(StreamState& stream);
  bool StartHead(StreamState& stream);  // true: it is finished already
  void StartKernel(StreamState& stream);
  uint32_t LaunchError(const StreamState& stream) const;
  void StartCopy(StreamState& stream);
  bool StartWait(StreamState& stream);
  void StartHost(StreamState& stream);
  void HostReturned(ClientState& client, uint64_t seq);
  void FinishHead(StreamState& stream, uint64_t start_ns, double mean_sms, uint32_t error);
  void Count(ClientState& client, const StreamState& stream, const QueuedCommand& command);
  void CloseStream(StreamState& stream);
  void RunModelTo(uint64_t at_ns);
  void RunCopiesTo(uint64_t at_ns);
  StreamState* Find(uint64_t uid);
  Device& DeviceOf(const StreamState& stream) { return *devices_[stream.device]; }
  static CopyEngine& EngineFor(Device& device, CopyDirection direction);
  uint64_t WakeOf(const StreamState& stream) const;

  const model::DeviceDescription& device_;
  EngineListener* listener_;
  std::vector<std::unique_ptr<Device>> devices_;
  model::CostTable costs_;
  uint64_t now_ns_;
  uint64_t next_uid_ = 1;
  uint64_t next_timer_ = 0;
  std::unordered_map<uint64_t, ClientState> clients_;
  std::unordered_map<uint64_t, std::unique_ptr<StreamState>> streams_;  // by uid
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  std::vector<uint64_t> ready_;  // streams whose head is to be looked at
  std::vector<uint64_t> busy_;   // streams whose head runs in the model
  std::vector<model::KernelEnd> kernel_ends_;
  std::vector<CopyEnd> copy_ends_;
  uint64_t kernels_total_ = 0;
  uint64_t clients_total_ = 0;
};

}  // namespace sgprs::simgpu

#endif  // SGPRS_TOOLS_SIMGPU_DEVICE_ENGINE_H_
