// SPDX-License-Identifier: Apache-2.0
#include "runtime/ingress/listener.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace sgprs::ingress {
namespace {

constexpr int kBacklog = 1024;

Status SystemError(const std::string& what) {
  const bool callers = errno == EACCES || errno == EPERM || errno == ENOENT || errno == ENOTDIR ||
                       errno == EROFS || errno == ELOOP;
  return Status(callers ? ErrorCode::kInvalid : ErrorCode::kInternal,
                what + ": " + std::strerror(errno));
}

Status MakeDirectory(const std::string& socket_path, mode_t mode) {
  const size_t slash = socket_path.rfind('/');
  if (slash == std::string::npos || slash == 0) return Status::Ok();
  const std::string directory = socket_path.substr(0, slash);
  if (mkdir(directory.c_str(), mode) == 0) {
    // mkdir obeys the umask; others are let in only if they were meant to be.
    if (chmod(directory.c_str(), mode) != 0) return SystemError(directory);
    return Status::Ok();
  }
  struct stat info = {};
  if (errno != EEXIST || stat(directory.c_str(), &info) != 0) return SystemError(directory);
  if (!S_ISDIR(info.st_mode)) {
    return Status(ErrorCode::kInvalid, "'" + directory + "' is not a directory");
  }
  // In somebody else's directory he could put his own socket in our place. Sticky ones are fine.
  const bool foreign = info.st_uid != geteuid() && info.st_uid != 0;
  const bool open_to_all = (info.st_mode & 0022) != 0 && (info.st_mode & S_ISVTX) == 0;
  if (foreign || open_to_all) {
    return Status(ErrorCode::kInvalid,
                  "'" + directory + "' can be changed by others: give the socket a directory of " +
                      "your own (mode 0700)");
  }
  return Status::Ok();
}

Result<UniqueFd> Lock(const std::string& socket_path) {
  const std::string path = socket_path + ".lock";
  UniqueFd lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.valid()) return SystemError(path);
  if (flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) return SystemError(path);
  return Status(ErrorCode::kUnavailable, "another sgprsd serves '" + socket_path +
                                             "': stop it, or give --socket another path");
}

// Whatever is left of a predecessor; never anything but a socket.
Status RemoveStale(const std::string& path) {
  struct stat info = {};
  if (lstat(path.c_str(), &info) != 0) return errno == ENOENT ? Status::Ok() : SystemError(path);
  if (!S_ISSOCK(info.st_mode)) {
    return Status(ErrorCode::kInvalid, "'" + path + "' exists and is not a socket");
  }
  return unlink(path.c_str()) == 0 ? Status::Ok() : SystemError(path);
}

Result<UniqueFd> BindAndListen(const std::string& path, mode_t mode) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return SystemError("socket");
  // No moment in which the socket has wider rights than meant.
  const mode_t before = umask(0777 & ~mode);
  const int bound = bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address));
  const int error = errno;
  umask(before);
  errno = error;
  if (bound != 0) return SystemError(path);
  if (listen(fd.get(), kBacklog) != 0) return SystemError(path);
  return fd;
}

}  // namespace

Result<std::unique_ptr<Listener>> Listener::Open(const ListenerOptions& options) {
  if (options.path.empty() || options.path.size() >= sizeof(sockaddr_un::sun_path)) {
    return Status(ErrorCode::kInvalid, "the socket's path '" + options.path + "' must have 1 to " +
                                           std::to_string(sizeof(sockaddr_un::sun_path) - 1) +
                                           " characters");
  }
  if (Status made = MakeDirectory(options.path, options.directory_mode); !made.ok()) {
    return made.WithContext("control socket");
  }
  std::unique_ptr<Listener> listener(new Listener);
  Result<UniqueFd> lock = Lock(options.path);
  if (!lock.ok()) return lock.status();
  listener->lock_ = std::move(*lock);
  if (Status stale = RemoveStale(options.path); !stale.ok()) {
    return stale.WithContext("control socket");
  }
  Result<UniqueFd> socket = BindAndListen(options.path, options.socket_mode);
  if (!socket.ok()) return socket.status().WithContext("control socket");
  listener->socket_ = std::move(*socket);
  listener->path_ = options.path;
  return listener;
}

Listener::~Listener() {
  if (!path_.empty()) unlink(path_.c_str());
}

}  // namespace sgprs::ingress
