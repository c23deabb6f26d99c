// SPDX-License-Identifier: Apache-2.0
// Handles, versions, error texts, and the descriptors of the older API.
#include <algorithm>
#include <cstdio>
#include <new>

#include "tools/simgpu/cudnn/convolution.h"

namespace {

// What PyTorch 2.15's wheel was built with: it refuses an older one.
constexpr int kVersion[] = {9, 26, 0};

template <typename T>
cudnnStatus_t Make(T** out) {
  if (out == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  *out = new (std::nothrow) T;
  return *out != nullptr ? CUDNN_STATUS_SUCCESS
                         : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

template <typename T>
cudnnStatus_t Drop(T* descriptor) {
  delete descriptor;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

STAND_IN_API cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  if (cudaFree(nullptr) != cudaSuccess) return CUDNN_STATUS_NOT_INITIALIZED;
  return Make(handle);
}
STAND_IN_API cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) { return Drop(handle); }
STAND_IN_API cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  if (handle == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}
STAND_IN_API cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  if (handle == nullptr || stream == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  *stream = handle->stream;
  return CUDNN_STATUS_SUCCESS;
}

STAND_IN_API size_t cudnnGetVersion(void) {
  const int version = kVersion[0] * 10000 + kVersion[1] * 100 + kVersion[2];
  return static_cast<size_t>(version);
}
STAND_IN_API size_t cudnnGetCudartVersion(void) { return CUDART_VERSION; }
STAND_IN_API cudnnStatus_t cudnnGetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr || type < MAJOR_VERSION || type > PATCH_LEVEL) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  *value = kVersion[type];
  return CUDNN_STATUS_SUCCESS;
}

STAND_IN_API const char* cudnnGetErrorString(cudnnStatus_t status) {
  if (status == CUDNN_STATUS_SUCCESS) return "CUDNN_STATUS_SUCCESS";
  switch (status / 1000) {
    case 1:
      return "CUDNN_STATUS_NOT_INITIALIZED";
    case 2:
      return "CUDNN_STATUS_BAD_PARAM";
    case 3:
      return "CUDNN_STATUS_NOT_SUPPORTED";
    case 5:
      return "CUDNN_STATUS_EXECUTION_FAILED";
    default:
      return "CUDNN_STATUS_INTERNAL_ERROR";
  }
}
STAND_IN_API void cudnnGetLastErrorString(char* message, size_t size) {
  if (message != nullptr && size > 0) {
    snprintf(message, size, "%s", "the simulated cuDNN keeps no messages");
  }
}

STAND_IN_API cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* tensor) {
  return Make(tensor);
}
STAND_IN_API cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor) {
  return Drop(tensor);
}
STAND_IN_API cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensor,
                                                      cudnnDataType_t type, int dims,
                                                      const int size[], const int stride[]) {
  if (tensor == nullptr || size == nullptr || stride == nullptr) {
    return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  }
  if (dims < 1 || dims > CUDNN_DIM_MAX) return CUDNN_STATUS_NOT_SUPPORTED_SHAPE;
  tensor->type = type;
  tensor->dims = dims;
  std::copy_n(size, dims, tensor->size);
  std::copy_n(stride, dims, tensor->stride);
  return CUDNN_STATUS_SUCCESS;
}
STAND_IN_API cudnnStatus_t cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t tensor,
                                                      int most, cudnnDataType_t* type, int* dims,
                                                      int size[], int stride[]) {
  if (tensor == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  *type = tensor->type;
  *dims = tensor->dims;
  for (int i = 0; i < std::min(most, tensor->dims); ++i) {
    size[i] = static_cast<int>(tensor->size[i]);
    stride[i] = static_cast<int>(tensor->stride[i]);
  }
  return CUDNN_STATUS_SUCCESS;
}

STAND_IN_API cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* filter) {
  return Make(filter);
}
STAND_IN_API cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t filter) {
  return Drop(filter);
}
STAND_IN_API cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t filter,
                                                      cudnnDataType_t type,
                                                      cudnnTensorFormat_t format, int dims,
                                                      const int size[]) {
  if (filter == nullptr || size == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  if (dims < 1 || dims > CUDNN_DIM_MAX) return CUDNN_STATUS_NOT_SUPPORTED_SHAPE;
  cudnnTensorStruct& tensor = filter->tensor;
  filter->format = format;
  tensor.type = type;
  tensor.dims = dims;
  std::copy_n(size, dims, tensor.size);
  int64_t step = 1;  // packed; channels are the fastest in NHWC
  if (format == CUDNN_TENSOR_NHWC && dims > 1) {
    tensor.stride[1] = 1;
    step = tensor.size[1];
  }
  for (int i = dims - 1; i >= 0; --i) {
    if (i == 1 && format == CUDNN_TENSOR_NHWC) continue;
    tensor.stride[i] = step;
    step *= tensor.size[i];
  }
  return CUDNN_STATUS_SUCCESS;
}
STAND_IN_API cudnnStatus_t cudnnGetFilterNdDescriptor(const cudnnFilterDescriptor_t filter,
                                                      int most, cudnnDataType_t* type,
                                                      cudnnTensorFormat_t* format, int* dims,
                                                      int size[]) {
  if (filter == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  *type = filter->tensor.type;
  *format = filter->format;
  *dims = filter->tensor.dims;
  for (int i = 0; i < std::min(most, filter->tensor.dims); ++i) {
    size[i] = static_cast<int>(filter->tensor.size[i]);
  }
  return CUDNN_STATUS_SUCCESS;
}

STAND_IN_API cudnnStatus_t cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t* out) {
  return Make(out);
}
STAND_IN_API cudnnStatus_t cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t it) {
  return Drop(it);
}
STAND_IN_API cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t it,
                                                        cudnnActivationMode_t mode,
                                                        cudnnNanPropagation_t, double coef) {
  if (it == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  it->mode = mode;
  it->coefficient = coef;
  return CUDNN_STATUS_SUCCESS;
}

STAND_IN_API cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* out) {
  return Make(out);
}
STAND_IN_API cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t it) {
  return Drop(it);
}
STAND_IN_API cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t it,
                                                           int dims, const int padding[],
                                                           const int stride[], const int dilation[],
                                                           cudnnConvolutionMode_t mode,
                                                           cudnnDataType_t) {
  if (it == nullptr || padding == nullptr || stride == nullptr || dilation == nullptr) {
    return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  }
  if (dims < 1 || dims > CUDNN_DIM_MAX - 2) return CUDNN_STATUS_NOT_SUPPORTED_SHAPE;
  it->dims = dims;
  it->mode = mode;
  std::copy_n(padding, dims, it->padding);
  std::copy_n(stride, dims, it->stride);
  std::copy_n(dilation, dims, it->dilation);
  return CUDNN_STATUS_SUCCESS;
}
STAND_IN_API cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t it,
                                                         int groups) {
  if (it == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  it->groups = groups;
  return CUDNN_STATUS_SUCCESS;
}
STAND_IN_API cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t it,
                                                       cudnnMathType_t math) {
  if (it == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  it->math = math;
  return CUDNN_STATUS_SUCCESS;
}
