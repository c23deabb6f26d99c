// SPDX-License-Identifier: Apache-2.0
// The table that the stand-in driver looks for.
#include <cstring>

#include "tools/simgpu/kernel_library.h"
#include "tools/simgpu/math/arguments.h"
#include "tools/simgpu/math/bodies.h"

namespace {

using sgprs::simgpu::math::MathArguments;
using namespace sgprs::simgpu::math;  // NOLINT: the bodies, by the names of kernels.inc

void Work(const SimgpuLaunch* launch, SimgpuWork* work) {
  MathArguments arguments;
  memcpy(&arguments, launch->params[0], sizeof(arguments));
  work->flops = arguments.flops;
  work->dram_bytes = arguments.dram_bytes;
}

constexpr SimgpuKernel kKernels[] = {
#define MATH_KERNEL(identifier, name, body) {#name, body, Work},
#include "tools/simgpu/math/kernels.inc"
#undef MATH_KERNEL
};

}  // namespace

extern "C" __attribute__((visibility("default")))
const SimgpuKernelLibrary simgpu_kernel_library = {
    SIMGPU_KERNEL_LIBRARY_VERSION, sizeof(kKernels) / sizeof(kKernels[0]), kKernels};
