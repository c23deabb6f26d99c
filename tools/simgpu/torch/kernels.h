// SPDX-License-Identifier: Apache-2.0
// What is known of PyTorch's own kernels, by families.
#ifndef SGPRS_TOOLS_SIMGPU_TORCH_KERNELS_H_
#define SGPRS_TOOLS_SIMGPU_TORCH_KERNELS_H_

#include "tools/simgpu/kernel_library.h"
#include "tools/simgpu/torch/name.h"

namespace sgprs::simgpu::torch {

struct Behaviour {
  void (*body)(const SimgpuLaunch*) = nullptr;
  void (*work)(const SimgpuLaunch*, SimgpuWork*) = nullptr;
};

// nonzero: how many, and which. Sizes of tensors hang on it.
Behaviour FindNonzero(const KernelName& name);
// One output element from the same elements of the inputs.
Behaviour FindElementwise(const KernelName& name);
// Functions of one number: the body alone.
Behaviour FindUnary(const KernelName& name);
// Many elements to one.
Behaviour FindReduction(const KernelName& name);

}  // namespace sgprs::simgpu::torch

#endif  // SGPRS_TOOLS_SIMGPU_TORCH_KERNELS_H_
