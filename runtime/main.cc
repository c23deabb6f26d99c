// SPDX-License-Identifier: Apache-2.0
// sgprsd. Only wires: command line, loop, simulated device, daemon, signals.
#include <fmt/format.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "runtime/base/environment.h"
#include "runtime/base/unique_fd.h"
#include "runtime/daemon.h"
#include "runtime/kernel/probes.h"
#include "runtime/loop/loop.h"
#include "runtime/observe/text.h"
#include "runtime/options.h"
#include "runtime/simulated_device.h"

namespace sgprs::runtime {
namespace {

int Fail(const Status& status) {
  fmt::print(stderr, "sgprsd: {}\n", status.text());
  return status.code() == ErrorCode::kInvalid ? kExitUsage : kExitFailed;
}

// A client takes three descriptors.
void RaiseDescriptorLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// SIGTERM and SIGINT as a descriptor; a broken pipe is an error value.
UniqueFd TakeSignals() {
  signal(SIGPIPE, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  return UniqueFd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

void WatchDevice(loop::Loop* loop, const SimulatedDevice* device, loop::WatchId* watch) {
  if (device == nullptr || !device->started()) return;
  *watch = loop->WatchReadable(device->pidfd(), [loop, watch] {
    spdlog::error("the simulated device ended");
    loop->Remove(*watch);
  });
}

// Two lines: the level, and why it is no better one. By really loading, as a daemon with this
// configuration and these rights would.
int CheckProbes(const Options& options) {
  const std::unique_ptr<kernel::Probes> probes = kernel::Probes::Load(
      {.enabled = options.config.probes, .min_wait_ns = options.config.min_wait_ns});
  return PrintText(
      fmt::format("{}\n{}\n", NameOf(probes->level()), observe::OneLine(probes->why())));
}

int Run(const Options& options) {
  const UniqueFd signals = TakeSignals();
  RaiseDescriptorLimit();
  Result<std::unique_ptr<loop::Loop>> loop = loop::Loop::Make({});
  if (!loop.ok()) return Fail(loop.status());
  std::unique_ptr<SimulatedDevice> device;
  if (options.simulate) {
    auto made = SimulatedDevice::Ensure(options.device, env::SimgpuSocketPath());
    if (!made.ok()) return Fail(made.status());
    device = std::move(*made);
  }
  Result<std::unique_ptr<Daemon>> daemon =
      Daemon::Make(loop->get(), {.config = options.config,
                                 .socket_path = options.socket_path,
                                 .allowed_uids = options.allowed_uids});
  if (!daemon.ok()) return Fail(daemon.status());
  (*loop)->WatchReadable(signals.get(), [&] {
    signalfd_siginfo info;
    if (read(signals.get(), &info, sizeof(info)) == sizeof(info)) {
      spdlog::info("signal {}: stopping", info.ssi_signo);
      (*loop)->Stop();
    }
  });
  loop::WatchId device_watch = 0;
  WatchDevice(loop->get(), device.get(), &device_watch);
  fmt::print("sgprsd: ready on {} (policy {}, {})\n", (*daemon)->socket_path(),
             (*daemon)->policy_name(),
             options.simulate ? "simulated device" : "device of the first client");
  std::fflush(stdout);
  (*loop)->Run();
  return kExitOk;
}

}  // namespace
}  // namespace sgprs::runtime

int main(int argc, char** argv) {
  sgprs::runtime::Options options;
  const sgprs::runtime::ParseResult parsed = sgprs::runtime::ParseOptions(argc, argv, &options);
  if (!parsed.run) return parsed.exit_code;
  if (options.check_probes) return sgprs::runtime::CheckProbes(options);
  if (!options.check) return sgprs::runtime::Run(options);
  const sgprs::Result<std::string> text = sgprs::runtime::CheckText(options);
  if (!text.ok()) return sgprs::runtime::Fail(text.status());
  return sgprs::runtime::PrintText(*text);
}
