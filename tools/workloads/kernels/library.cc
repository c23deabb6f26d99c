// SPDX-License-Identifier: Apache-2.0
// The table that the stand-in driver looks for.
#include <algorithm>
#include <array>

#include "tools/workloads/kernels/host_bodies.h"

namespace {

constexpr size_t kMost = 32;

const std::array<SimgpuKernel, kMost>& Kernels() {
  static const std::array<SimgpuKernel, kMost> kernels = [] {
    std::array<SimgpuKernel, kMost> all{};
    auto end = std::copy(workloads::NetworkKernels().begin(), workloads::NetworkKernels().end(),
                         all.begin());
    std::copy(workloads::ProbeKernels().begin(), workloads::ProbeKernels().end(), end);
    return all;
  }();
  return kernels;
}

}  // namespace

extern "C" __attribute__((visibility("default")))
const SimgpuKernelLibrary simgpu_kernel_library = {
    SIMGPU_KERNEL_LIBRARY_VERSION,
    static_cast<uint32_t>(workloads::NetworkKernels().size() + workloads::ProbeKernels().size()),
    Kernels().data()};
