// SPDX-License-Identifier: Apache-2.0
// Work and host bodies of network.cu. The order of every sum is that of the kernel.
#include <algorithm>
#include <vector>

#include "tools/workloads/kernels/element_math.h"
#include "tools/workloads/kernels/host_bodies.h"
#include "tools/workloads/kernels/kernel_types.h"

namespace workloads {
namespace {

double Elements(int channels, int height, int width) {
  return static_cast<double>(channels) * height * width;
}
double In(const WindowShape& s) { return Elements(s.channels_in, s.height_in, s.width_in); }
double Out(const WindowShape& s) { return Elements(s.channels_out, s.height_out, s.width_out); }
bool Computed(double in, double out) {
  constexpr auto kMost = static_cast<double>(kMaxComputedElements);
  return in <= kMost && out <= kMost;
}

// Bytes: every tensor once, as if all reuse were caught on chip.
SimgpuWork Work(double flops, double floats_moved) { return {flops, floats_moved * sizeof(float)}; }

// Output positions whose input position `at * stride - pad + k` lies in [0, size).
struct Span {
  int begin;
  int end;
};
Span Valid(int size_out, int size_in, int stride, int pad, int k) {
  const int begin = std::max(0, (pad - k + stride - 1) / stride);
  const int end = std::min(size_out, (size_in - 1 + pad - k) / stride + 1);
  return {begin, size_in - 1 + pad - k < 0 ? begin : std::max(begin, end)};
}

// One position of the kernel, with the outputs whose input there is not padding.
struct Tap {
  int index;  // row * kernel + column
  Span rows;
  Span columns;
  int in_begin;  // input of the first output of the first row
};

// Positions that only ever meet padding are left out.
std::vector<Tap> TapsOf(const WindowShape& s) {
  std::vector<Tap> taps;
  for (int row = 0; row < s.kernel; ++row) {
    for (int column = 0; column < s.kernel; ++column) {
      const Span rows = Valid(s.height_out, s.height_in, s.stride, s.pad, row);
      const Span columns = Valid(s.width_out, s.width_in, s.stride, s.pad, column);
      if (rows.begin == rows.end || columns.begin == columns.end) continue;
      taps.push_back({row * s.kernel + column, rows, columns,
                      (rows.begin * s.stride - s.pad + row) * s.width_in +
                          columns.begin * s.stride - s.pad + column});
    }
  }
  return taps;
}

// out = step(out, in) for every output of the tap.
template <typename Step>
void ForTap(const WindowShape& s, const Tap& tap, const float* plane, float* out, Step step) {
  const int width = tap.columns.end - tap.columns.begin;
  const float* in = plane + tap.in_begin;
  out += tap.rows.begin * s.width_out + tap.columns.begin;
  for (int row = tap.rows.begin; row < tap.rows.end; ++row) {
    if (s.stride == 1) {
      for (int c = 0; c < width; ++c) out[c] = step(out[c], in[c]);
    } else {
      for (int c = 0; c < width; ++c) out[c] = step(out[c], in[c * s.stride]);
    }
    in += s.stride * s.width_in;
    out += s.width_out;
  }
}

// sum += weights * x for one channel in and one out. The padding is left out: sums begin at +0, to
// which a product with 0 adds nothing.
void Accumulate(const WindowShape& s, const std::vector<Tap>& taps, const float* plane,
                const float* weights, float* sum) {
  for (const Tap& tap : taps) {
    const float weight = weights[tap.index];
    ForTap(s, tap, plane, sum,
           [weight](float out, float in) { return MultiplyAdd(out, weight, in); });
  }
}

void Conv2d(const SimgpuLaunch* launch) {
  const auto* x = Param<const float*>(*launch, 0);
  const auto* weights = Param<const float*>(*launch, 1);
  auto* y = Param<float*>(*launch, 2);
  const auto s = Param<WindowShape>(*launch, 3);
  if (!Computed(In(s), Out(s))) return;
  const std::vector<Tap> taps = TapsOf(s);
  const int pixels = s.height_out * s.width_out;
  const int plane = s.height_in * s.width_in;
  std::fill_n(y, static_cast<size_t>(pixels) * static_cast<size_t>(s.channels_out), 0.0f);
  for (int out = 0; out < s.channels_out; ++out) {
    for (int in = 0; in < s.channels_in; ++in) {
      Accumulate(s, taps, x + in * plane, weights, y + out * pixels);
      weights += s.kernel * s.kernel;
    }
  }
}
void Conv2dWork(const SimgpuLaunch* launch, SimgpuWork* work) {
  const auto s = Param<WindowShape>(*launch, 3);
  const double depth = Elements(s.channels_in, s.kernel, s.kernel);
  *work = Work(2 * depth * Out(s), In(s) + Out(s) + depth * s.channels_out);
}

void Depthwise(const SimgpuLaunch* launch) {
  const auto* x = Param<const float*>(*launch, 0);
  const auto* weights = Param<const float*>(*launch, 1);
  auto* y = Param<float*>(*launch, 2);
  const auto s = Param<WindowShape>(*launch, 3);
  if (!Computed(In(s), Out(s))) return;
  const int pixels = s.height_out * s.width_out;
  std::fill_n(y, static_cast<size_t>(pixels) * static_cast<size_t>(s.channels_out), 0.0f);
  const std::vector<Tap> taps = TapsOf(s);
  for (int channel = 0; channel < s.channels_out; ++channel) {
    Accumulate(s, taps, x + channel * s.height_in * s.width_in,
               weights + channel * s.kernel * s.kernel, y + channel * pixels);
  }
}
void DepthwiseWork(const SimgpuLaunch* launch, SimgpuWork* work) {
  const auto s = Param<WindowShape>(*launch, 3);
  const double area = Elements(1, s.kernel, s.kernel);
  *work = Work(2 * area * Out(s), In(s) + Out(s) + area * s.channels_out);
}

void BatchNorm(const SimgpuLaunch* launch) {
  const auto* x = Param<const float*>(*launch, 0);
  const auto* scale = Param<const float*>(*launch, 1);
  const auto* shift = Param<const float*>(*launch, 2);
  auto* y = Param<float*>(*launch, 3);
  const int channels = Param<int>(*launch, 4);
  const int plane = Param<int>(*launch, 5);
  if (!Computed(0, Elements(channels, plane, 1))) return;
  for (int c = 0; c < channels; ++c) {
    for (int i = c * plane; i < (c + 1) * plane; ++i) y[i] = Normalised(x[i], scale[c], shift[c]);
  }
}
void BatchNormWork(const SimgpuLaunch* launch, SimgpuWork* work) {
  const int channels = Param<int>(*launch, 4);
  const double n = Elements(channels, Param<int>(*launch, 5), 1);
  *work = Work(2 * n, 2 * n + 2.0 * channels);
}

void Relu(const SimgpuLaunch* launch) {
  const auto* x = Param<const float*>(*launch, 0);
  auto* y = Param<float*>(*launch, 1);
  const int n = Param<int>(*launch, 2);
  if (!Computed(0, n)) return;
  for (int i = 0; i < n; ++i) y[i] = Rectified(x[i]);
}
void ReluWork(const SimgpuLaunch* launch, SimgpuWork* work) {
  const double n = Param<int>(*launch, 2);
  *work = Work(n, 2 * n);
}

void Add(const SimgpuLaunch* launch) {
  const auto* a = Param<const float*>(*launch, 0);
  const auto* b = Param<const float*>(*launch, 1);
  auto* y = Param<float*>(*launch, 2);
  const int n = Param<int>(*launch, 3);
  if (!Computed(0, n)) return;
  for (int i = 0; i < n; ++i) y[i] = a[i] + b[i];
}
void AddWork(const SimgpuLaunch* launch, SimgpuWork* work) {
  const double n = Param<int>(*launch, 3);
  *work = Work(n, 3 * n);
}

void MaxPool(const SimgpuLaunch* launch) {
  const auto* x = Param<const float*>(*launch, 0);
  auto* y = Param<float*>(*launch, 1);
  const auto s = Param<WindowShape>(*launch, 2);
  if (!Computed(In(s), Out(s))) return;
  const int pixels = s.height_out * s.width_out;
  std::fill_n(y, static_cast<size_t>(pixels) * static_cast<size_t>(s.channels_out), kLowest);
  const std::vector<Tap> taps = TapsOf(s);
  for (int channel = 0; channel < s.channels_out; ++channel) {
    const float* plane = x + channel * s.height_in * s.width_in;
    for (const Tap& tap : taps) ForTap(s, tap, plane, y + channel * pixels, Larger);
  }
}
void MaxPoolWork(const SimgpuLaunch* launch, SimgpuWork* work) {
  const auto s = Param<WindowShape>(*launch, 2);
  *work = Work(Elements(1, s.kernel, s.kernel) * Out(s), In(s) + Out(s));
}

void AveragePool(const SimgpuLaunch* launch) {
  const auto* x = Param<const float*>(*launch, 0);
  auto* y = Param<float*>(*launch, 1);
  const int plane = Param<int>(*launch, 2);
  const int channels = static_cast<int>(launch->grid[0]);
  if (!Computed(Elements(channels, plane, 1), channels)) return;
  const float inverse = 1.0f / static_cast<float>(plane);
  for (int c = 0; c < channels; ++c) {
    float partial[kAverageThreads] = {};
    for (int i = 0; i < plane; ++i) partial[i % kAverageThreads] += x[c * plane + i];
    for (int half = kAverageThreads / 2; half > 0; half /= 2) {
      for (int thread = 0; thread < half; ++thread) partial[thread] += partial[thread + half];
    }
    y[c] = partial[0] * inverse;
  }
}
void AveragePoolWork(const SimgpuLaunch* launch, SimgpuWork* work) {
  const double n = static_cast<double>(launch->grid[0]) * Param<int>(*launch, 2);
  *work = Work(n, n + launch->grid[0]);
}

void Linear(const SimgpuLaunch* launch) {
  const auto* x = Param<const float*>(*launch, 0);
  const auto* weights = Param<const float*>(*launch, 1);
  const auto* bias = Param<const float*>(*launch, 2);
  auto* y = Param<float*>(*launch, 3);
  const int inputs = Param<int>(*launch, 4);
  const int outputs = Param<int>(*launch, 5);
  if (!Computed(inputs, outputs)) return;
  std::copy_n(bias, outputs, y);
  for (int i = 0; i < inputs; ++i) {
    const float* row = weights + static_cast<ptrdiff_t>(i) * outputs;
    for (int o = 0; o < outputs; ++o) y[o] = MultiplyAdd(y[o], x[i], row[o]);
  }
}
void LinearWork(const SimgpuLaunch* launch, SimgpuWork* work) {
  const double inputs = Param<int>(*launch, 4);
  const double outputs = Param<int>(*launch, 5);
  *work = Work(2 * inputs * outputs, inputs * outputs + inputs + 2 * outputs);
}

constexpr SimgpuKernel kKernels[] = {
    {"wl_conv2d", Conv2d, Conv2dWork},
    {"wl_depthwise", Depthwise, DepthwiseWork},
    {"wl_batch_norm", BatchNorm, BatchNormWork},
    {"wl_relu", Relu, ReluWork},
    {"wl_add", Add, AddWork},
    {"wl_max_pool", MaxPool, MaxPoolWork},
    {"wl_average_pool", AveragePool, AveragePoolWork},
    {"wl_linear", Linear, LinearWork},
};

}  // namespace

std::span<const SimgpuKernel> NetworkKernels() { return kKernels; }

}  // namespace workloads
