// SPDX-License-Identifier: Apache-2.0
// A cuBLAS handle: settings, no resources. Used by one thread at a time, as the API asks.
#ifndef SGPRS_TOOLS_SIMGPU_CUBLAS_HANDLE_H_
#define SGPRS_TOOLS_SIMGPU_CUBLAS_HANDLE_H_

#include "tools/simgpu/cublas/api.h"
#include "tools/simgpu/math/launcher.h"

// NVIDIA's header declares the name.
struct cublasContext {
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
  int sm_count_target = 0;
};

namespace sgprs::simgpu::cublas {

// What a launch's error means here.
cublasStatus_t StatusOf(cudaError_t error);
// The type, if bodies and work know it.
bool IsElement(cudaDataType type);

}  // namespace sgprs::simgpu::cublas

#endif  // SGPRS_TOOLS_SIMGPU_CUBLAS_HANDLE_H_
