// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/device/engine.h"

#include <algorithm>
#include <string>

#include "tools/simgpu/device/command_check.h"

namespace sgprs::simgpu {
namespace {

constexpr uint32_t kPrimaryContext = 1;  // of device 0; the next ones of the next devices
constexpr size_t kMaxStreams = 65536;    // of one client
constexpr size_t kMaxContexts = 65536;
constexpr uint32_t kFillThreads = 256;
constexpr uint64_t kFillBytesPerBlock = 4096;
// How late the end of a command may be told that nobody asks for.
constexpr uint64_t kLazyNs = 500'000;

// CUresult values that the device itself gives.
constexpr uint32_t kLaunchOutOfResources = 701;
constexpr uint32_t kCooperativeLaunchTooLarge = 720;

// Moves memory on the SMs: `traffic` bytes of DRAM for `bytes` of data.
model::KernelGeometry MemoryKernel(uint64_t bytes, double traffic) {
  model::KernelGeometry geometry;
  geometry.blocks = std::max<uint64_t>(1, bytes / kFillBytesPerBlock);
  geometry.threads = kFillThreads;
  geometry.dram_bytes = std::max(1.0, traffic);
  return geometry;
}

bool NeedsClient(CommandKind kind) {
  return kind == CommandKind::kHostFunction || kind == CommandKind::kWaitValue;
}

}  // namespace

// 1024 us: the open driver's default time slice (facts/cuda.md 5).
Engine::Device::Device(const model::DeviceDescription& description, bool mps)
    : model(description, {.time_slice_ns = mps ? 0u : 1'024'000u}),
      copy_engines{{description.host_to_device_bytes_per_ns, description.copy_latency_ns},
                   {description.device_to_host_bytes_per_ns, description.copy_latency_ns}} {}

Engine::Engine(const model::DeviceDescription& device, bool mps, EngineListener* listener,
               uint64_t now_ns, uint32_t device_count)
    : device_(device), listener_(listener), costs_(device), now_ns_(now_ns) {
  for (uint32_t i = 0; i < std::clamp(device_count, 1u, kMaxDevices); ++i) {
    devices_.push_back(std::make_unique<Device>(device, mps));
  }
}

CopyEngine& Engine::EngineFor(Device& device, CopyDirection direction) {
  return device.copy_engines[direction == CopyDirection::kHostToDevice ? 0 : 1];
}

size_t Engine::running_kernels() const {
  size_t running = 0;
  for (const auto& device : devices_) running += device->model.running();
  return running;
}

void Engine::AddClient(uint64_t client_id, uint32_t pid) {
  ClientState& client = clients_[client_id];
  client.id = client_id;
  client.pid = pid;
  for (uint32_t i = 0; i < device_count(); ++i) client.contexts[kPrimaryContext + i] = {0, i};
  client.control_uid = NewStream(client).uid;
  ++clients_total_;
}

void Engine::RemoveClient(uint64_t client_id) {
  auto found = clients_.find(client_id);
  if (found == clients_.end()) return;
  for (uint64_t uid : found->second.all_streams) {
    StreamState& stream = *streams_[uid];
    if (stream.head == StreamState::Head::kKernel) {
      DeviceOf(stream).model.Remove(stream.kernel);
      std::erase(busy_, uid);
    }
    if (stream.head == StreamState::Head::kCopying) {
      EngineFor(DeviceOf(stream), stream.queue.front().direction).Remove(uid, now_ns_);
    }
    streams_.erase(uid);  // timers and ready_ look it up in vain
  }
  clients_.erase(found);
}

// --- submission ---------------------------------------------------------------------------------

Status Engine::Submit(uint64_t client_id, const Command& command) {
  ClientState& client = clients_.at(client_id);
  if (Status status = CheckCommand(device_, command); !status.ok()) return status;
  Result<StreamState*> target = TargetStream(client, command);
  if (!target.ok()) return target.status();
  client.finished.push_back(false);
  ++client.counters.commands;
  StreamState& stream = **target;
  stream.queue.push_back(Compact(command));
  if (stream.head == StreamState::Head::kIdle) ready_.push_back(stream.uid);
  return Status::Ok();
}

QueuedCommand Engine::Compact(const Command& command) {
  QueuedCommand queued;
  queued.seq = command.seq;
  queued.submit_ns = command.submit_ns;
  queued.kind = static_cast<CommandKind>(command.kind);
  queued.direction = static_cast<CopyDirection>(command.direction);
  queued.wait_seq = command.wait_seq;
  queued.bytes = command.bytes;
  queued.name_hash = command.name_hash;
  queued.cooperative = command.cooperative != 0;
  queued.blocks = command.blocks;
  queued.priority = command.priority;
  queued.has_priority = command.has_priority != 0;
  queued.fault = command.fault;
  const auto bytes = static_cast<double>(command.bytes);
  if (queued.kind == CommandKind::kKernel) {
    SetCost({command.blocks, command.threads, command.shared_bytes, command.registers,
             command.flops, command.dram_bytes},
            &queued);
  } else if (queued.kind == CommandKind::kFill) {
    SetCost(MemoryKernel(command.bytes, bytes), &queued);
  } else if (queued.kind == CommandKind::kCopy) {
    queued.least_ns = static_cast<uint64_t>(device_.copy_latency_ns);
    if (queued.direction == CopyDirection::kDeviceToDevice) {
      SetCost(MemoryKernel(command.bytes, 2 * bytes), &queued);  // read and written
    }
  }
  return queued;
}

void Engine::SetCost(const model::KernelGeometry& geometry, QueuedCommand* queued) {
  queued->cost = costs_.Get(geometry);
  queued->least_ns = static_cast<uint64_t>(
      std::min(queued->cost->TimeNs(device_.sm_count), static_cast<double>(kLazyNs)));
}

Status Engine::OpenContext(ClientState& client, const Command& command) {
  if (client.contexts.size() >= kMaxContexts) {
    return Status(ErrorCode::kExhausted, "too many contexts");
  }
  if (command.device >= device_count()) {
    return Status(ErrorCode::kInvalid, "unknown device " + std::to_string(command.device));
  }
  const bool primary = command.context == kPrimaryContext + command.device;
  const bool reserved = command.context < kPrimaryContext + device_count() && !primary;
  if (reserved || (client.contexts.count(command.context) != 0 && !primary)) {
    return Status(ErrorCode::kInvalid,
                  "context " + std::to_string(command.context) + " exists already");
  }
  client.contexts[command.context] = {command.sm_limit, command.device};
  return Status::Ok();
}

Result<StreamState*> Engine::TargetStream(ClientState& client, const Command& command) {
  const auto kind = static_cast<CommandKind>(command.kind);
  StreamState* control = Find(client.control_uid);
  if (kind == CommandKind::kContextCreate) {
    if (Status status = OpenContext(client, command); !status.ok()) return status;
    return control;
  }
  if (kind == CommandKind::kContextDestroy) {
    if (client.contexts.erase(command.context) == 0) {
      return Status(ErrorCode::kInvalid, "unknown context " + std::to_string(command.context));
    }
    return control;
  }
  if (kind == CommandKind::kHostDone) {
    if (client.host_waits.count(command.wait_seq) == 0) {
      return Status(ErrorCode::kInvalid,
                    "no host function runs as command " + std::to_string(command.wait_seq));
    }
    return control;
  }
  if (kind == CommandKind::kStreamCreate) return OpenStream(client, command);
  const auto found = client.stream_uids.find(command.stream);
  if (found == client.stream_uids.end()) {
    return Status(ErrorCode::kInvalid, "unknown stream " + std::to_string(command.stream));
  }
  StreamState* stream = Find(found->second);
  if (kind == CommandKind::kStreamDestroy) {
    stream->closing = true;
    client.stream_uids.erase(found);
  }
  return stream;
}

Result<StreamState*> Engine::OpenStream(ClientState& client, const Command& command) {
  const auto context = client.contexts.find(command.context);
  if (context == client.contexts.end()) {
    return Status(ErrorCode::kInvalid, "unknown context " + std::to_string(command.context));
  }
  if (client.all_streams.size() >= kMaxStreams) {
    return Status(ErrorCode::kExhausted, "too many streams");
  }
  if (client.stream_uids.count(command.stream) != 0) {
    return Status(ErrorCode::kInvalid,
                  "stream " + std::to_string(command.stream) + " exists already");
  }
  StreamState& stream = NewStream(client);
  stream.id = command.stream;
  stream.context = command.context;
  stream.context_limit = context->second.sm_limit;
  stream.device = context->second.device;
  stream.priority = command.priority;
  stream.sm_limit = command.sm_limit;
  stream.sm_set = model::SmSet(command.sm_set);
  stream.partition_sms = stream.sm_set.Empty() ? device_.sm_count : stream.sm_set.Count();
  for (uint32_t limit : {stream.sm_limit, stream.context_limit}) {
    if (limit != 0) stream.partition_sms = std::min(stream.partition_sms, limit);
  }
  client.stream_uids[command.stream] = stream.uid;
  return &stream;
}

StreamState& Engine::NewStream(ClientState& client) {
  auto stream = std::make_unique<StreamState>();
  stream->uid = next_uid_++;
  stream->client_id = client.id;
  client.all_streams.insert(stream->uid);
  return *(streams_[stream->uid] = std::move(stream));
}

StreamState* Engine::Find(uint64_t uid) {
  const auto found = streams_.find(uid);
  return found != streams_.end() ? found->second.get() : nullptr;
}

void Engine::SetAsked(uint64_t client_id, bool all, std::vector<uint64_t> seqs) {
  ClientState& client = clients_.at(client_id);
  client.asks_all = all;
  client.asked = std::move(seqs);
}

// --- time ---------------------------------------------------------------------------------------

uint64_t Engine::NextEventNs() const {
  if (!ready_.empty()) return now_ns_;
  uint64_t next_ns = model::kNeverNs;
  for (const auto& device : devices_) {
    for (const CopyEngine& engine : device->copy_engines) {
      next_ns = std::min(next_ns, engine.NextEndNs());
    }
    next_ns = std::min(next_ns, device->model.NextEventNs());
  }
  if (!timers_.empty()) next_ns = std::min(next_ns, timers_.top().at_ns);
  return next_ns;
}

uint64_t Engine::NextWakeNs() const {
  if (!ready_.empty()) return now_ns_;
  uint64_t wake_ns = model::kNeverNs;
  for (const auto& device : devices_) {
    for (const CopyEngine& engine : device->copy_engines) {
      wake_ns = std::min(wake_ns, engine.NextEndNs());
    }
  }
  if (!timers_.empty()) wake_ns = std::min(wake_ns, timers_.top().at_ns);
  for (uint64_t uid : busy_) wake_ns = std::min(wake_ns, WakeOf(*streams_.at(uid)));
  return wake_ns;
}

uint64_t Engine::WakeOf(const StreamState& stream) const {
  // Only an end that the client asks for, that another stream waits for or that a host function
  // follows is to be told at once: so much later at least.
  const ClientState& client = clients_.at(stream.client_id);
  uint64_t least_ns = kLazyNs;
  uint64_t later_ns = 0;  // command i ends so long after the first one, at least
  for (size_t i = 0; i < stream.queue.size() && later_ns < kLazyNs; ++i) {
    if (i > 0) later_ns += stream.queue[i].least_ns;
    const bool before_host = i + 1 < stream.queue.size() && NeedsClient(stream.queue[i + 1].kind);
    if (before_host || client.IsAsked(stream.queue[i].seq) ||
        client.waiters.count(stream.queue[i].seq) != 0) {
      least_ns = later_ns;
      break;
    }
  }
  const model::FluidModel& model = devices_[stream.device]->model;
  const uint64_t earliest_ns = model.EarliestEndNs(stream.kernel);
  const uint64_t predicted_ns = model.PredictedEndNs(stream.kernel);
  uint64_t look_ns = model.NextEventNs();
  if (predicted_ns != model::kNeverNs) {
    // Others that end speed it up, but hardly to the double: look again half-way.
    look_ns = std::max(look_ns, now_ns_ + (predicted_ns - now_ns_) / 2);
    look_ns = std::min(look_ns, predicted_ns);
  }
  if (look_ns == model::kNeverNs || earliest_ns == model::kNeverNs) return look_ns;
  return std::max(earliest_ns, look_ns) + std::min(least_ns, kLazyNs);
}

void Engine::AdvanceTo(uint64_t now_ns) {
  DrainReady();
  for (uint64_t at_ns = NextEventNs(); at_ns <= now_ns; at_ns = NextEventNs()) {
    now_ns_ = std::max(now_ns_, at_ns);
    RunModelTo(now_ns_);
    RunCopiesTo(now_ns_);
    while (!timers_.empty() && timers_.top().at_ns <= now_ns_) {
      StreamState* stream = Find(timers_.top().stream_uid);
      timers_.pop();
      if (stream == nullptr) continue;
      stream->head = StreamState::Head::kIdle;
      ready_.push_back(stream->uid);
    }
    DrainReady();
  }
  now_ns_ = std::max(now_ns_, now_ns);
  RunModelTo(now_ns_);  // no event is left: moves its clock
}

void Engine::RunModelTo(uint64_t at_ns) {
  kernel_ends_.clear();
  for (const auto& device : devices_) device->model.Advance(at_ns, &kernel_ends_);
  for (const model::KernelEnd& end : kernel_ends_) {
    std::erase(busy_, end.tag);
    FinishHead(*streams_.at(end.tag), end.start_ns, end.mean_sms, 0);
  }
}

void Engine::RunCopiesTo(uint64_t at_ns) {
  copy_ends_.clear();
  for (const auto& device : devices_) {
    for (CopyEngine& engine : device->copy_engines) engine.Advance(at_ns, &copy_ends_);
  }
  for (const CopyEnd& end : copy_ends_) FinishHead(*streams_.at(end.tag), end.start_ns, 0, 0);
}

// --- streams ------------------------------------------------------------------------------------

void Engine::DrainReady() {
  for (size_t i = 0; i < ready_.size(); ++i) {  // grows meanwhile
    const uint64_t uid = ready_[i];
    for (StreamState* stream = Find(uid); stream != nullptr; stream = Find(uid)) {
      if (stream->head != StreamState::Head::kIdle || stream->queue.empty()) break;
      LookAtHead(*stream);
    }
  }
  ready_.clear();
}

void Engine::LookAtHead(StreamState& stream) {
  const QueuedCommand& command = stream.queue.front();
  if (command.submit_ns > now_ns_) {
    stream.head = StreamState::Head::kFuture;
    timers_.push({command.submit_ns, next_timer_++, stream.uid});
    return;
  }
  stream.head_start_ns = now_ns_;
  const bool destroy = command.kind == CommandKind::kStreamDestroy;
  if (!StartHead(stream)) return;
  FinishHead(stream, now_ns_, 0, 0);
  if (destroy) CloseStream(stream);
}

bool Engine::StartHead(StreamState& stream) {
  const QueuedCommand& command = stream.queue.front();
  switch (command.kind) {
    case CommandKind::kKernel:
    case CommandKind::kFill:
      StartKernel(stream);
      return false;
    case CommandKind::kCopy:
      StartCopy(stream);
      return false;
    case CommandKind::kWait:
      return StartWait(stream);
    case CommandKind::kHostFunction:
    case CommandKind::kWaitValue:
      StartHost(stream);
      return false;
    case CommandKind::kStreamPriority:
      stream.priority = command.priority;
      return true;
    case CommandKind::kHostDone:
      HostReturned(clients_.at(stream.client_id), command.wait_seq);
      return true;
    default:
      return true;
  }
}

// 0, or the CUresult of a launch that the device can not run.
uint32_t Engine::LaunchError(const StreamState& stream) const {
  const QueuedCommand& command = stream.queue.front();
  if (command.fault != 0) return command.fault;
  const uint64_t resident = command.cost->resident_blocks();
  if (resident == 0) return kLaunchOutOfResources;
  const bool all_resident = command.blocks <= resident * stream.partition_sms;
  return command.cooperative && !all_resident ? kCooperativeLaunchTooLarge : 0;
}

void Engine::StartKernel(StreamState& stream) {
  ClientState& client = clients_.at(stream.client_id);
  if (stream.queue.front().kind == CommandKind::kKernel) {
    ++client.counters.kernels_started;
    const uint32_t error = LaunchError(stream);
    if (error != 0) return FinishHead(stream, now_ns_, 0, error);
  }
  model::KernelLaunch launch;
  launch.cost = stream.queue.front().cost;
  launch.tag = stream.uid;
  launch.process = client.id;
  const QueuedCommand& command = stream.queue.front();
  launch.priority = command.has_priority ? command.priority : stream.priority;
  launch.sm_set = stream.sm_set;
  launch.sm_limit = stream.sm_limit;
  launch.context = client.id << 32 | stream.context;
  launch.context_limit = stream.context_limit;
  stream.kernel = DeviceOf(stream).model.AddKernel(launch, now_ns_);
  stream.head = StreamState::Head::kKernel;
  busy_.push_back(stream.uid);
}

void Engine::StartCopy(StreamState& stream) {
  const QueuedCommand& command = stream.queue.front();
  if (command.direction == CopyDirection::kDeviceToDevice) return StartKernel(stream);
  stream.head = StreamState::Head::kCopying;
  EngineFor(DeviceOf(stream), command.direction).Add(stream.uid, command.bytes, now_ns_);
}

bool Engine::StartWait(StreamState& stream) {
  ClientState& client = clients_.at(stream.client_id);
  const uint64_t seq = stream.queue.front().wait_seq;
  if (client.IsFinished(seq)) return true;
  client.waiters[seq].push_back(stream.uid);
  stream.head = StreamState::Head::kWaiting;
  return false;
}

void Engine::StartHost(StreamState& stream) {
  const uint64_t seq = stream.queue.front().seq;
  clients_.at(stream.client_id).host_waits[seq] = stream.uid;
  stream.head = StreamState::Head::kHost;
  listener_->OnLog(stream.client_id,
                   {seq, now_ns_, now_ns_, static_cast<uint32_t>(LogKind::kRunHost), 0});
}

void Engine::HostReturned(ClientState& client, uint64_t seq) {
  const auto found = client.host_waits.find(seq);
  if (found == client.host_waits.end()) return;  // said twice
  StreamState* stream = Find(found->second);
  client.host_waits.erase(found);
  FinishHead(*stream, stream->head_start_ns, 0, 0);
}

void Engine::FinishHead(StreamState& stream, uint64_t start_ns, double mean_sms, uint32_t error) {
  ClientState& client = clients_.at(stream.client_id);
  const QueuedCommand command = std::move(stream.queue.front());
  stream.queue.pop_front();
  stream.head = StreamState::Head::kIdle;
  if (!stream.queue.empty()) ready_.push_back(stream.uid);
  client.SetFinished(command.seq);
  Count(client, stream, command);
  const auto kind = error == 0 ? LogKind::kDone : LogKind::kError;
  listener_->OnLog(client.id, {command.seq, start_ns, now_ns_, static_cast<uint32_t>(kind), error});
  listener_->OnFinished({client, stream, command, start_ns, now_ns_, mean_sms, error});
  const auto waiters = client.waiters.find(command.seq);
  if (waiters == client.waiters.end()) return;
  const std::vector<uint64_t> uids = std::move(waiters->second);
  client.waiters.erase(waiters);
  for (uint64_t uid : uids) {  // each looks at its kWait again, which is over now
    Find(uid)->head = StreamState::Head::kIdle;
    ready_.push_back(uid);
  }
}

void Engine::Count(ClientState& client, const StreamState& stream, const QueuedCommand& command) {
  switch (command.kind) {
    case CommandKind::kKernel:
      ++client.counters.kernels;
      ++client.counters.kernels_by_sms[stream.partition_sms];
      ++kernels_total_;
      break;
    case CommandKind::kCopy:
      ++client.counters.copies;
      break;
    case CommandKind::kFill:
      ++client.counters.fills;
      break;
    case CommandKind::kEventRecord:
      ++client.counters.events;
      break;
    case CommandKind::kHostFunction:
    case CommandKind::kWaitValue:
      ++client.counters.host_functions;
      break;
    default:
      break;
  }
}

void Engine::CloseStream(StreamState& stream) {
  clients_.at(stream.client_id).all_streams.erase(stream.uid);
  streams_.erase(stream.uid);
}

}  // namespace sgprs::simgpu
