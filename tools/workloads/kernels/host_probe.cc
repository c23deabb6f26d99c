// SPDX-License-Identifier: Apache-2.0
// Work and host bodies of probe.cu.
#include "tools/workloads/kernels/element_math.h"
#include "tools/workloads/kernels/host_bodies.h"

namespace workloads {
namespace {

double Threads(const SimgpuLaunch& launch) {
  double threads = 1;
  for (int i = 0; i < 3; ++i) threads *= static_cast<double>(launch.grid[i]) * launch.block[i];
  return threads;
}

// No body: nobody looks at what wl_busy keeps.
void BusyWork(const SimgpuLaunch* launch, SimgpuWork* work) {
  *work = {2.0 * Param<int>(*launch, 1) * Threads(*launch), 8 * Threads(*launch)};
}

void Eight(const SimgpuLaunch* launch) {
  auto* chain = Param<unsigned long long*>(*launch, 0);
  const unsigned long long sum = static_cast<unsigned long long>(Param<unsigned char>(*launch, 1)) +
                                 Param<unsigned short>(*launch, 2) + Param<unsigned>(*launch, 3) +
                                 Param<unsigned long long>(*launch, 4) +
                                 static_cast<unsigned long long>(Param<float>(*launch, 5)) +
                                 static_cast<unsigned long long>(Param<double>(*launch, 6)) +
                                 *Param<unsigned*>(*launch, 7);
  *chain = ChainStep(*chain, sum);
}
void EightWork(const SimgpuLaunch*, SimgpuWork* work) { *work = {8, 24}; }

void Mix(const SimgpuLaunch* launch) {
  auto* data = Param<unsigned*>(*launch, 0);
  const int n = Param<int>(*launch, 1);
  const auto multiplier = Param<unsigned>(*launch, 2);
  const auto addend = Param<unsigned>(*launch, 3);
  for (int i = 0; i < n; ++i) data[i] = MixStep(data[i], multiplier, addend);
}
void MixWork(const SimgpuLaunch* launch, SimgpuWork* work) {
  const double n = Param<int>(*launch, 1);
  *work = {2 * n, 8 * n};
}

constexpr SimgpuKernel kKernels[] = {
    {"wl_busy", nullptr, BusyWork},
    {"wl_eight", Eight, EightWork},
    {"wl_mix", Mix, MixWork},
};

}  // namespace

std::span<const SimgpuKernel> ProbeKernels() { return kKernels; }

}  // namespace workloads
