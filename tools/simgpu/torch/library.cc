// SPDX-License-Identifier: Apache-2.0
// What the stand-in driver asks: kernels by name.
#include <cxxabi.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "tools/simgpu/kernel_library.h"
#include "tools/simgpu/torch/kernels.h"

using namespace sgprs::simgpu::torch;  // NOLINT: the entry has no namespace

namespace {

// Modules hold thousands of kernels: most names are passed over before they are demangled.
bool IsOfInterest(const char* mangled) {
  for (const char* part : {"elementwise_kernel", "reduce_kernel", "NonZeroOp",
                           "DeviceReduceSingleTile", "write_indices"}) {
    if (strstr(mangled, part) != nullptr) return true;
  }
  return false;
}

}  // namespace

extern "C" __attribute__((visibility("default")))
const SimgpuKernelLibrary simgpu_kernel_library = {SIMGPU_KERNEL_LIBRARY_VERSION, 0, nullptr};

extern "C" __attribute__((visibility("default"))) const SimgpuKernel* simgpu_find_kernel(
    const char* mangled) {
  if (!IsOfInterest(mangled)) return nullptr;
  int status = 0;
  char* text = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
  const std::optional<KernelName> name = text != nullptr ? ParseName(text) : std::nullopt;
  free(text);
  if (!name) return nullptr;
  Behaviour found = FindNonzero(*name);
  if (found.body == nullptr) found = FindReduction(*name);
  if (found.body == nullptr) found = FindElementwise(*name);
  if (found.body == nullptr) found.body = FindUnary(*name).body;
  if (found.body == nullptr && found.work == nullptr) return nullptr;
  // Asked once a kernel; lives as long as the process.
  return new SimgpuKernel{nullptr, found.body, found.work};
}
