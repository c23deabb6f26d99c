// SPDX-License-Identifier: Apache-2.0
// What the kernels are for the simulated device: their work, and host code that computes the same
// bits. Only libworkload-kernels.so has it; the programs do not.
#ifndef SGPRS_TOOLS_WORKLOADS_KERNELS_HOST_BODIES_H_
#define SGPRS_TOOLS_WORKLOADS_KERNELS_HOST_BODIES_H_

#include <cstdint>
#include <cstring>
#include <span>

#include "tools/simgpu/kernel_library.h"

namespace workloads {

// Tensors of more elements are not computed: the launch leaves its output as it is. The largest
// tensors of a 32x32 input (64x16x16) are just computed; a 224x224 network would cost seconds a
// frame. Depends on the shape alone, so a program's checksum is a pure function of its input still.
inline constexpr uint64_t kMaxComputedElements = 64 * 16 * 16;

// Parameter `index` of the launch. The driver has them from the module, so they are there.
template <typename T>
T Param(const SimgpuLaunch& launch, uint32_t index) {
  T value{};
  if (index < launch.param_count) std::memcpy(&value, launch.params[index], sizeof(T));
  return value;
}

std::span<const SimgpuKernel> NetworkKernels();
std::span<const SimgpuKernel> ProbeKernels();

}  // namespace workloads

#endif  // SGPRS_TOOLS_WORKLOADS_KERNELS_HOST_BODIES_H_
