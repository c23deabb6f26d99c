// SPDX-License-Identifier: Apache-2.0
#include "runtime/ingress/control_server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace sgprs::ingress {

struct ControlServer::Connection {
  ConnectionId id = 0;
  UniqueFd socket;
  UniqueFd pidfd;
  Peer peer;
  loop::WatchId socket_watch = 0;
  loop::WatchId pidfd_watch = 0;
  loop::TimerId silence = 0;
  bool spoken = false;
  bool admitted = false;
};

ControlServer::ControlServer(loop::Loop* loop, ControlHandler* handler,
                             ControlServerOptions options)
    : loop_(loop), handler_(handler), options_(std::move(options)) {}

ControlServer::~ControlServer() { Close(); }

void ControlServer::Serve(int listening_fd) {
  listening_ =
      loop_->WatchConnections(listening_fd, [this](UniqueFd fd) { Accept(std::move(fd)); });
}

void ControlServer::Close() {
  if (listening_ != 0) loop_->Remove(listening_);
  listening_ = 0;
  for (auto& [id, connection] : connections_) connection->admitted = false;  // no OnGone
  while (!connections_.empty()) Drop(connections_.begin()->first, true);
}

bool ControlServer::Allowed(uid_t uid) const {
  return uid == 0 || uid == geteuid() ||
         std::find(options_.allowed_uids.begin(), options_.allowed_uids.end(), uid) !=
             options_.allowed_uids.end();
}

void ControlServer::Accept(UniqueFd socket) {
  Result<Peer> peer = PeerOf(socket.get());
  if (!peer.ok()) return;  // already gone
  auto made = std::make_unique<Connection>();
  Connection* connection = made.get();
  const ConnectionId id = next_id_++;
  connection->id = id;
  connection->socket = std::move(socket);
  connection->peer = *peer;
  connection->socket_watch =
      loop_->WatchReadable(connection->socket.get(), [this, id] { OnReadable(id); });
  connections_.emplace(id, std::move(made));
  if (connections_.size() > options_.most_connections) {
    return Refuse(connection, {SGPRS_REFUSE_FULL, "too many connections"});
  }
  connection->silence = loop_->At(NowNs() + options_.silence_ns, [this, id] {
    const auto found = connections_.find(id);
    if (found == connections_.end()) return;
    found->second->silence = 0;
    Refuse(found->second.get(), {SGPRS_REFUSE_BAD_MESSAGE, "nothing said after connecting"});
  });
}

void ControlServer::OnReadable(ConnectionId id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection* connection = found->second.get();
  std::array<std::byte, SGPRS_CONTROL_MAX_BYTES> buffer;
  const ssize_t got = recv(connection->socket.get(), buffer.data(), buffer.size(),
                           MSG_DONTWAIT | MSG_TRUNC | MSG_NOSIGNAL);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return Drop(id, true);
  const auto bytes = static_cast<size_t>(got);
  OnPacket(connection, {{buffer.data(), std::min(bytes, buffer.size())}, bytes});
}

void ControlServer::OnPacket(Connection* connection, const Packet& packet) {
  if (!connection->spoken) {
    connection->spoken = true;
    loop_->RemoveTimer(std::exchange(connection->silence, 0));
    if (!Allowed(connection->peer.uid)) {
      return Refuse(connection, {SGPRS_REFUSE_UID, "user " + std::to_string(connection->peer.uid) +
                                                       " may not use this sgprsd"});
    }
  }
  SgprsMessageHeader header;
  Refusal refusal;
  if (!ParseHeader(packet, &header, &refusal)) return Refuse(connection, refusal);
  OnMessage(connection, header, packet);
}

