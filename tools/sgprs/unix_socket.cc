// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/unix_socket.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

namespace sgprs::cli {
namespace {

Status ConnectError(int error) {
  switch (error) {
    case ENOENT:
    case ECONNREFUSED:
    case EAGAIN:
      return Status(ErrorCode::kUnavailable, std::strerror(error));
    case EACCES:
    case EPERM:
      return Status(ErrorCode::kRefused, std::strerror(error));
    default:
      return Status(ErrorCode::kInternal, std::strerror(error));
  }
}

// Takes the descriptors out of a received message: the first goes to `fd`, the rest are closed.
void TakeDescriptors(msghdr* message, UniqueFd* fd) {
  for (cmsghdr* c = CMSG_FIRSTHDR(message); c != nullptr; c = CMSG_NXTHDR(message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int raw = -1;
      std::memcpy(&raw, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
      UniqueFd owned(raw);
      if (fd != nullptr && !fd->valid()) *fd = std::move(owned);
    }
  }
}

}  // namespace

Result<UniqueFd> ConnectSeqpacket(const std::string& path, int timeout_ms) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return Status(ErrorCode::kInvalid, "a socket's path has 1 to 107 characters");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  UniqueFd socket_fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket_fd.valid()) return Status(ErrorCode::kInternal, std::strerror(errno));
  timeval limit = {timeout_ms / 1000, (timeout_ms % 1000) * 1000};
  setsockopt(socket_fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  setsockopt(socket_fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  if (connect(socket_fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    return ConnectError(errno);
  }
  return socket_fd;
}

Status SendPacket(int socket, const void* data, size_t bytes) {
  ssize_t sent;
  do {
    sent = send(socket, data, bytes, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent == static_cast<ssize_t>(bytes)) return Status::Ok();
  return Status(ErrorCode::kUnavailable, sent < 0 ? std::strerror(errno) : "packet cut short");
}

Result<size_t> ReceivePacket(int socket, void* data, size_t capacity, UniqueFd* fd) {
  alignas(cmsghdr) char control[CMSG_SPACE(8 * sizeof(int))];
  iovec part = {data, capacity};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t got;
  do {
    got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0) {
    const bool late = errno == EAGAIN || errno == EWOULDBLOCK;
    return Status(ErrorCode::kUnavailable, late ? "no answer in time" : std::strerror(errno));
  }
  TakeDescriptors(&message, fd);
  if (got == 0) return Status(ErrorCode::kUnavailable, "connection closed");
  return static_cast<size_t>(got);
}

}  // namespace sgprs::cli
