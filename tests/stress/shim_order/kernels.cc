// SPDX-License-Identifier: Apache-2.0
// For the simulated device: what so_step computes and how long it takes.
#include <cstring>

#include "tools/simgpu/kernel_library.h"

namespace {

template <typename T>
T Param(const SimgpuLaunch* launch, int i) {
  T value;
  std::memcpy(&value, launch->params[i], sizeof(value));
  return value;
}

void Step(const SimgpuLaunch* launch) {
  auto* to = Param<uint32_t*>(launch, 0);
  const auto* from = Param<const uint32_t*>(launch, 1);
  const auto words = Param<uint32_t>(launch, 2);
  const auto a = Param<uint32_t>(launch, 3);
  const auto b = Param<uint32_t>(launch, 4);
  for (uint32_t i = 0; i < words; ++i) to[i] = to[i] * a + from[i] + b;
}

void StepWork(const SimgpuLaunch* launch, SimgpuWork* work) {
  *work = {Param<uint32_t>(launch, 5) * 2e5, 1024};
}

// LargeParams of kernel.h.
void Large(const SimgpuLaunch* launch) {
  const auto* bytes = static_cast<const unsigned char*>(launch->params[0]);
  uint32_t* to;
  uint32_t first, last;
  std::memcpy(&to, bytes, sizeof(to));
  std::memcpy(&first, bytes + 8, sizeof(first));
  std::memcpy(&last, bytes + 32760, sizeof(last));
  for (uint32_t i = 0; i < 64; ++i) to[i] = first + last;
}

const SimgpuKernel kKernels[] = {{"so_step", Step, StepWork}, {"so_large", Large, nullptr}};

// One body for all names.
const SimgpuKernel kNamed = {"so_step_*", Step, StepWork};

}  // namespace

extern "C" __attribute__((visibility("default"))) const SimgpuKernel* simgpu_find_kernel(
    const char* name) {
  return std::strncmp(name, "so_step_", 8) == 0 ? &kNamed : nullptr;
}

extern "C" __attribute__((visibility("default")))
const SimgpuKernelLibrary simgpu_kernel_library = {SIMGPU_KERNEL_LIBRARY_VERSION, 2, kKernels};
