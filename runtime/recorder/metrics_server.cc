// SPDX-License-Identifier: Apache-2.0
#include "runtime/recorder/metrics_server.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/observe/open_metrics.h"

namespace sgprs::recorder {
namespace {

constexpr uint64_t kSweepNs = 5 * kNsPerMs;  // an answer that did not fit goes on so often

Status Failed(const std::string& what, const std::string& address) {
  return Status(ErrorCode::kInvalid,
                what + " for metrics on " + address + ": " + std::strerror(errno));
}

// A socket file that nobody listens on any more.
void RemoveStale(const sockaddr_un& address) {
  struct stat found = {};
  if (lstat(address.sun_path, &found) != 0 || !S_ISSOCK(found.st_mode)) return;
  UniqueFd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto* raw = reinterpret_cast<const sockaddr*>(&address);
  if (connect(probe.get(), raw, sizeof(address)) != 0 && errno == ECONNREFUSED) {
    unlink(address.sun_path);
  }
}

}  // namespace

Result<std::unique_ptr<MetricsServer>> MetricsServer::Open(loop::Loop* loop,
                                                           const std::string& address,
                                                           std::function<std::string()> text) {
  std::unique_ptr<MetricsServer> server(new MetricsServer(loop, std::move(text)));
  if (Status listening = server->Listen(address); !listening.ok()) return listening;
  MetricsServer* raw = server.get();
  raw->watch_ = loop->WatchConnections(raw->listening_.get(),
                                       [raw](UniqueFd fd) { raw->Accept(std::move(fd)); });
  return server;
}

MetricsServer::~MetricsServer() {
  if (watch_ != 0) loop_->Remove(watch_);
  while (!connections_.empty()) Close(connections_.begin()->first);
  if (sweep_ != 0) loop_->RemoveTimer(sweep_);
  if (!path_.empty()) unlink(path_.c_str());
}

Status MetricsServer::Listen(const std::string& address) {
  const bool is_path = !address.empty() && address[0] == '/';
  uint16_t port = 0;
  const char* end = address.data() + address.size();
  const auto parsed = std::from_chars(address.data(), end, port);
  if (!is_path && (parsed.ec != std::errc() || parsed.ptr != end || port == 0)) {
    return Status(ErrorCode::kInvalid,
                  "metrics are served on an absolute path or a port from 1 to "
                  "65535, not \"" +
                      address + "\"");
  }
  sockaddr_un path = {.sun_family = AF_UNIX, .sun_path = {}};
  if (is_path && address.size() >= sizeof(path.sun_path)) {
    errno = ENAMETOOLONG;
    return Failed("a socket", address);
  }
  listening_.reset(
      socket(is_path ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listening_.valid()) return Failed("a socket", address);
  int bound = -1;
  if (is_path) {
    std::memcpy(path.sun_path, address.c_str(), address.size() + 1);
    RemoveStale(path);
    bound = bind(listening_.get(), reinterpret_cast<const sockaddr*>(&path), sizeof(path));
    if (bound == 0) path_ = address;
    if (bound == 0) chmod(address.c_str(), 0660);
  } else {
    const int on = 1;
    setsockopt(listening_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    sockaddr_in local = {};
    local.sin_family = AF_INET;
    local.sin_port = htons(port);
    local.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bound = bind(listening_.get(), reinterpret_cast<const sockaddr*>(&local), sizeof(local));
  }
  if (bound != 0) return Failed("a place", address);
  return listen(listening_.get(), kMostConnections) == 0 ? Status::Ok()
                                                         : Failed("listening", address);
}

void MetricsServer::Accept(UniqueFd fd) {
  if (connections_.size() == kMostConnections) return;  // closes it
  const uint64_t id = next_id_++;
  Connection& connection = connections_[id];
  connection.fd = std::move(fd);
  connection.until_ns = NowNs() + kPatienceNs;
  connection.watch = loop_->WatchReadable(connection.fd.get(), [this, id] { Read(id); });
  if (sweep_ == 0) sweep_ = loop_->Every(kSweepNs, [this] { Sweep(); });
}

void MetricsServer::Read(uint64_t id) {
  Connection& connection = connections_.at(id);
  char bytes[1024];
  const ssize_t got = recv(connection.fd.get(), bytes, sizeof(bytes), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return Close(id);
  connection.request.append(bytes, static_cast<size_t>(got));
  if (connection.request.size() > kMostRequestBytes) return Close(id);
  if (connection.request.find("\r\n\r\n") == std::string::npos &&
      connection.request.find("\n\n") == std::string::npos) {
    return;
  }
  loop_->Remove(connection.watch);
  connection.watch = 0;
  connection.answer = observe::OpenMetricsHttp(text_());
  Send(id);
}

void MetricsServer::Send(uint64_t id) {
  Connection& connection = connections_.at(id);
  while (connection.sent < connection.answer.size()) {
    const ssize_t sent =
        send(connection.fd.get(), connection.answer.data() + connection.sent,
             connection.answer.size() - connection.sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return;  // Sweep() goes on
    if (sent <= 0) break;
    connection.sent += static_cast<size_t>(sent);
  }
  Close(id);
}

void MetricsServer::Sweep() {
  const uint64_t now_ns = NowNs();
  std::vector<uint64_t> sending;
  std::vector<uint64_t> over;
  for (const auto& [id, connection] : connections_) {
    if (now_ns >= connection.until_ns) {
      over.push_back(id);
    } else if (!connection.answer.empty()) {
      sending.push_back(id);
    }
  }
  for (const uint64_t id : over) Close(id);
  for (const uint64_t id : sending) Send(id);
  if (!connections_.empty()) return;
  loop_->RemoveTimer(sweep_);
  sweep_ = 0;
}

void MetricsServer::Close(uint64_t id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  if (found->second.watch != 0) loop_->Remove(found->second.watch);
  connections_.erase(found);
}

}  // namespace sgprs::recorder
