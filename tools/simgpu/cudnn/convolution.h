// SPDX-License-Identifier: Apache-2.0
// A convolution, whichever of cuDNN's two APIs asked for it.
#ifndef SGPRS_TOOLS_SIMGPU_CUDNN_CONVOLUTION_H_
#define SGPRS_TOOLS_SIMGPU_CUDNN_CONVOLUTION_H_

#include "tools/simgpu/cudnn/api.h"
#include "tools/simgpu/math/launcher.h"

namespace sgprs::simgpu::cudnn {

enum class Pass : uint32_t { kForward = 0, kBackwardData = 1, kBackwardFilter = 2 };

// x, w and y of the forward direction, also for the backward passes.
struct Convolution {
  Pass pass = Pass::kForward;
  cudnnTensorStruct x, w, y;
  cudnnConvolutionStruct how;
  void* x_data = nullptr;
  void* w_data = nullptr;
  void* y_data = nullptr;
  double alpha = 1;
  double beta = 0;
};

// Bytes of an element; 0: a type that is not known.
uint32_t BytesOf(cudnnDataType_t type);
int64_t Elements(const cudnnTensorStruct& tensor);
// The type as bodies know it; one that they do not compute with otherwise.
math::Element ElementOf(cudnnDataType_t type);
cudnnStatus_t StatusOf(cudaError_t error);

// BAD_PARAM: shapes that do not belong together; NOT_SUPPORTED: types, more than three dimensions.
cudnnStatus_t Check(const Convolution& convolution);
// Checked ones only.
cudnnStatus_t Launch(const Convolution& convolution, cudaStream_t stream);

}  // namespace sgprs::simgpu::cudnn

#endif  // SGPRS_TOOLS_SIMGPU_CUDNN_CONVOLUTION_H_
