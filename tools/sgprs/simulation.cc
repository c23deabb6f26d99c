// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/simulation.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/environment.h"
#include "runtime/model/device_description.h"
#include "tools/sgprs/child_process.h"
#include "tools/sgprs/simgpu_client.h"
#include "tools/sgprs/unix_socket.h"

namespace sgprs::cli {
namespace {

constexpr uint64_t kStartLimitNs = 10 * kNsPerSecond;
constexpr int kProbeMs = 20;

// In the grandchild. Returns only if exec failed.
void BecomeDaemon(std::vector<char*>& argv, const std::string& log_path) {
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int log = open(log_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (null < 0 || log < 0) return;
  if (dup2(null, STDIN_FILENO) < 0 || dup2(log, STDOUT_FILENO) < 0 ||
      dup2(log, STDERR_FILENO) < 0) {
    return;
  }
  close_range(3, ~0U, 0);
  unsetenv("LD_PRELOAD");
  if (chdir("/") != 0) return;
  execv(argv[0], argv.data());
}

// Starts a process that is not our child: the program that we become must not meet a stranger in
// wait(). Returns its pid.
Result<pid_t> StartDetached(const std::vector<std::string>& arguments,
                            const std::string& log_path) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  int pipe_fds[2];
  if (pipe2(pipe_fds, O_CLOEXEC) != 0) return Status(ErrorCode::kInternal, std::strerror(errno));
  UniqueFd from_child(pipe_fds[0]);
  UniqueFd to_parent(pipe_fds[1]);
  const pid_t middle = fork();
  if (middle < 0) return Status(ErrorCode::kInternal, std::strerror(errno));
  if (middle == 0) {
    setsid();
    const pid_t daemon = fork();
    if (daemon == 0) {
      BecomeDaemon(argv, log_path);
      _exit(127);
    }
    (void)!write(to_parent.get(), &daemon, sizeof(daemon));
    _exit(0);
  }
  to_parent.reset();
  pid_t daemon = -1;
  const ssize_t got = read(from_child.get(), &daemon, sizeof(daemon));
  waitpid(middle, nullptr, 0);
  if (got != sizeof(daemon) || daemon <= 0) {
    return Status(ErrorCode::kInternal, "could not start a process");
  }
  return daemon;
}

Status WaitUntilUp(const SimulationRequest& request, pid_t daemon, const std::string& log_path) {
  const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, daemon, 0)));
  const uint64_t limit_ns = NowNs() + kStartLimitNs;
  while (NowNs() < limit_ns) {
    if (Answers(request.control_socket) && Answers(request.simgpu_socket)) return Status::Ok();
    pollfd entry = {pidfd.get(), POLLIN, 0};
    const bool ended = !pidfd.valid() || poll(&entry, 1, kProbeMs) > 0;
    if (ended) {
      const std::string last = LastLine(log_path);
      return Status(ErrorCode::kUnavailable, fmt::format("`sgprsd --simulate` did not start: {}",
                                                         last.empty() ? "see " + log_path : last));
    }
  }
  return Status(ErrorCode::kUnavailable,
                fmt::format("`sgprsd --simulate` (pid {}) does not answer at {} and {} (log: {})",
                            daemon, request.control_socket, request.simgpu_socket, log_path));
}

Result<UniqueFd> LockDirectory(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(directory).parent_path(), error);
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return Status(ErrorCode::kUnavailable, directory + ": " + std::strerror(errno));
  }
  const std::string path = directory + "/start.lock";
  UniqueFd lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.valid() || flock(lock.get(), LOCK_EX) != 0) {
    return Status(ErrorCode::kUnavailable, path + ": " + std::strerror(errno));
  }
  return lock;
}

// A device that runs already is taken as it is; another one was not asked for.
Status CheckRunningDevice(const SimulationRequest& request) {
  const model::DeviceDescription* wanted = model::FindDevice(request.device);
  if (wanted == nullptr) return Status::Ok();
  const Result<nlohmann::ordered_json> stats = ReadSimgpuStats(request.simgpu_socket);
  if (!stats.ok()) return stats.status();
  const std::string runs = stats->value("device", "");
  if (runs == wanted->name) return Status::Ok();
  return Status(ErrorCode::kInvalid,
                fmt::format("--device {}: the simulated device that runs at {} is '{}': leave the "
                            "option out, or end its sgprsd first",
                            request.device, request.simgpu_socket, runs));
}

}  // namespace

bool Answers(const std::string& socket) { return ConnectSeqpacket(socket, 1000).ok(); }

Result<std::string> EnsureSimulation(const SimulationRequest& request,
                                     const Installation& installation) {
  // The device alone may be one whose daemon another caller is just starting: the lock waits for
  // it.
  const auto as_it_is = [&request]() -> Result<std::string> {
    Status same = CheckRunningDevice(request);
    if (!same.ok()) return same;
    return std::string();
  };
  if (Answers(request.simgpu_socket) && Answers(request.control_socket)) return as_it_is();
  const std::string directory = env::RuntimeDir();
  Result<UniqueFd> lock = LockDirectory(directory);
  if (!lock.ok()) return lock.status();
  if (Answers(request.simgpu_socket)) return as_it_is();  // another caller was faster
  if (Answers(request.control_socket)) {
    return Status(
        ErrorCode::kUnavailable,
        fmt::format("a daemon runs at {}, but no simulated device at {}: start `simgpu`, or "
                    "end that daemon and start `sgprsd --simulate`",
                    request.control_socket, request.simgpu_socket));
  }
  std::vector<std::string> arguments = {installation.Program("sgprsd"), "--simulate", "--socket",
                                        request.control_socket};
  if (!request.device.empty()) {
    arguments.push_back("--device");
    arguments.push_back(request.device);
  }
  Status there = Require(arguments[0], "the daemon");
  if (!there.ok()) return there;
  const std::string log_path = directory + "/sgprsd.log";
  Result<pid_t> daemon = StartDetached(arguments, log_path);
  if (!daemon.ok()) return daemon.status();
  Status up = WaitUntilUp(request, *daemon, log_path);
  if (!up.ok()) return up;
  return fmt::format("started `sgprsd --simulate` (log {}); it stays until `kill {}`", log_path,
                     *daemon);
}

}  // namespace sgprs::cli
