// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/device/server.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "tools/simgpu/device/bell.h"
#include "tools/simgpu/device/socket.h"
#include "tools/simgpu/device/stats.h"

namespace sgprs::simgpu {
namespace {

constexpr uint64_t kBellBytes = 4096;
constexpr size_t kMaxClients = 1024;
constexpr size_t kMaxPeers = 2048;
constexpr size_t kMaxOpen = 1 << 18;      // commands of one client; then its ring is left full
constexpr size_t kMaxShownClients = 300;  // so that the text fits one packet
constexpr int kSendBufferBytes = 1 << 20;
// The doorbell is writable by every client, so a ring can be lost to a hostile one: look anyway.
constexpr uint64_t kLongestSleepNs = 50'000'000;
// A client that reads its log slowly says nothing when it has made room.
constexpr uint64_t kBacklogSleepNs = 1'000'000;

// CUresult values of a refused Welcome.
constexpr uint32_t kOutOfMemory = 2;
constexpr uint32_t kDriverMismatch = 803;
constexpr uint32_t kTooManyClients = 808;

Status SystemError(const char* what) {
  return Status(ErrorCode::kInternal, std::string(what) + ": " + strerror(errno));
}

Welcome WelcomeOf(const ServerOptions& options, uint64_t client_id) {
  const model::DeviceDescription& device = *options.device;
  Welcome welcome{};
  welcome.magic = kMagic;
  welcome.version = kVersion;
  welcome.mps = options.mps ? 1 : 0;
  device.display_name.copy(welcome.name, sizeof(welcome.name) - 1);
  std::memcpy(welcome.uuid, "simgpu:", 7);
  device.name.copy(reinterpret_cast<char*>(welcome.uuid) + 7, 9);
  welcome.sm_count = device.sm_count;
  welcome.sm_minimum = device.sm_minimum;
  welcome.sm_alignment = device.sm_alignment;
  welcome.compute_major = device.compute_major;
  welcome.compute_minor = device.compute_minor;
  welcome.copy_engines = device.copy_engines;
  welcome.memory_bytes = device.memory_bytes;
  welcome.shared_bytes_per_sm = device.shared_bytes_per_sm;
  welcome.threads_per_sm = device.threads_per_sm;
  welcome.blocks_per_sm = device.blocks_per_sm;
  welcome.registers_per_sm = device.registers_per_sm;
  welcome.clock_khz = device.clock_khz;
  welcome.memory_clock_khz = device.memory_clock_khz;
  welcome.memory_bus_bits = device.memory_bus_bits;
  welcome.l2_bytes = device.l2_bytes;
  welcome.priority_least = device.priority_least;
  welcome.priority_greatest = device.priority_greatest;
  welcome.shared_bytes_per_block = device.shared_bytes_per_block;
  welcome.shared_bytes_per_block_optin = device.shared_bytes_per_block_optin;
  welcome.client_id = client_id;
  welcome.device_count = options.device_count;
  return welcome;
}

}  // namespace

Result<std::unique_ptr<Server>> Server::Make(const ServerOptions& options) {
  std::unique_ptr<Server> server(new Server(options));
  if (!options.log_path.empty()) {
    Result<CommandLog> log = CommandLog::Open(options.log_path);
    if (!log.ok()) return log.status();
    server->log_ = std::move(log).value();
  }
  if (Status status = server->Open(); !status.ok()) return status;
  return server;
}

Server::Server(const ServerOptions& options)
    : options_(options),
      started_ns_(NowNs()),
      engine_(*options.device, options.mps, this, started_ns_, options.device_count) {}

Server::~Server() {
  Close();
  if (bell_ != nullptr) munmap(bell_, kBellBytes);
}

Status Server::Open() {
  Result<UniqueFd> bell = MakeSealedMemory("simgpu-bell", kBellBytes);
  if (!bell.ok()) return bell.status();
  bell_fd_ = std::move(bell).value();
  void* page = mmap(nullptr, kBellBytes, PROT_READ | PROT_WRITE, MAP_SHARED, bell_fd_.get(), 0);
  if (page == MAP_FAILED) return SystemError("map of the doorbell");
  bell_ = static_cast<Doorbell*>(page);

  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  signals_.reset(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  stop_event_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_.reset(epoll_create1(EPOLL_CLOEXEC));
  if (!signals_.valid() || !stop_event_.valid() || !epoll_.valid()) return SystemError("epoll");

  spare_fd_.reset(open("/dev/null", O_RDONLY | O_CLOEXEC));
  Result<UniqueFd> listener = ListenOn(options_.socket_path);
  if (!listener.ok()) return listener.status();
  listener_ = std::move(listener).value();
  for (int fd : {listener_.get(), signals_.get(), stop_event_.get()}) {
    if (Status status = Watch(fd); !status.ok()) return status;
  }
  return Status::Ok();
}

Status Server::Watch(int fd) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP;
  event.data.fd = fd;
  return epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0 ? Status::Ok()
                                                                 : SystemError("epoll_ctl");
}

Status Server::Run() {
  prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  watcher_ = std::thread([this] { WatchSockets(); });
  while (!stopping_) TurnOnce();
  // release: pairs with the watcher's acquire.
  watcher_stops_.store(true, std::memory_order_release);
  const uint64_t one = 1;
  (void)!write(stop_event_.get(), &one, sizeof(one));
  sockets_handled_.release();
  watcher_.join();
  if (log_) log_->Flush();
  Close();
  return Status::Ok();
}

void Server::Close() {
  if (!listener_.valid()) return;
  unlink(options_.socket_path.c_str());
  listener_.reset();
  clients_.clear();
  peers_.clear();  // last: who asked for the end sees it when all else is done
}

void Server::WatchSockets() {
  for (;;) {
    pollfd item{epoll_.get(), POLLIN, 0};
    poll(&item, 1, -1);
    // acquire: pairs with Run's release.
    if (watcher_stops_.load(std::memory_order_acquire)) return;
    if ((item.revents & POLLIN) == 0) continue;
    // release: pairs with TurnOnce's exchange.
    sockets_ready_.store(true, std::memory_order_release);
    RingBell(bell_);
    sockets_handled_.acquire();
    if (watcher_stops_.load(std::memory_order_acquire)) return;
  }
}

// --- the working thread -------------------------------------------------------------------------

void Server::TurnOnce() {
  const uint32_t sequence = BellSequence(bell_);
  // acq_rel: pairs with the watcher's release.
  if (sockets_ready_.exchange(false, std::memory_order_acq_rel)) {
    HandleSockets();
    sockets_handled_.release();
  }
  // Read before the commands are: what was submitted until then is in when time goes there.
  const uint64_t now_ns = NowNs();
  DrainCommands();
  engine_.AdvanceTo(now_ns);
  FlushLogs();
  CutFaulty();
  if (!stopping_) SleepUntilNeeded(sequence);
}

void Server::DrainCommands() {
  for (auto& [id, client] : clients_) {
    DrainClient(id, &client);
    ReadAsked(id, &client);
  }
}

void Server::ReadAsked(uint64_t id, Client* client) {
  const uint64_t asks = client->channel->Asks();
  if (asks == client->asks) return;
  client->asks = asks;
  Channel::Asked asked = client->channel->ReadAsked();
  engine_.SetAsked(id, asked.all, std::move(asked.seqs));
}

void Server::DrainClient(uint64_t id, Client* client) {
  Result<uint64_t> pending = client->channel->Pending();
  if (!pending.ok()) {
    client->fault = pending.status().text();
    return;
  }
  if (*pending == 0) return;
  if (engine_.clients().at(id).open_commands() + client->channel->unsent() > kMaxOpen) return;
  const uint64_t now_ns = NowNs();
  Command command;
  for (uint64_t i = 0; i < *pending; ++i) {
    Status status = client->channel->Take(&command);
    if (status.ok()) {
      command.submit_ns = std::min(command.submit_ns, now_ns);
      status = engine_.Submit(id, command);
    }
    if (!status.ok()) {
      client->fault = "command " + std::to_string(command.seq) + ": " + status.text();
      return;
    }
  }
  client->channel->PublishTaken();
}

void Server::OnLog(uint64_t client_id, const LogEntry& entry) {
  Client& client = clients_.at(client_id);
  client.channel->Append(entry);
  client.touched = true;
}

void Server::OnFinished(const FinishedCommand& finished) {
  if (log_) log_->Write(finished);
}

void Server::FlushLogs() {
  for (auto& [id, client] : clients_) {
    if (!client.touched || !client.fault.empty()) continue;
    const uint64_t kernels = engine_.clients().at(id).counters.kernels;
    const Status status = client.channel->FlushLog(engine_.now_ns(), kernels);
    if (!status.ok()) client.fault = status.text();
    client.touched = client.channel->unsent() > 0;
  }
}

void Server::CutFaulty() {
  for (auto next = clients_.begin(); next != clients_.end();) {
    const auto& [id, client] = *next++;
    if (client.fault.empty()) continue;
    std::fprintf(stderr, "simgpu: client %llu (pid %u) is cut: %s\n",
                 static_cast<unsigned long long>(id), client.pid, client.fault.c_str());
    DropPeer(client.socket);
  }
}

bool Server::AnyPending() const {
  return std::any_of(clients_.begin(), clients_.end(), [this](const auto& entry) {
    const Result<uint64_t> pending = entry.second.channel->Pending();
    if (!pending.ok() || entry.second.channel->Asks() != entry.second.asks) return true;
    return *pending > 0 &&
           engine_.clients().at(entry.first).open_commands() + entry.second.channel->unsent() <=
               kMaxOpen;
  });
}

void Server::SleepUntilNeeded(uint32_t sequence) {
  const uint64_t now_ns = NowNs();
  uint64_t wake_ns = engine_.NextWakeNs();
  if (wake_ns <= now_ns) return;
  if (log_ && wake_ns - now_ns > kLongestSleepNs) log_->Flush();
  const bool backlog = std::any_of(clients_.begin(), clients_.end(),
                                   [](const auto& entry) { return entry.second.touched; });
  wake_ns = std::min(wake_ns, now_ns + (backlog ? kBacklogSleepNs : kLongestSleepNs));
  AnnounceSleep(bell_);
  // acquire: pairs with the watcher's release; its ring comes after and changes the sequence.
  if (AnyPending() || sockets_ready_.load(std::memory_order_acquire)) {
    CancelSleep(bell_);
    return;
  }
  SleepUntil(bell_, sequence, wake_ns);
}

// --- sockets and signals ------------------------------------------------------------------------

void Server::HandleSockets() {
  epoll_event events[64];
  const int count = epoll_wait(epoll_.get(), events, 64, 0);
  for (int i = 0; i < count; ++i) {
    const int fd = events[i].data.fd;
    if (fd == listener_.get()) {
      AcceptAll();
    } else if (fd == signals_.get()) {
      stopping_ = true;
    } else if (peers_.count(fd) != 0) {
      HandlePeer(fd);
    }
  }
}

void Server::AcceptAll() {
  for (;;) {
    UniqueFd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid()) {
      if (errno != EMFILE && errno != ENFILE) return;
      // Out of descriptors: hang up on the next in line, or it would wake us for ever.
      spare_fd_.reset();
      UniqueFd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)).reset();
      spare_fd_.reset(open("/dev/null", O_RDONLY | O_CLOEXEC));
      return;
    }
    ucred who{};
    socklen_t size = sizeof(who);
    getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &who, &size);
    const int fd = socket.get();
    if (peers_.size() >= kMaxPeers || !Watch(fd).ok()) continue;  // closes it
    peers_[fd] = Peer{std::move(socket), 0, static_cast<uint32_t>(who.pid), who.uid};
  }
}

