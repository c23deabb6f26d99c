// SPDX-License-Identifier: Apache-2.0
// Convolutions of the older API: one algorithm a pass, without workspace.
#include "tools/simgpu/cudnn/convolution.h"

using sgprs::simgpu::cudnn::Check;
using sgprs::simgpu::cudnn::Convolution;
using sgprs::simgpu::cudnn::Launch;
using sgprs::simgpu::cudnn::Pass;

namespace {

// Scaling factors are float, of double tensors double.
double Scalar(const void* at, cudnnDataType_t type) {
  if (type == CUDNN_DATA_DOUBLE) return *static_cast<const double*>(at);
  return static_cast<double>(*static_cast<const float*>(at));
}

cudnnStatus_t Describe(Pass pass, const cudnnTensorStruct* x, const cudnnFilterStruct* w,
                       const cudnnConvolutionStruct* how, const cudnnTensorStruct* y,
                       Convolution* out) {
  if (x == nullptr || w == nullptr || how == nullptr || y == nullptr) {
    return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  }
  out->pass = pass;
  out->x = *x;
  out->w = w->tensor;
  out->y = *y;
  out->how = *how;
  return Check(*out);
}

cudnnStatus_t Run(cudnnHandle_t handle, Convolution* convolution, const void* alpha,
                  const void* beta, const void* x, const void* w, const void* y) {
  if (handle == nullptr || alpha == nullptr || beta == nullptr) {
    return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  }
  convolution->alpha = Scalar(alpha, convolution->x.type);
  convolution->beta = Scalar(beta, convolution->x.type);
  convolution->x_data = const_cast<void*>(x);
  convolution->w_data = const_cast<void*>(w);
  convolution->y_data = const_cast<void*>(y);
  return Launch(*convolution, handle->stream);
}

template <typename Performance, typename Algorithm>
cudnnStatus_t One(cudnnStatus_t status, Algorithm algorithm, cudnnMathType_t math, int requested,
                  int* count, Performance* results) {
  if (count == nullptr || results == nullptr || requested < 1) return CUDNN_STATUS_BAD_PARAM;
  *count = 0;
  if (status != CUDNN_STATUS_SUCCESS) return status;
  *count = 1;
  results[0] = Performance{};
  results[0].algo = algorithm;
  results[0].status = CUDNN_STATUS_SUCCESS;
  results[0].determinism = CUDNN_DETERMINISTIC;
  results[0].mathType = math;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t NoWorkspace(cudnnStatus_t status, size_t* bytes) {
  if (bytes == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  *bytes = 0;
  return status;
}

}  // namespace

STAND_IN_API cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(
    cudnnHandle_t, const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,
    const cudnnConvolutionDescriptor_t how, const cudnnTensorDescriptor_t y, const int requested,
    int* count, cudnnConvolutionFwdAlgoPerf_t* results) {
  Convolution unused;
  const cudnnStatus_t status = Describe(Pass::kForward, x, w, how, y, &unused);
  return One(status, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, unused.how.math, requested,
             count, results);
}
STAND_IN_API cudnnStatus_t cudnnFindConvolutionForwardAlgorithmEx(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const void*,
    const cudnnFilterDescriptor_t w, const void*, const cudnnConvolutionDescriptor_t how,
    const cudnnTensorDescriptor_t y, void*, const int requested, int* count,
    cudnnConvolutionFwdAlgoPerf_t* results, void*, size_t) {
  return cudnnGetConvolutionForwardAlgorithm_v7(handle, x, w, how, y, requested, count, results);
}
STAND_IN_API cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(
    cudnnHandle_t, const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,
    const cudnnConvolutionDescriptor_t how, const cudnnTensorDescriptor_t y,
    cudnnConvolutionFwdAlgo_t, size_t* bytes) {
  Convolution unused;
  return NoWorkspace(Describe(Pass::kForward, x, w, how, y, &unused), bytes);
}
STAND_IN_API cudnnStatus_t
cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha, const cudnnTensorDescriptor_t x,
                        const void* x_data, const cudnnFilterDescriptor_t w, const void* w_data,
                        const cudnnConvolutionDescriptor_t how, cudnnConvolutionFwdAlgo_t, void*,
                        size_t, const void* beta, const cudnnTensorDescriptor_t y, void* y_data) {
  Convolution convolution;
  if (cudnnStatus_t bad = Describe(Pass::kForward, x, w, how, y, &convolution)) return bad;
  return Run(handle, &convolution, alpha, beta, x_data, w_data, y_data);
}

STAND_IN_API cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t, const cudnnFilterDescriptor_t w, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t how, const cudnnTensorDescriptor_t dx, const int requested,
    int* count, cudnnConvolutionBwdDataAlgoPerf_t* results) {
  Convolution unused;
  const cudnnStatus_t status = Describe(Pass::kBackwardData, dx, w, how, dy, &unused);
  return One(status, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, unused.how.math, requested, count, results);
}
STAND_IN_API cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithmEx(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t w, const void*,
    const cudnnTensorDescriptor_t dy, const void*, const cudnnConvolutionDescriptor_t how,
    const cudnnTensorDescriptor_t dx, void*, const int requested, int* count,
    cudnnConvolutionBwdDataAlgoPerf_t* results, void*, size_t) {
  return cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, w, dy, how, dx, requested, count,
                                                     results);
}
STAND_IN_API cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t, const cudnnFilterDescriptor_t w, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t how, const cudnnTensorDescriptor_t dx,
    cudnnConvolutionBwdDataAlgo_t, size_t* bytes) {
  Convolution unused;
  return NoWorkspace(Describe(Pass::kBackwardData, dx, w, how, dy, &unused), bytes);
}
STAND_IN_API cudnnStatus_t cudnnConvolutionBackwardData(
    cudnnHandle_t handle, const void* alpha, const cudnnFilterDescriptor_t w, const void* w_data,
    const cudnnTensorDescriptor_t dy, const void* dy_data, const cudnnConvolutionDescriptor_t how,
    cudnnConvolutionBwdDataAlgo_t, void*, size_t, const void* beta,
    const cudnnTensorDescriptor_t dx, void* dx_data) {
  Convolution convolution;
  if (cudnnStatus_t bad = Describe(Pass::kBackwardData, dx, w, how, dy, &convolution)) return bad;
  return Run(handle, &convolution, alpha, beta, dx_data, w_data, dy_data);
}