void ControlServer::OnMessage(Connection* connection, const SgprsMessageHeader& header,
                              const Packet& packet) {
  Status wrong;
  switch (header.type) {
    case SGPRS_MESSAGE_HELLO:
      return OnHelloMessage(connection, packet);
    case SGPRS_MESSAGE_READY: {
      SgprsReady ready;
      wrong = ParseReady(packet, &ready);
      if (wrong.ok() && !connection->admitted) {
        wrong = Status(ErrorCode::kInvalid, "READY before HELLO");
      }
      if (wrong.ok()) wrong = handler_->OnReady(connection->id, ready);
      break;
    }
    case SGPRS_MESSAGE_GOODBYE:
      wrong = ParseBare(packet);
      if (wrong.ok()) return Drop(connection->id, true);
      break;
    case SGPRS_MESSAGE_STATE: {
      wrong = ParseBare(packet);
      if (!wrong.ok()) break;
      const SgprsMessageHeader answer = MakeHeader(SGPRS_MESSAGE_STATE, sizeof(answer));
      if (!Send(connection, &answer, sizeof(answer), handler_->StateFd())) {
        Drop(connection->id, true);
      }
      return;
    }
    case SGPRS_MESSAGE_COMMAND: {
      Result<std::string> line = ParseCommand(packet);
      wrong = line.status();
      if (!wrong.ok()) break;
      const ControlHandler::Reply reply = handler_->OnCommand(connection->peer, *line);
      const SgprsCommand answer = MakeReply(reply.status, reply.text);
      if (!Send(connection, &answer, sizeof(answer), -1)) Drop(connection->id, true);
      return;
    }
    default:
      wrong = Status(ErrorCode::kInvalid, "unknown message type " + std::to_string(header.type));
  }
  if (!wrong.ok()) Refuse(connection, {SGPRS_REFUSE_BAD_MESSAGE, wrong.text()});
}

void ControlServer::OnHelloMessage(Connection* connection, const Packet& packet) {
  SgprsHello hello;
  if (Status wrong = ParseHello(packet, &hello); !wrong.ok()) {
    return Refuse(connection, {SGPRS_REFUSE_BAD_MESSAGE, wrong.text()});
  }
  if (connection->admitted) {
    return Refuse(connection, {SGPRS_REFUSE_BAD_MESSAGE, "HELLO twice on one connection"});
  }
  const ConnectionId id = connection->id;
  Result<UniqueFd> pidfd = PidfdOf(connection->socket.get(), connection->peer);
  if (!pidfd.ok()) return Refuse(connection, {SGPRS_REFUSE_FULL, pidfd.status().text()});
  auto answer = handler_->OnHello(id, connection->peer, hello);
  if (const auto* refusal = std::get_if<Refusal>(&answer)) return Refuse(connection, *refusal);

  connection->admitted = true;
  connection->pidfd = std::move(*pidfd);
  connection->pidfd_watch =
      loop_->WatchReadable(connection->pidfd.get(), [this, id] { Drop(id, false); });
  auto& admission = std::get<ControlHandler::Admission>(answer);
  admission.welcome.header = MakeHeader(SGPRS_MESSAGE_WELCOME, sizeof(admission.welcome));
  if (!Send(connection, &admission.welcome, sizeof(admission.welcome), admission.lane_fd)) {
    Drop(id, false);
  }
}

bool ControlServer::Send(Connection* connection, const void* bytes, size_t size, int fd) {
  iovec part = {const_cast<void*>(bytes), size};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &fd, sizeof(int));
  }
  return sendmsg(connection->socket.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL) ==
         static_cast<ssize_t>(size);
}

void ControlServer::Refuse(Connection* connection, const Refusal& refusal) {
  const SgprsRefuse refuse = MakeRefuse(refusal);
  // Whether it arrives is the peer's affair: it is cut either way.
  Send(connection, &refuse, sizeof(refuse), -1);
  handler_->OnRefused(connection->peer, refusal, connection->admitted);
  Drop(connection->id, false);
}

void ControlServer::Cut(ConnectionId id, const std::string& why) {
  const auto found = connections_.find(id);
  if (found != connections_.end()) {
    Refuse(found->second.get(), {SGPRS_REFUSE_BAD_MESSAGE, why});
  }
}

void ControlServer::Drop(ConnectionId id, bool orderly) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  const std::unique_ptr<Connection> connection = std::move(found->second);
  connections_.erase(found);
  loop_->Remove(connection->socket_watch);
  if (connection->pidfd_watch != 0) loop_->Remove(connection->pidfd_watch);
  if (connection->silence != 0) loop_->RemoveTimer(connection->silence);
  if (connection->admitted) handler_->OnGone(id, orderly);
}

}  // namespace sgprs::ingress
