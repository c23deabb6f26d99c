// SPDX-License-Identifier: Apache-2.0
// Kernel launches of every spelling.
#ifndef SGPRS_TOOLS_SIMGPU_CUDART_LAUNCH_H_
#define SGPRS_TOOLS_SIMGPU_CUDART_LAUNCH_H_

#include "tools/simgpu/cudart/api.h"

namespace sgprs::simgpu::cudart {

// Launches and sets the thread's last error. Thread: any; blocks only as the driver's queue does.
cudaError_t Launch(CUkernel kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                   cudaStream_t stream, bool cooperative);

// The kernel that `symbol` means: the address of a __global__ function, or a cudaKernel_t.
cudaError_t FindKernel(const void* symbol, CUkernel* kernel);

}  // namespace sgprs::simgpu::cudart

#endif  // SGPRS_TOOLS_SIMGPU_CUDART_LAUNCH_H_
