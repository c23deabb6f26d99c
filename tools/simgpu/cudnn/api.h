// SPDX-License-Identifier: Apache-2.0
// The cuDNN API as this library defines it: NVIDIA's headers, and what its opaque descriptors hold
// here.
#ifndef SGPRS_TOOLS_SIMGPU_CUDNN_API_H_
#define SGPRS_TOOLS_SIMGPU_CUDNN_API_H_

#include <cudnn.h>

#include <cstdint>

// Puts the function into the library's exports, with names.txt. tools/simgpu/absent/generate.py
// finds the implemented calls by this word.
#define STAND_IN_API extern "C" __attribute__((visibility("default")))

// NVIDIA's headers declare the names of these.
struct cudnnContext {
  cudaStream_t stream = nullptr;
};

struct cudnnTensorStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  int dims = 0;
  int64_t size[CUDNN_DIM_MAX] = {};
  int64_t stride[CUDNN_DIM_MAX] = {};
};

struct cudnnFilterStruct {
  cudnnTensorStruct tensor;
  cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW;
};

struct cudnnConvolutionStruct {
  int dims = 0;  // spatial
  int64_t padding[CUDNN_DIM_MAX] = {};
  int64_t stride[CUDNN_DIM_MAX] = {};
  int64_t dilation[CUDNN_DIM_MAX] = {};
  int groups = 1;
  cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
};

struct cudnnActivationStruct {
  cudnnActivationMode_t mode = CUDNN_ACTIVATION_IDENTITY;
  double coefficient = 0;
};

#endif  // SGPRS_TOOLS_SIMGPU_CUDNN_API_H_