void Server::HandlePeer(int fd) {
  Peer& peer = peers_.at(fd);
  Hello hello{};
  const ssize_t size = recv(fd, &hello, sizeof(hello), MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size != sizeof(hello) || peer.client_id != 0) return DropPeer(fd);
  HandleHello(&peer, hello);
}

void Server::HandleHello(Peer* peer, const Hello& hello) {
  const int fd = peer->socket.get();
  if (hello.magic != kMagic || hello.version != kVersion) return Refuse(peer, kDriverMismatch);
  switch (static_cast<HelloKind>(hello.kind)) {
    case HelloKind::kClient:
      return Welcomed(peer);
    case HelloKind::kStats: {
      const std::string text = StatsJson(engine_, *options_.device, options_.mps,
                                         NowNs() - started_ns_, kMaxShownClients);
      setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kSendBufferBytes, sizeof(kSendBufferBytes));
      (void)SendPacket(fd, text.data(), text.size()).ok();
      return DropPeer(fd);
    }
    case HelloKind::kShutdown:
      if (peer->uid != 0 && peer->uid != geteuid()) return DropPeer(fd);
      stopping_ = true;  // the connection ends with the process: that is the answer
      return;
  }
  DropPeer(fd);
}

void Server::Welcomed(Peer* peer) {
  if (clients_.size() >= kMaxClients) return Refuse(peer, kTooManyClients);
  const uint64_t id = next_client_;
  Result<std::unique_ptr<Channel>> channel = Channel::Make(id);
  if (!channel.ok()) return Refuse(peer, kOutOfMemory);
  const int fd = peer->socket.get();
  const Welcome welcome = WelcomeOf(options_, id);
  const int fds[] = {(*channel)->fd(), bell_fd_.get()};
  if (!SendPacket(fd, &welcome, sizeof(welcome), fds).ok()) return DropPeer(fd);
  (*channel)->CloseFd();
  ++next_client_;
  peer->client_id = id;
  engine_.AddClient(id, peer->pid);
  clients_[id] = Client{std::move(channel).value(), fd, peer->pid, 0, false, ""};
}

void Server::Refuse(Peer* peer, uint32_t error) {
  Welcome welcome{};
  welcome.magic = kMagic;
  welcome.version = kVersion;
  welcome.refused = error;
  (void)SendPacket(peer->socket.get(), &welcome, sizeof(welcome)).ok();
  DropPeer(peer->socket.get());
}

void Server::DropPeer(int fd) {
  const auto found = peers_.find(fd);
  if (found == peers_.end()) return;
  const Peer peer = std::move(found->second);  // closes last, after its channel is gone
  peers_.erase(found);
  if (peer.client_id == 0) return;
  engine_.RemoveClient(peer.client_id);
  clients_.erase(peer.client_id);
}

}  // namespace sgprs::simgpu