STAND_IN_API cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t how, const cudnnFilterDescriptor_t dw, const int requested,
    int* count, cudnnConvolutionBwdFilterAlgoPerf_t* results) {
  Convolution unused;
  const cudnnStatus_t status = Describe(Pass::kBackwardFilter, x, dw, how, dy, &unused);
  return One(status, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, unused.how.math, requested, count,
             results);
}
STAND_IN_API cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithmEx(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const void*,
    const cudnnTensorDescriptor_t dy, const void*, const cudnnConvolutionDescriptor_t how,
    const cudnnFilterDescriptor_t dw, void*, const int requested, int* count,
    cudnnConvolutionBwdFilterAlgoPerf_t* results, void*, size_t) {
  return cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle, x, dy, how, dw, requested, count,
                                                       results);
}
STAND_IN_API cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t how, const cudnnFilterDescriptor_t dw,
    cudnnConvolutionBwdFilterAlgo_t, size_t* bytes) {
  Convolution unused;
  return NoWorkspace(Describe(Pass::kBackwardFilter, x, dw, how, dy, &unused), bytes);
}
STAND_IN_API cudnnStatus_t cudnnConvolutionBackwardFilter(
    cudnnHandle_t handle, const void* alpha, const cudnnTensorDescriptor_t x, const void* x_data,
    const cudnnTensorDescriptor_t dy, const void* dy_data, const cudnnConvolutionDescriptor_t how,
    cudnnConvolutionBwdFilterAlgo_t, void*, size_t, const void* beta,
    const cudnnFilterDescriptor_t dw, void* dw_data) {
  Convolution convolution;
  if (cudnnStatus_t bad = Describe(Pass::kBackwardFilter, x, dw, how, dy, &convolution)) {
    return bad;
  }
  return Run(handle, &convolution, alpha, beta, x_data, dw_data, dy_data);
}
