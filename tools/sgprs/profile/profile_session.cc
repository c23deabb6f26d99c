// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/profile/profile_session.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/environment.h"
#include "tools/sgprs/daemon.h"
#include "tools/sgprs/exit_code.h"
#include "tools/sgprs/simulation.h"
#include "tools/sgprs/temporary_directory.h"

namespace sgprs::cli {
namespace {

constexpr uint64_t kStartLimitNs = 10 * kNsPerSecond;
constexpr uint64_t kEndLimitNs = 10 * kNsPerSecond;
constexpr uint64_t kPollNs = 20 * kNsPerMs;

class Session {
 public:
  Session(const ProfileRequest& request, const Installation& installation, ChildGroup* children,
          std::string directory)
      : request_(request),
        installation_(installation),
        children_(children),
        directory_(std::move(directory)),
        simgpu_socket_(directory_ + "/simgpu.sock"),
        control_socket_(directory_ + "/control.sock") {}

  Result<ProfileOutcome> Run() {
    Status started = request_.simulate ? StartDevice() : Status::Ok();
    if (started.ok()) started = StartDaemon();
    if (!started.ok()) return started;
    ProfileOutcome outcome;
    outcome.exit_code = RunProgram();
    if (outcome.exit_code < 0) return Status(ErrorCode::kUnavailable, "no child process");
    Status ended = EndDaemon();
    if (!ended.ok()) return ended;
    Result<profile::Profile> profile =
        profile::ReadProfile(directory_ + "/" + profile::FileName(request_.task));
    if (profile.ok()) {
      outcome.profile = std::move(*profile);
      return outcome;
    }
    if (profile.status().code() != ErrorCode::kNotFound) return profile.status();
    return Status(ErrorCode::kNotFound,
                  fmt::format("nothing was learnt of {} (exit code {}): {}", request_.task,
                              outcome.exit_code, Reason(outcome.exit_code)));
  }

 private:
  Result<ChildProcess*> Start(const std::string& name, std::vector<std::string> arguments) {
    ChildSpec spec;
    spec.name = name;
    spec.arguments = std::move(arguments);
    spec.environment = Environment();
    spec.log_path = directory_ + "/" + name + ".log";
    return children_->Start(spec);
  }

  std::map<std::string, std::string> Environment() const {
    std::map<std::string, std::string> out = {{env::kSocket, control_socket_}};
    if (request_.simulate) out[env::kSimgpuSocket] = simgpu_socket_;
    return out;
  }

  Status WaitForSocket(const std::string& path, const ChildProcess& server) {
    const uint64_t limit_ns = NowNs() + kStartLimitNs;
    while (!Answers(path)) {
      if (NowNs() > limit_ns) return Status(ErrorCode::kUnavailable, server.Epitaph());
      Status status = children_->WaitUntil(NowNs() + kPollNs);
      if (!status.ok()) return status;
    }
    return Status::Ok();
  }

  Status StartDevice() {
    Result<ChildProcess*> device = Start("simgpu", {installation_.Program("simgpu"), "--device",
                                                    request_.device, "--socket", simgpu_socket_});
    return device.ok() ? WaitForSocket(simgpu_socket_, **device) : device.status();
  }

  Status StartDaemon() {
    const std::string config = directory_ + "/sgprsd.toml";
    const auto quoted = [](const std::string& text) { return nlohmann::json(text).dump(); };
    std::ofstream(config) << fmt::format(
        "[socket]\npath = {}\n[profiles]\ndirectory = {}\nsweep = true\n[probes]\nenabled = "
        "false\n",
        quoted(control_socket_), quoted(directory_));
    Result<ChildProcess*> daemon =
        Start("sgprsd", {installation_.Program("sgprsd"), "--config", config});
    if (!daemon.ok()) return daemon.status();
    daemon_ = *daemon;
    return WaitForSocket(control_socket_, *daemon_);
  }

  // Its exit code; -1 = no child. It takes the signals of the terminal, we do not (ChildGroup).
  int RunProgram() const {
    std::vector<std::string> words = {"sgprs", "run", "--require", "--profile", "none"};
    if (request_.simulate) words.push_back("--simulate");
    words.insert(words.end(), request_.run.begin(), request_.run.end());
    words.insert(words.end(), {"--name", request_.task, "--"});
    words.insert(words.end(), request_.program.begin(), request_.program.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      sigset_t none;
      sigemptyset(&none);
      sigprocmask(SIG_SETMASK, &none, nullptr);
      for (const auto& [name, value] : Environment()) setenv(name.c_str(), value.c_str(), 1);
      execv("/proc/self/exe", argv.data());
      _exit(kExitNotExecutable);
    }
    if (child < 0) return -1;
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  // The profile is written when sgprsd has noticed that its last client is gone.
  Status EndDaemon() {
    const uint64_t limit_ns = NowNs() + kEndLimitNs;
    Result<Daemon> daemon = OpenDaemon(control_socket_);
    if (!daemon.ok()) return daemon.status();
    for (;;) {
      Result<StateSnapshot> snapshot = daemon->state->Read(NowNs());
      if (!snapshot.ok()) return snapshot.status();
      if (snapshot->header.clients == 0) break;
      if (NowNs() > limit_ns) break;  // a child of the program lives on: what was written counts
      std::this_thread::sleep_for(std::chrono::nanoseconds(kPollNs));
    }
    daemon_->Signal(SIGTERM);
    Status ended = children_->WaitForEnd(daemon_, NowNs() + kEndLimitNs);
    if (!ended.ok() && ended.code() == ErrorCode::kRefused) {  // the Ctrl-C that ended the program
      ended = children_->WaitForEnd(daemon_, NowNs() + kEndLimitNs);
    }
    return ended;
  }

  // What sgprsd says of it, without the log line's head.
  std::string Reason(int exit_code) const {
    if (exit_code == kExitNotFound || exit_code == kExitNotExecutable) return "it did not start";
    std::ifstream log(directory_ + "/sgprsd.log");
    std::string reason = "it used no GPU";
    for (std::string line; std::getline(log, line);) {
      const size_t at = line.find("no profile of ");
      if (at != std::string::npos) reason = line.substr(at);
    }
    return reason + "; run it longer, or say where a job ends (--job)";
  }

  const ProfileRequest& request_;
  const Installation& installation_;
  ChildGroup* children_;
  const std::string directory_;
  const std::string simgpu_socket_;
  const std::string control_socket_;
  ChildProcess* daemon_ = nullptr;
};

}  // namespace

Result<ProfileOutcome> RunProfiled(const ProfileRequest& request,
                                   const Installation& installation) {
  Result<TemporaryDirectory> directory = TemporaryDirectory::Make("sgprs-profile-");
  if (!directory.ok()) return directory.status();
  Result<std::unique_ptr<ChildGroup>> children = ChildGroup::Make();
  if (!children.ok()) return children.status();
  return Session(request, installation, children->get(), directory->path()).Run();
}

}  // namespace sgprs::cli
