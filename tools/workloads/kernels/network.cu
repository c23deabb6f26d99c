// SPDX-License-Identifier: Apache-2.0
// The kernels of the networks. NCHW, fp32, one image. Sums run in ascending order of channel, row
// and column of the kernel, so that the order of additions is defined.
#include "tools/workloads/kernels/cuda_words.h"
#include "tools/workloads/kernels/element_math.h"
#include "tools/workloads/kernels/kernel_types.h"

namespace workloads {
namespace {

// Element `depth` (channel, row, column of the kernel) under output pixel `pixel`; 0 in the
// padding.
__device__ inline float Patch(const float* x, const WindowShape& s, int depth, int pixel) {
  const int area = s.kernel * s.kernel;
  if (depth >= s.channels_in * area || pixel >= s.height_out * s.width_out) return 0.0f;
  const int channel = depth / area;
  const int row = pixel / s.width_out * s.stride - s.pad + depth % area / s.kernel;
  const int column = pixel % s.width_out * s.stride - s.pad + depth % s.kernel;
  if (row < 0 || row >= s.height_in || column < 0 || column >= s.width_in) return 0.0f;
  return x[(channel * s.height_in + row) * s.width_in + column];
}

}  // namespace

// Implicit GEMM: weights [out][in * k * k] times patches [in * k * k][pixels].
extern "C" __global__ void __launch_bounds__(kConvThreads* kConvThreads)
    wl_conv2d(const float* x, const float* weights, float* y, WindowShape s) {
  __shared__ float left[kConvDepth][kConvTile + 1];
  __shared__ float right[kConvDepth][kConvTile + 1];
  const int column = static_cast<int>(ThreadIndex::X());
  const int row = static_cast<int>(ThreadIndex::Y());
  const int pixel0 = static_cast<int>(BlockIndex::X()) * kConvTile;
  const int channel0 = static_cast<int>(BlockIndex::Y()) * kConvTile;
  const int depth = s.channels_in * s.kernel * s.kernel;
  float sum[2][2] = {};
  for (int depth0 = 0; depth0 < depth; depth0 += kConvDepth) {
    for (int half = 0; half < 2; ++half) {
      // Weights: neighbours in depth; patches: neighbours in pixel.
      const int channel = row + half * kConvThreads;
      const bool inside = channel0 + channel < s.channels_out && depth0 + column < depth;
      left[column][channel] =
          inside ? weights[(channel0 + channel) * depth + depth0 + column] : 0.0f;
      const int pixel = column + half * kConvThreads;
      right[row][pixel] = Patch(x, s, depth0 + row, pixel0 + pixel);
    }
    __syncthreads();
    for (int k = 0; k < kConvDepth; ++k) {
      for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j) {
          sum[i][j] = MultiplyAdd(sum[i][j], left[k][row * 2 + i], right[k][column * 2 + j]);
        }
      }
    }
    __syncthreads();
  }
  const int pixels = s.height_out * s.width_out;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      const int channel = channel0 + row * 2 + i;
      const int pixel = pixel0 + column * 2 + j;
      if (channel < s.channels_out && pixel < pixels) y[channel * pixels + pixel] = sum[i][j];
    }
  }
}

// One kernel a channel. Grid: pixels in x, channels in y.
extern "C" __global__ void __launch_bounds__(kFlatThreads)
    wl_depthwise(const float* x, const float* weights, float* y, WindowShape s) {
  const int pixel = static_cast<int>(GlobalX());
  const int channel = static_cast<int>(BlockIndex::Y());
  if (pixel >= s.height_out * s.width_out) return;
  const int area = s.kernel * s.kernel;
  float sum = 0.0f;
  for (int k = 0; k < area; ++k) {
    sum = MultiplyAdd(sum, weights[channel * area + k], Patch(x, s, channel * area + k, pixel));
  }
  y[channel * s.height_out * s.width_out + pixel] = sum;
}

extern "C" __global__ void __launch_bounds__(kFlatThreads)
    wl_batch_norm(const float* x, const float* scale, const float* shift, float* y, int channels,
                  int plane) {
  const int i = static_cast<int>(GlobalX());
  if (i >= channels * plane) return;
  y[i] = Normalised(x[i], scale[i / plane], shift[i / plane]);
}

extern "C" __global__ void __launch_bounds__(kFlatThreads)
    wl_relu(const float* x, float* y, int n) {
  const int i = static_cast<int>(GlobalX());
  if (i < n) y[i] = Rectified(x[i]);
}

extern "C" __global__ void __launch_bounds__(kFlatThreads)
    wl_add(const float* a, const float* b, float* y, int n) {
  const int i = static_cast<int>(GlobalX());
  if (i < n) y[i] = a[i] + b[i];
}

// Grid as wl_depthwise. The padding is lower than everything.
extern "C" __global__ void __launch_bounds__(kFlatThreads)
    wl_max_pool(const float* x, float* y, WindowShape s) {
  const int pixel = static_cast<int>(GlobalX());
  const int channel = static_cast<int>(BlockIndex::Y());
  if (pixel >= s.height_out * s.width_out) return;
  float largest = kLowest;
  for (int k = 0; k < s.kernel * s.kernel; ++k) {
    const int row = pixel / s.width_out * s.stride - s.pad + k / s.kernel;
    const int column = pixel % s.width_out * s.stride - s.pad + k % s.kernel;
    if (row < 0 || row >= s.height_in || column < 0 || column >= s.width_in) continue;
    largest = Larger(largest, x[(channel * s.height_in + row) * s.width_in + column]);
  }
  y[channel * s.height_out * s.width_out + pixel] = largest;
}

// Global: a block a channel; threads stride over the plane, then a tree.
extern "C" __global__ void __launch_bounds__(kAverageThreads)
    wl_average_pool(const float* x, float* y, int plane) {
  __shared__ float partial[kAverageThreads];
  const int thread = static_cast<int>(ThreadIndex::X());
  const float* channel = x + static_cast<int>(BlockIndex::X()) * plane;
  float sum = 0.0f;
  for (int i = thread; i < plane; i += kAverageThreads) sum += channel[i];
  partial[thread] = sum;
  __syncthreads();
  for (int half = kAverageThreads / 2; half > 0; half /= 2) {
    if (thread < half) partial[thread] += partial[thread + half];
    __syncthreads();
  }
  if (thread == 0) {
    const float inverse = 1.0f / static_cast<float>(plane);
    y[BlockIndex::X()] = partial[0] * inverse;
  }
}

// Weights [in][out], so that neighbouring threads read neighbours.
extern "C" __global__ void __launch_bounds__(kLinearThreads)
    wl_linear(const float* x, const float* weights, const float* bias, float* y, int inputs,
              int outputs) {
  const int output = static_cast<int>(GlobalX());
  if (output >= outputs) return;
  float sum = bias[output];
  for (int i = 0; i < inputs; ++i) sum = MultiplyAdd(sum, x[i], weights[i * outputs + output]);
  y[output] = sum;
}

}  // namespace workloads
