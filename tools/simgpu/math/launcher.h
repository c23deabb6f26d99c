// SPDX-License-Identifier: Apache-2.0
// How the stand-in libraries put their kernels onto the device: through the runtime API, as any
// program does.
#ifndef SGPRS_TOOLS_SIMGPU_MATH_LAUNCHER_H_
#define SGPRS_TOOLS_SIMGPU_MATH_LAUNCHER_H_

#include <cuda_runtime_api.h>

#include "tools/simgpu/math/arguments.h"

namespace sgprs::simgpu::math {

enum class MathKernel {
#define MATH_KERNEL(identifier, name, body) identifier,
#include "tools/simgpu/math/kernels.inc"
#undef MATH_KERNEL
  kCount
};

struct Geometry {
  dim3 grid;
  unsigned threads;
  unsigned shared_bytes;
};

// Thread: any. Blocks only as a launch does. The arguments are copied.
cudaError_t LaunchMath(MathKernel kernel, const Geometry& geometry, const MathArguments& arguments,
                       cudaStream_t stream);

// Tiles of 128x128, or of 64x64 when those leave SMs empty; the sum split in parts when there are
// fewer than 32 blocks (runtime/model/README.md: what the cost of a convolution was fitted with).
Geometry GemmGeometry(int64_t m, int64_t n, int64_t k, int64_t batch);
// One thread an element, four elements a thread beyond 2^20.
Geometry ElementGeometry(int64_t elements);

// A GEMM of one kind or another by its types, with its work. Nothing to do (m, n or batch 0):
// success, no launch.
cudaError_t LaunchGemm(const GemmArguments& gemm, cudaStream_t stream);

// One line to $SGPRS_SIMGPU_LOG, if that is set.
void LogMath(const char* library, const char* text);

}  // namespace sgprs::simgpu::math

#endif  // SGPRS_TOOLS_SIMGPU_MATH_LAUNCHER_H_
