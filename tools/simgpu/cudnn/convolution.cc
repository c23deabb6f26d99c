// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/cudnn/convolution.h"

namespace sgprs::simgpu::cudnn {
namespace {

using math::ConvolutionArguments;

constexpr int kMostSpatial = 3;

int64_t SpatialElements(const cudnnTensorStruct& tensor) {
  int64_t product = 1;
  for (int i = 2; i < tensor.dims; ++i) product *= tensor.size[i];
  return product;
}

void CopyShape(const cudnnTensorStruct& from, int32_t size[], int64_t stride[]) {
  for (int i = 0; i < ConvolutionArguments::kDims; ++i) {
    const bool there = i < from.dims;
    size[i] = there ? static_cast<int32_t>(from.size[i]) : 1;
    stride[i] = there ? from.stride[i] : 0;
  }
}

void Describe(const Convolution& convolution, ConvolutionArguments* out) {
  const cudnnConvolutionStruct& how = convolution.how;
  out->dims = convolution.x.dims;
  CopyShape(convolution.x, out->x_size, out->x_stride);
  CopyShape(convolution.w, out->w_size, out->w_stride);
  CopyShape(convolution.y, out->y_size, out->y_stride);
  for (int i = 0; i < kMostSpatial; ++i) {
    const bool there = i < how.dims;
    out->padding[i] = there ? static_cast<int32_t>(how.padding[i]) : 0;
    out->stride[i] = there ? static_cast<int32_t>(how.stride[i]) : 1;
    out->dilation[i] = there ? static_cast<int32_t>(how.dilation[i]) : 1;
  }
  out->groups = how.groups;
  out->x = convolution.x_data;
  out->w = convolution.w_data;
  out->y = convolution.y_data;
  out->alpha = convolution.alpha;
  out->beta = convolution.beta;
  out->type = ElementOf(convolution.x.type);
  out->kind = static_cast<uint32_t>(convolution.pass);
}

// The product that the pass is, per group.
math::Geometry GeometryOf(const Convolution& convolution) {
  const int64_t groups = convolution.how.groups;
  const int64_t taps = convolution.w.size[1] * SpatialElements(convolution.w);
  const int64_t filters = convolution.w.size[0] / groups;
  const int64_t inputs = convolution.x.size[0] * SpatialElements(convolution.x);
  const int64_t outputs = convolution.y.size[0] * SpatialElements(convolution.y);
  switch (convolution.pass) {
    case Pass::kBackwardData:
      return math::GemmGeometry(inputs, convolution.w.size[1],
                                filters * SpatialElements(convolution.w), groups);
    case Pass::kBackwardFilter:
      return math::GemmGeometry(filters, taps, outputs, groups);
    case Pass::kForward:
      break;
  }
  return math::GemmGeometry(outputs, filters, taps, groups);
}

math::MathKernel KernelOf(Pass pass) {
  switch (pass) {
    case Pass::kBackwardData:
      return math::MathKernel::kConvolutionBackwardData;
    case Pass::kBackwardFilter:
      return math::MathKernel::kConvolutionBackwardFilter;
    case Pass::kForward:
      break;
  }
  return math::MathKernel::kConvolutionForward;
}

}  // namespace

uint32_t BytesOf(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_INT8:
    case CUDNN_DATA_UINT8:
    case CUDNN_DATA_BOOLEAN:
    case CUDNN_DATA_FP8_E4M3:
    case CUDNN_DATA_FP8_E5M2:
      return 1;
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16:
      return 2;
    case CUDNN_DATA_FLOAT:
    case CUDNN_DATA_INT32:
      return 4;
    case CUDNN_DATA_DOUBLE:
    case CUDNN_DATA_INT64:
      return 8;
    default:
      return 0;
  }
}

int64_t Elements(const cudnnTensorStruct& tensor) {
  int64_t product = 1;
  for (int i = 0; i < tensor.dims; ++i) product *= tensor.size[i];
  return product;
}

math::Element ElementOf(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_FLOAT:
      return math::Element::kFloat;
    case CUDNN_DATA_DOUBLE:
      return math::Element::kDouble;
    case CUDNN_DATA_HALF:
      return math::Element::kHalf;
    case CUDNN_DATA_BFLOAT16:
      return math::Element::kBfloat16;
    default:
      return static_cast<math::Element>(~0u);
  }
}

cudnnStatus_t StatusOf(cudaError_t error) {
  return error == cudaSuccess ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED_CUDART;
}

cudnnStatus_t Check(const Convolution& convolution) {
  const cudnnTensorStruct& x = convolution.x;
  const cudnnTensorStruct& w = convolution.w;
  const cudnnTensorStruct& y = convolution.y;
  const cudnnConvolutionStruct& how = convolution.how;
  if (x.dims < 3 || x.dims > 2 + kMostSpatial) return CUDNN_STATUS_NOT_SUPPORTED_SHAPE;
  if (w.dims != x.dims || y.dims != x.dims || how.dims != x.dims - 2) {
    return CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH;
  }
  if (BytesOf(x.type) == 0 || BytesOf(w.type) == 0 || BytesOf(y.type) == 0) {
    return CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE;
  }
  if (how.groups < 1 || w.size[1] * how.groups != x.size[1] || w.size[0] % how.groups != 0 ||
      y.size[0] != x.size[0] || y.size[1] != w.size[0]) {
    return CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH;
  }
  for (int i = 0; i < how.dims; ++i) {
    if (how.stride[i] < 1 || how.dilation[i] < 1 || how.padding[i] < 0) {
      return CUDNN_STATUS_BAD_PARAM;
    }
    const int64_t span = (w.size[2 + i] - 1) * how.dilation[i] + 1;
    const int64_t room = x.size[2 + i] + 2 * how.padding[i] - span;
    if (room < 0 || y.size[2 + i] != room / how.stride[i] + 1) {
      return CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH;
    }
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t Launch(const Convolution& convolution, cudaStream_t stream) {
  math::MathArguments arguments{};
  const auto taps = static_cast<double>(convolution.w.size[1] * SpatialElements(convolution.w));
  arguments.flops = 2 * static_cast<double>(Elements(convolution.y)) * taps;
  auto bytes = [](const cudnnTensorStruct& tensor) {
    return static_cast<double>(Elements(tensor)) * BytesOf(tensor.type);
  };
  arguments.dram_bytes = bytes(convolution.x) + bytes(convolution.w) + bytes(convolution.y);
  Describe(convolution, &arguments.convolution);
  return StatusOf(
      LaunchMath(KernelOf(convolution.pass), GeometryOf(convolution), arguments, stream));
}

}  // namespace sgprs::simgpu::cudnn
