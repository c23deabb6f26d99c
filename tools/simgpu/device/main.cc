// SPDX-License-Identifier: Apache-2.0
// simgpu: the simulated device as a process. Only wires.
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "runtime/base/environment.h"
#include "tools/simgpu/device/server.h"
#include "tools/simgpu/device/socket.h"
#include "tools/simgpu/device/stats.h"

namespace {

using sgprs::Result;
using sgprs::Status;

constexpr int kFailed = 1;
constexpr int kUsage = 2;

struct Arguments {
  std::string device{sgprs::model::kDefaultDevice};
  std::string socket_path = sgprs::env::SimgpuSocketPath();
  uint32_t device_count = 1;
  std::string mps = "on";
  std::string log_path;
  bool list_devices = false;
  bool json = false;
  bool stats = false;
  bool shutdown = false;
};

int Fail(const Status& status, int code = kFailed) {
  fmt::print(stderr, "simgpu: {}\n", status.text());
  return code;
}

int Ask(const Arguments& arguments, sgprs::simgpu::HelloKind kind) {
  const Result<std::string> answer = sgprs::simgpu::AskDevice(arguments.socket_path, kind);
  if (!answer.ok()) return Fail(answer.status());
  if (!answer->empty()) fmt::print("{}\n", *answer);
  return 0;
}

// A real device does not queue for a CPU: as nice as is allowed, else as we are. Stamps stay right
// either way, clients only hear of them later. Not real-time: such a thread wakes where it slept,
// on top of the client that rings it, although another CPU is idle (on two CPUs it cost a client
// that launches at full speed three times the CPU time).
void BePrompt() {
  if (setpriority(PRIO_PROCESS, 0, -20) != 0) (void)setpriority(PRIO_PROCESS, 0, -10);
}

// A client is a descriptor.
void AllowManyClients() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

int Serve(const Arguments& arguments) {
  const auto* device = sgprs::model::FindDevice(arguments.device);
  if (device == nullptr) {
    return Fail(Status(sgprs::ErrorCode::kInvalid,
                       "unknown device '" + arguments.device + "' (see simgpu --list-devices)"),
                kUsage);
  }
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigprocmask(SIG_BLOCK, &signals, nullptr);

  auto server = sgprs::simgpu::Server::Make({device, arguments.socket_path, arguments.mps == "on",
                                             arguments.log_path, arguments.device_count});
  if (!server.ok()) return Fail(server.status());
  fmt::print("simgpu: {} ({} SMs), MPS {}, on {}\n", device->display_name, device->sm_count,
             arguments.mps, arguments.socket_path);
  std::fflush(stdout);
  AllowManyClients();
  BePrompt();
  const Status status = (*server)->Run();
  return status.ok() ? 0 : Fail(status);
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app(
      "Simulated GPU: gives time to the commands of processes that use the stand-in driver",
      "simgpu");
  app.add_option("--device", arguments.device, "which device to be")
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--devices", arguments.device_count, "how many of that device")
      ->type_name("N")
      ->check(CLI::Range(1u, sgprs::simgpu::kMaxDevices).description(""))
      ->capture_default_str();
  app.add_option("--socket", arguments.socket_path, "socket path ($SGPRS_SIMGPU_SOCKET)")
      ->type_name("PATH")
      ->capture_default_str();
  app.add_option("--mps", arguments.mps,
                 "on: processes run together; off: they take turns of 1024 us")
      ->type_name("on|off")
      ->check(CLI::IsMember({"on", "off"}).description(""))
      ->capture_default_str();
  app.add_option("--log", arguments.log_path, "write one JSON line per finished command to FILE")
      ->type_name("FILE");
  auto* list = app.add_flag("--list-devices", arguments.list_devices, "list devices and end");
  auto* stats =
      app.add_flag("--stats", arguments.stats, "print the running device's counters (JSON)")
          ->excludes(list);
  app.add_flag("--shutdown", arguments.shutdown, "stop the running device")
      ->excludes(list)
      ->excludes(stats);
  app.add_flag("--json", arguments.json, "with --list-devices: JSON")->needs(list);
  app.footer(
      "Exit status: 0 after SIGTERM, SIGINT or --shutdown; 1 if it could not run, or no device\n"
      "answers; 2 if the command line was not understood.");
  app.set_version_flag("--version", std::string("simgpu ") + SGPRS_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    fmt::print(stderr, "simgpu: {} (see simgpu --help)\n", error.what());
    return kUsage;
  }
  if (arguments.list_devices) {
    fmt::print("{}",
               arguments.json ? sgprs::simgpu::DevicesJson() + "\n" : sgprs::simgpu::DevicesText());
    return 0;
  }
  if (arguments.stats) return Ask(arguments, sgprs::simgpu::HelloKind::kStats);
  if (arguments.shutdown) return Ask(arguments, sgprs::simgpu::HelloKind::kShutdown);
  return Serve(arguments);
}
