// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace sgprs::cli {
namespace {

int OpenForChild(const std::string& path) {
  return open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

// In the child, between fork and exec. Returns only if exec failed.
void BecomeProgram(const ChildSpec& spec, std::vector<char*>& argv, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // the parent died before prctl
  setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int log = OpenForChild(spec.log_path);
  const int out = spec.output_path.empty() ? log : OpenForChild(spec.output_path);
  if (null < 0 || log < 0 || out < 0) return;
  if (dup2(null, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
      dup2(log, STDERR_FILENO) < 0) {
    return;
  }
  for (const auto& [name, value] : spec.environment) setenv(name.c_str(), value.c_str(), 1);
  execv(argv[0], argv.data());
}

int OpenPidfd(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

}  // namespace

std::string DescribeExit(int wait_status) {
  if (WIFEXITED(wait_status)) return fmt::format("exited with code {}", WEXITSTATUS(wait_status));
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    return fmt::format("was killed by signal {} ({})", signal, strsignal(signal));
  }
  return fmt::format("ended with wait status {}", wait_status);
}

std::string LastLine(const std::string& path) {
  std::ifstream file(path);
  std::string last;
  for (std::string line; std::getline(file, line);) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
  }
  return last;
}

Result<ChildProcess> ChildProcess::Start(const ChildSpec& spec) {
  std::vector<char*> argv;
  for (const std::string& argument : spec.arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  int report[2];  // the child writes errno if exec fails; exec closes it
  if (pipe2(report, O_CLOEXEC) != 0) {
    return Status(ErrorCode::kInternal, std::string("pipe: ") + std::strerror(errno));
  }
  UniqueFd from_child(report[0]);
  UniqueFd to_parent(report[1]);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return Status(ErrorCode::kInternal, std::string("fork: ") + std::strerror(errno));
  if (pid == 0) {
    BecomeProgram(spec, argv, parent);
    const int error = errno;
    (void)!write(to_parent.get(), &error, sizeof(error));
    _exit(127);
  }
  to_parent.reset();
  int error = 0;
  ssize_t got;
  do {
    got = read(from_child.get(), &error, sizeof(error));
  } while (got < 0 && errno == EINTR);
  ChildProcess child(spec, pid, UniqueFd(OpenPidfd(pid)));
  if (got == sizeof(error)) {
    return Status(ErrorCode::kNotFound,
                  fmt::format("{} ({}): {}", spec.name, spec.arguments[0], std::strerror(error)));
  }
  if (!child.pidfd_.valid()) {
    const int pidfd_error = errno;
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    return Status(ErrorCode::kInternal, std::string("pidfd_open: ") + std::strerror(pidfd_error));
  }
  return child;
}

ChildProcess::~ChildProcess() {
  if (pidfd_.valid() && !status_) Stop(0);
}

std::optional<int> ChildProcess::Poll() {
  if (status_) return status_;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
  return status_;
}

void ChildProcess::Signal(int signal) {
  if (!Poll()) kill(pid_, signal);
}

int ChildProcess::Stop(int grace_ms) {
  if (Poll()) return *status_;
  if (grace_ms > 0) {
    kill(pid_, SIGTERM);
    pollfd entry = {pidfd_.get(), POLLIN, 0};
    poll(&entry, 1, grace_ms);
  }
  if (!Poll()) {
    kill(pid_, SIGKILL);
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    status_ = status;
  }
  return *status_;
}

std::string ChildProcess::Epitaph() const {
  const std::string how = status_ ? DescribeExit(*status_) : "is running";
  std::string last = LastLine(spec_.log_path);
  if (last.empty() && !spec_.output_path.empty()) last = LastLine(spec_.output_path);
  return fmt::format("{} {}{}", spec_.name, how, last.empty() ? "" : ": " + last);
}

}  // namespace sgprs::cli
