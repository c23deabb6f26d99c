// SPDX-License-Identifier: Apache-2.0
#include "runtime/simulated_device.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "runtime/base/clock.h"

namespace sgprs::runtime {
namespace {

constexpr uint64_t kStartLimitNs = 10 * kNsPerSecond;
constexpr int kStopLimitMs = 5000;
constexpr int kProbeMs = 20;

bool Answers(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return false;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
}

// In the child. Only async-signal-safe calls.
[[noreturn]] void BecomeDevice(char* const* argv) {
  setpgid(0, 0);  // Ctrl-C is for sgprsd, which stops the device after its clients
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // Our stdout says "ready"; the device's own words go where the log goes.
  dup2(STDERR_FILENO, STDOUT_FILENO);
  execv(argv[0], argv);
  _exit(127);
}

}  // namespace

Result<std::unique_ptr<SimulatedDevice>> SimulatedDevice::Ensure(const std::string& device,
                                                                 const std::string& socket_path) {
  std::unique_ptr<SimulatedDevice> made(new SimulatedDevice);
  if (Answers(socket_path)) return made;
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string program = (self.parent_path() / "simgpu").string();
  if (access(program.c_str(), X_OK) != 0) {
    return Status(ErrorCode::kNotFound, "no simulated device at '" + program + "': build simgpu");
  }
  std::vector<std::string> words = {program, "--socket", socket_path};
  if (!device.empty()) words.insert(words.end(), {"--device", device});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  const pid_t pid = fork();
  if (pid < 0) return Status(ErrorCode::kInternal, std::string("fork: ") + std::strerror(errno));
  if (pid == 0) BecomeDevice(argv.data());
  made->pid_ = pid;
  made->pidfd_.reset(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  const uint64_t limit_ns = NowNs() + kStartLimitNs;
  while (!Answers(socket_path)) {
    pollfd ended = {made->pidfd_.get(), POLLIN, 0};
    if (poll(&ended, 1, kProbeMs) > 0) {
      return Status(ErrorCode::kUnavailable, "the simulated device did not start");
    }
    if (NowNs() > limit_ns) {
      return Status(ErrorCode::kUnavailable,
                    "the simulated device does not answer on '" + socket_path + "'");
    }
  }
  return made;
}

SimulatedDevice::~SimulatedDevice() {
  if (pid_ <= 0) return;
  kill(pid_, SIGTERM);
  pollfd ended = {pidfd_.get(), POLLIN, 0};
  if (poll(&ended, 1, kStopLimitMs) == 0) kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

}  // namespace sgprs::runtime
