// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/device/socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <vector>

#include "runtime/base/environment.h"

namespace sgprs::simgpu {
namespace {

constexpr int kBacklog = 512;
constexpr int kAnswerMs = 5000;
constexpr size_t kMaxAnswer = 1 << 20;
constexpr const char* kUnheard = ".new";

Status SystemError(const std::string& what) {
  return Status(ErrorCode::kInternal, what + ": " + strerror(errno));
}

Result<sockaddr_un> AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return Status(ErrorCode::kInvalid, "socket path '" + path + "' is empty or longer than " +
                                           std::to_string(sizeof(address.sun_path) - 1) +
                                           " characters");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

// The directory, locked so that two devices do not race for one socket. Only the runtime directory
// is ours to make.
Result<UniqueFd> LockDirectory(const std::filesystem::path& directory) {
  const std::filesystem::path ours = std::filesystem::absolute(env::RuntimeDir());
  if (directory.lexically_normal() == ours.lexically_normal()) {
    if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
      return SystemError("cannot make directory " + directory.string());
    }
  }
  UniqueFd fd(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return SystemError("cannot open directory " + directory.string());
  if (flock(fd.get(), LOCK_EX) != 0) return SystemError("cannot lock " + directory.string());
  return fd;
}

Status RemoveStale(const std::string& path) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) return Status::Ok();
  if (!S_ISSOCK(info.st_mode)) {
    return Status(ErrorCode::kInvalid, path + " exists and is no socket");
  }
  if (ConnectTo(path).ok()) {
    return Status(ErrorCode::kRefused, "another simulated device is alive on " + path +
                                           " (stop it with --shutdown, or give another --socket)");
  }
  if (unlink(path.c_str()) != 0) return SystemError("cannot remove stale socket " + path);
  return Status::Ok();
}

}  // namespace

Result<UniqueFd> ListenOn(const std::string& path) {
  // Bound under another name: whoever sees the socket at `path` finds somebody listening.
  const std::string unheard = path + kUnheard;
  Result<sockaddr_un> address = AddressOf(unheard);
  if (!address.ok()) return address.status();
  Result<UniqueFd> lock = LockDirectory(std::filesystem::absolute(path).parent_path());
  if (!lock.ok()) return lock.status();
  if (Status status = RemoveStale(path); !status.ok()) return status;
  UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return SystemError("socket");
  unlink(unheard.c_str());  // of a device that was killed just there
  const mode_t mask = umask(0177);
  const int rc = bind(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address));
  umask(mask);
  if (rc != 0) return SystemError("cannot bind " + path);
  if (listen(fd.get(), kBacklog) != 0) return SystemError("cannot listen on " + path);
  if (rename(unheard.c_str(), path.c_str()) != 0) return SystemError("cannot make socket " + path);
  return fd;
}

Result<UniqueFd> ConnectTo(const std::string& path) {
  Result<sockaddr_un> address = AddressOf(path);
  if (!address.ok()) return address.status();
  UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return SystemError("socket");
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)) != 0) {
    return Status(ErrorCode::kUnavailable,
                  "no simulated device answers on " + path + ": " + strerror(errno));
  }
  return fd;
}

Status SendPacket(int socket, const void* data, size_t size, std::span<const int> fds) {
  iovec part{const_cast<void*>(data), size};
  std::vector<char> control(fds.empty() ? 0 : CMSG_SPACE(fds.size_bytes()));
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(header), fds.data(), fds.size_bytes());
  }
  if (sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return SystemError("send");
  return Status::Ok();
}

Result<std::string> AskDevice(const std::string& path, HelloKind kind) {
  Result<UniqueFd> fd = ConnectTo(path);
  if (!fd.ok()) return fd.status();
  const Hello hello{kMagic, kVersion, static_cast<uint32_t>(kind), static_cast<uint32_t>(getpid())};
  if (Status status = SendPacket(fd->get(), &hello, sizeof(hello)); !status.ok()) return status;
  pollfd item{fd->get(), POLLIN, 0};
  if (poll(&item, 1, kAnswerMs) <= 0) {
    return Status(ErrorCode::kUnavailable, "the simulated device on " + path + " does not answer");
  }
  std::string answer(kMaxAnswer, '\0');
  const ssize_t size = recv(fd->get(), answer.data(), answer.size(), 0);
  if (size < 0 && errno != ECONNRESET) return SystemError("receive");
  answer.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return answer;
}

}  // namespace sgprs::simgpu
