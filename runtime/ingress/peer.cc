// SPDX-License-Identifier: Apache-2.0
#include "runtime/ingress/peer.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace sgprs::ingress {
namespace {

constexpr int kSoPeerPidfd = 77;  // newer than Debian 12's headers

}  // namespace

Result<Peer> PeerOf(int socket_fd) {
  ucred credentials = {};
  socklen_t bytes = sizeof(credentials);
  if (getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) != 0) {
    return Status(ErrorCode::kInternal, std::string("SO_PEERCRED: ") + std::strerror(errno));
  }
  return Peer{credentials.pid, credentials.uid};
}

Result<UniqueFd> PidfdOf(int socket_fd, const Peer& peer) {
  int fd = -1;
  socklen_t bytes = sizeof(fd);
  if (getsockopt(socket_fd, SOL_SOCKET, kSoPeerPidfd, &fd, &bytes) == 0) return UniqueFd(fd);
  fd = static_cast<int>(syscall(SYS_pidfd_open, peer.pid, 0));
  if (fd >= 0) return UniqueFd(fd);
  const ErrorCode code = errno == ESRCH                       ? ErrorCode::kNotFound
                         : errno == EMFILE || errno == ENFILE ? ErrorCode::kExhausted
                                                              : ErrorCode::kUnavailable;
  return Status(code, "pidfd of process " + std::to_string(peer.pid) + ": " + std::strerror(errno));
}

}  // namespace sgprs::ingress
