// SPDX-License-Identifier: Apache-2.0
// Forks in the ways that programs do: before CUDA is used (the child may use it), and after (the
// child must not, but may compute, exec and end, in both ways of ending). The parent's own work
// must come out right every time.
#include <sys/wait.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "tools/workloads/app/device_session.h"
#include "tools/workloads/app/option_parser.h"
#include "tools/workloads/kernels/element_math.h"
#include "tools/workloads/kernels/ptx.h"

namespace workloads {
namespace {

// Runs `body` in a child and says whether it ended with exit code 0.
bool ChildEndsWell(const char* what, const std::function<void()>& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    body();
    std::_Exit(99);  // every body ends by itself
  }
  int status = 0;
  const bool well = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
                    WEXITSTATUS(status) == 0;
  if (!well) std::fprintf(stderr, "forker: child failed: %s (status %#x)\n", what, status);
  return well;
}

// A chain of launches whose result the host knows. The session is open.
bool ComputesRight(const DeviceSession& session) {
  constexpr int kElements = 1000;
  constexpr unsigned kLaunches = 50;
  const CudaApi& api = session.api();
  CUmodule module = nullptr;
  CUfunction mix = nullptr;
  CUdeviceptr data = 0;
  unsigned host[kElements] = {};
  Check(api, api.cuModuleLoadData(&module, workload_probe_ptx), "load the kernels");
  Check(api, api.cuModuleGetFunction(&mix, module, "wl_mix"), "wl_mix");
  Check(api, api.cuMemAlloc(&data, sizeof(host)), "allocate");
  Check(api, api.cuMemsetD8(data, 0, sizeof(host)), "fill");
  unsigned expected = 0;
  for (unsigned k = 0; k < kLaunches; ++k) {
    int n = kElements;
    unsigned multiplier = 2 * k + 3;
    unsigned addend = k + 1;
    void* arguments[] = {&data, &n, &multiplier, &addend};
    Check(api, api.cuLaunchKernel(mix, 4, 1, 1, 256, 1, 1, 0, nullptr, arguments, nullptr),
          "wl_mix");
    expected = MixStep(expected, multiplier, addend);
  }
  Check(api, api.cuMemcpyDtoH(host, data, sizeof(host)), "copy out");
  Check(api, api.cuMemFree(data), "free");
  Check(api, api.cuModuleUnload(module), "unload");
  for (const unsigned value : host) {
    if (value != expected) {
      std::fprintf(stderr, "forker: %u instead of %u\n", value, expected);
      return false;
    }
  }
  return true;
}

bool FreshProcessComputes(DriverEntry entry) {
  DeviceSession session;
  return session.Open(entry) && ComputesRight(session);
}

// Nothing of CUDA: memory, the C library, a grandchild.
void WorkWithoutCuda() {
  std::string text;
  for (int i = 0; i < 10000; ++i) text += std::to_string(i);
  if (text.size() != 38890) std::_Exit(3);
  const pid_t grandchild = fork();
  if (grandchild == 0) std::_Exit(0);
  int status = 0;
  if (waitpid(grandchild, &status, 0) != grandchild || status != 0) std::_Exit(4);
}

int Main(int argc, char** argv) {
  uint64_t rounds = 3;
  DriverEntry entry = DefaultDriverEntry();
  int exit_code = kExitOk;
  OptionParser parser("forker", "Forks before and after CUDA is initialised.");
  parser.AddCount("rounds", "default 3", 1, 100000, &rounds);
  parser.Add("entry", "WAY", "how it gets the driver (default direct)",
             "direct, dlopen, getproc, getproc-v1 or deepbind",
             [&](const std::string& text) { return ParseDriverEntry(text, &entry); });
  if (!parser.Parse(argc, argv, &exit_code)) return exit_code;

  bool well = ChildEndsWell("uses CUDA before its parent does",
                            [&] { std::exit(FreshProcessComputes(entry) ? 0 : 1); });
  DeviceSession session;
  if (!session.Open(entry)) return kExitFailed;
  well = ComputesRight(session) && well;
  for (uint64_t round = 0; round < rounds; ++round) {
    well = ChildEndsWell("works without CUDA, _exit",
                         [] {
                           WorkWithoutCuda();
                           std::_Exit(0);
                         }) &&
           well;
    well = ChildEndsWell("works without CUDA, exit",
                         [] {
                           WorkWithoutCuda();
                           std::exit(0);
                         }) &&
           well;
    well = ChildEndsWell("runs another program",
                         [] {
                           execlp("true", "true", static_cast<char*>(nullptr));
                           std::_Exit(127);
                         }) &&
           well;
    well = ComputesRight(session) && well;
  }
  std::printf("forker: %" PRIu64 " rounds, %s\n", rounds, well ? "all right" : "FAILED");
  return well ? kExitOk : kExitFailed;
}

}  // namespace
}  // namespace workloads

int main(int argc, char** argv) { return workloads::Main(argc, argv); }
