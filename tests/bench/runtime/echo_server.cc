// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "sgprs/abi/control.h"
#include "tests/bench/runtime/probes.h"

namespace sgprs::bench {
namespace {

int Listen(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(fd, 1024) != 0) {
    Fail(path + ": " + std::strerror(errno));
  }
  return fd;
}

[[noreturn]] void Serve(int listening, uint64_t answer_bytes) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const std::vector<char> answer(answer_bytes);
  std::vector<char> buffer(SGPRS_CONTROL_MAX_BYTES);
  std::vector<pollfd> sockets = {{listening, POLLIN, 0}};
  for (;;) {
    poll(sockets.data(), sockets.size(), -1);
    if ((sockets[0].revents & POLLIN) != 0) {
      sockets.push_back({accept(listening, nullptr, nullptr), POLLIN, 0});
    }
    for (size_t i = 1; i < sockets.size(); ++i) {
      if (sockets[i].fd < 0 || sockets[i].revents == 0) continue;
      if (recv(sockets[i].fd, buffer.data(), buffer.size(), 0) > 0) {
        send(sockets[i].fd, answer.data(), answer.size(), MSG_NOSIGNAL);
        continue;
      }
      close(sockets[i].fd);
      sockets[i].fd = -1;
    }
  }
}

}  // namespace

EchoServer::EchoServer(const std::string& path, uint64_t answer_bytes) {
  const int listening = Listen(path);
  pid_ = fork();
  if (pid_ == 0) Serve(listening, answer_bytes);
  close(listening);
}

EchoServer::~EchoServer() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

}  // namespace sgprs::bench
