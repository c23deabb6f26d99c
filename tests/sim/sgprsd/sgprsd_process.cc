// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/sgprsd/sgprsd_process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "runtime/base/clock.h"

namespace sgprs::testing {
namespace {

constexpr uint64_t kLimitNs = 20 * kNsPerSecond;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

SgprsdProcess::SgprsdProcess(const std::vector<std::string>& arguments) {
  char name[] = "/tmp/sgprsd-itest-XXXXXX";
  directory_ = mkdtemp(name);
  Start(arguments);
}

void SgprsdProcess::Start(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {SGPRSD_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::string out = directory_ + "/stdout";
  const std::string err = directory_ + "/stderr";
  for (const std::string& file : {out, err}) unlink(file.c_str());  // of an earlier process
  pid_ = fork();
  if (pid_ == 0) {
    setenv("SGPRS_RUNTIME_DIR", directory_.c_str(), 1);
    unsetenv("SGPRS_SOCKET");
    unsetenv("SGPRS_SIMGPU_SOCKET");
    dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
    dup2(open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
    execv(argv[0], argv.data());
    _exit(127);
  }
  const uint64_t limit_ns = NowNs() + kLimitNs;
  ready_ = false;
  while (NowNs() < limit_ns) {
    ready_ = stdout_text().find("sgprsd: ready on ") != std::string::npos;
    siginfo_t info = {};
    waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
    if (ready_ || info.si_pid == pid_) return;
    usleep(2000);
  }
}

SgprsdProcess::~SgprsdProcess() {
  Stop();
  std::filesystem::remove_all(directory_);
}

int SgprsdProcess::Stop(int signal) {
  if (pid_ <= 0) return 0;
  kill(pid_, signal);
  return WaitForEnd();
}

int SgprsdProcess::WaitForEnd() {
  const uint64_t limit_ns = NowNs() + kLimitNs;
  int status = 0;
  while (waitpid(pid_, &status, WNOHANG) == 0) {
    if (NowNs() > limit_ns) {
      kill(pid_, SIGKILL);
      waitpid(pid_, &status, 0);
      pid_ = -1;
      return -1000;
    }
    usleep(1000);
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::string SgprsdProcess::stdout_text() const { return ReadFile(directory_ + "/stdout"); }
std::string SgprsdProcess::stderr_text() const { return ReadFile(directory_ + "/stderr"); }

size_t SgprsdProcess::OpenDescriptors() const {
  size_t count = 0;
  const std::string path = "/proc/" + std::to_string(pid_) + "/fd";
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path)) ++count;
  return count;
}

uint64_t SgprsdProcess::Wakeups() const {
  std::istringstream status(ReadFile("/proc/" + std::to_string(pid_) + "/status"));
  std::string word;
  uint64_t count = 0;
  while (status >> word) {
    if (word == "voluntary_ctxt_switches:") status >> count;
  }
  return count;
}

}  // namespace sgprs::testing
