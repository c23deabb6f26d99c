// SPDX-License-Identifier: Apache-2.0
// Batch normalisation: inference one kernel, training and its backward pass two each.
#include <algorithm>

#include "tools/simgpu/cudnn/convolution.h"

using sgprs::simgpu::cudnn::BytesOf;
using sgprs::simgpu::cudnn::ElementOf;
using sgprs::simgpu::cudnn::Elements;
using sgprs::simgpu::cudnn::StatusOf;
using sgprs::simgpu::math::BatchNormArguments;
using sgprs::simgpu::math::ElementGeometry;
using sgprs::simgpu::math::MathArguments;
using sgprs::simgpu::math::MathKernel;

namespace {

cudnnStatus_t Check(cudnnBatchNormMode_t mode, const cudnnTensorStruct* x,
                    const cudnnTensorStruct* y) {
  if (x == nullptr || y == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  if (x->dims < 2 || x->dims > BatchNormArguments::kDims) return CUDNN_STATUS_NOT_SUPPORTED_SHAPE;
  if (x->dims != y->dims || !std::equal(x->size, x->size + x->dims, y->size)) {
    return CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH;
  }
  if (BytesOf(x->type) == 0) return CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE;
  if (mode != CUDNN_BATCHNORM_PER_ACTIVATION) return CUDNN_STATUS_SUCCESS;
  // One activation a channel is the same as per channel.
  return Elements(*x) == x->size[0] * x->size[1] ? CUDNN_STATUS_SUCCESS
                                                 : CUDNN_STATUS_NOT_SUPPORTED;
}

MathArguments Describe(const cudnnTensorStruct& x, const cudnnTensorStruct& y,
                       const cudnnTensorStruct* parameters) {
  MathArguments arguments{};
  BatchNormArguments& norm = arguments.batch_norm;
  for (int i = 0; i < BatchNormArguments::kDims; ++i) {
    const bool there = i < x.dims;
    norm.size[i] = there ? static_cast<int32_t>(x.size[i]) : 1;
    norm.x_stride[i] = there ? x.stride[i] : 0;
    norm.y_stride[i] = there ? y.stride[i] : 0;
  }
  norm.type = ElementOf(x.type);
  norm.type_parameters = parameters != nullptr ? ElementOf(parameters->type) : norm.type;
  return arguments;
}

// `passes`: how often the tensor's bytes go over the bus.
cudnnStatus_t Run(cudnnHandle_t handle, MathKernel kernel, const cudnnTensorStruct& x, int passes,
                  MathArguments arguments) {
  const auto elements = static_cast<double>(Elements(x));
  arguments.flops = 2 * elements * passes;
  arguments.dram_bytes = elements * BytesOf(x.type) * passes;
  return StatusOf(LaunchMath(kernel, ElementGeometry(Elements(x)), arguments, handle->stream));
}

// Neither workspace nor reserve space is needed.
cudnnStatus_t NoBytes(cudnnBatchNormOps_t operations, size_t* bytes) {
  if (bytes == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  *bytes = 0;
  return operations == CUDNN_BATCHNORM_OPS_BN ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}

}  // namespace

STAND_IN_API cudnnStatus_t cudnnBatchNormalizationForwardInference(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void*, const void*,
    const cudnnTensorDescriptor_t xDesc, const void* x, const cudnnTensorDescriptor_t yDesc,
    void* y, const cudnnTensorDescriptor_t parameters, const void* scale, const void* bias,
    const void* mean, const void* variance, double epsilon) {
  if (handle == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  if (cudnnStatus_t bad = Check(mode, xDesc, yDesc)) return bad;
  MathArguments arguments = Describe(*xDesc, *yDesc, parameters);
  BatchNormArguments& norm = arguments.batch_norm;
  norm.x = x;
  norm.y = y;
  norm.scale = scale;
  norm.bias = bias;
  norm.mean = const_cast<void*>(mean);
  norm.variance = const_cast<void*>(variance);
  norm.epsilon = epsilon;
  return Run(handle, MathKernel::kBatchNormInference, *xDesc, 2, arguments);
}

STAND_IN_API cudnnStatus_t cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    cudnnHandle_t, cudnnBatchNormMode_t, cudnnBatchNormOps_t operations,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnTensorDescriptor_t, const cudnnActivationDescriptor_t, size_t* bytes) {
  return NoBytes(operations, bytes);
}
STAND_IN_API cudnnStatus_t cudnnGetBatchNormalizationBackwardExWorkspaceSize(
    cudnnHandle_t, cudnnBatchNormMode_t, cudnnBatchNormOps_t operations,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnActivationDescriptor_t, size_t* bytes) {
  return NoBytes(operations, bytes);
}
STAND_IN_API cudnnStatus_t cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
    cudnnHandle_t, cudnnBatchNormMode_t, cudnnBatchNormOps_t operations,
    const cudnnActivationDescriptor_t, const cudnnTensorDescriptor_t, size_t* bytes) {
  return NoBytes(operations, bytes);
}

STAND_IN_API cudnnStatus_t cudnnBatchNormalizationForwardTrainingEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t operations, const void*,
    const void*, const cudnnTensorDescriptor_t xDesc, const void* x, const cudnnTensorDescriptor_t,
    const void*, const cudnnTensorDescriptor_t yDesc, void* y,
    const cudnnTensorDescriptor_t parameters, const void* scale, const void* bias, double factor,
    void* running_mean, void* running_variance, double epsilon, void* saved_mean,
    void* saved_inverse, cudnnActivationDescriptor_t, void*, size_t, void*, size_t) {
  if (handle == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  if (operations != CUDNN_BATCHNORM_OPS_BN || saved_mean == nullptr || saved_inverse == nullptr) {
    return CUDNN_STATUS_NOT_SUPPORTED;
  }
  if (cudnnStatus_t bad = Check(mode, xDesc, yDesc)) return bad;
  MathArguments arguments = Describe(*xDesc, *yDesc, parameters);
  BatchNormArguments& norm = arguments.batch_norm;
  norm.x = x;
  norm.y = y;
  norm.scale = scale;
  norm.bias = bias;
  norm.mean = running_mean;
  norm.variance = running_variance;
  norm.saved_mean = saved_mean;
  norm.saved_inverse = saved_inverse;
  norm.epsilon = epsilon;
  norm.factor = factor;
  if (cudnnStatus_t bad = Run(handle, MathKernel::kBatchNormStatistics, *xDesc, 1, arguments)) {
    return bad;
  }
  return Run(handle, MathKernel::kBatchNormApply, *xDesc, 2, arguments);
}

STAND_IN_API cudnnStatus_t cudnnBatchNormalizationBackwardEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t operations, const void*,
    const void*, const void*, const void*, const cudnnTensorDescriptor_t xDesc, const void* x,
    const cudnnTensorDescriptor_t, const void*, const cudnnTensorDescriptor_t dyDesc,
    const void* dy, const cudnnTensorDescriptor_t, void*, const cudnnTensorDescriptor_t dxDesc,
    void* dx, const cudnnTensorDescriptor_t parameters, const void* scale, const void*,
    void* dscale, void* dbias, double epsilon, const void* saved_mean, const void* saved_inverse,
    cudnnActivationDescriptor_t, void*, size_t, void*, size_t) {
  if (handle == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  if (operations != CUDNN_BATCHNORM_OPS_BN || saved_mean == nullptr || saved_inverse == nullptr) {
    return CUDNN_STATUS_NOT_SUPPORTED;
  }
  if (cudnnStatus_t bad = Check(mode, xDesc, dyDesc)) return bad;
  if (cudnnStatus_t bad = Check(mode, xDesc, dxDesc)) return bad;
  // dx is written with x's strides.
  if (!std::equal(xDesc->stride, xDesc->stride + xDesc->dims, dxDesc->stride)) {
    return CUDNN_STATUS_NOT_SUPPORTED_LAYOUT;
  }
  MathArguments arguments = Describe(*xDesc, *dyDesc, parameters);
  BatchNormArguments& norm = arguments.batch_norm;
  norm.x = x;
  norm.y = const_cast<void*>(dy);
  norm.dx = dx;
  norm.scale = scale;
  norm.dscale = dscale;
  norm.dbias = dbias;
  norm.saved_mean = const_cast<void*>(saved_mean);
  norm.saved_inverse = const_cast<void*>(saved_inverse);
  norm.epsilon = epsilon;
  if (cudnnStatus_t bad = Run(handle, MathKernel::kBatchNormReduce, *xDesc, 2, arguments)) {
    return bad;
  }
  return Run(handle, MathKernel::kBatchNormBackward, *xDesc, 3, arguments);
}
