// SPDX-License-Identifier: Apache-2.0
// Host bodies of the test kernels (kernel_library.h).
#include <cstring>

#include "tools/simgpu/kernel_library.h"

namespace {

template <typename T>
T Param(const SimgpuLaunch* launch, int index) {
  T value;
  memcpy(&value, launch->params[index], sizeof(value));
  return value;
}

void AddOne(const SimgpuLaunch* launch) {
  int* data = Param<int*>(launch, 0);
  for (int i = 0; i < Param<int>(launch, 1); ++i) ++data[i];
}

void Scale(const SimgpuLaunch* launch) {
  float* data = Param<float*>(launch, 0);
  for (int i = 0; i < Param<int>(launch, 1); ++i) data[i] *= Param<float>(launch, 2);
}

void Big(const SimgpuLaunch* launch) {
  unsigned sum = 0;
  for (int i = 0; i < 32756; ++i) sum += static_cast<const unsigned char*>(launch->params[0])[i];
  *Param<unsigned*>(launch, 1) = sum;
}

// 0.5 ms or so of a mid-range device, for tests that need work in flight.
void Heavy(const SimgpuLaunch*, SimgpuWork* work) { work->flops = 5e9; }

const SimgpuKernel kKernels[] = {{"add_one", AddOne, nullptr},
                                 {"scale", Scale, nullptr},
                                 {"no_body", nullptr, Heavy},
                                 {"big", Big, nullptr}};

}  // namespace

extern "C" __attribute__((visibility("default")))
const SimgpuKernelLibrary simgpu_kernel_library = {
    SIMGPU_KERNEL_LIBRARY_VERSION, sizeof(kKernels) / sizeof(kKernels[0]), kKernels};
