// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <vector>

#include "tools/simgpu/math/arguments.h"
#include "tools/simgpu/math/bodies.h"
#include "tools/simgpu/math/number.h"

namespace sgprs::simgpu::math {
namespace {

using Convolution = ConvolutionArguments;
constexpr int kDims = Convolution::kDims;

// A tensor in double precision, packed; the last dimension is the fastest.
struct Packed {
  const int32_t* size;
  std::vector<double> values;

  int64_t Row(int64_t first, int64_t second, int64_t third, int64_t fourth) const {
    return (((first * size[1] + second) * size[2] + third) * size[3] + fourth) * size[4];
  }
};

// Calls visit(index of the packed tensor, index of the strided one).
template <typename Visit>
void ForEach(const int32_t size[kDims], const int64_t stride[kDims], const Visit& visit) {
  int64_t packed = 0;
  int64_t at[kDims];
  for (at[0] = 0; at[0] < size[0]; ++at[0]) {
    for (at[1] = 0; at[1] < size[1]; ++at[1]) {
      for (at[2] = 0; at[2] < size[2]; ++at[2]) {
        for (at[3] = 0; at[3] < size[3]; ++at[3]) {
          const int64_t row =
              at[0] * stride[0] + at[1] * stride[1] + at[2] * stride[2] + at[3] * stride[3];
          for (at[4] = 0; at[4] < size[4]; ++at[4]) visit(packed++, row + at[4] * stride[4]);
        }
      }
    }
  }
}

Packed Read(const void* array, Element type, const int32_t size[kDims],
            const int64_t stride[kDims]) {
  Packed out{size, {}};
  int64_t elements = 1;
  for (int i = 0; i < kDims; ++i) elements *= size[i];
  out.values.resize(static_cast<size_t>(elements));
  ForEach(size, stride, [&](int64_t to, int64_t from) {
    out.values[static_cast<size_t>(to)] = Load(array, type, from).real();
  });
  return out;
}

Packed Zeroes(const int32_t size[kDims]) {
  Packed out{size, {}};
  int64_t elements = 1;
  for (int i = 0; i < kDims; ++i) elements *= size[i];
  out.values.assign(static_cast<size_t>(elements), 0);
  return out;
}

void Write(const Packed& from, double alpha, double beta, void* array, Element type,
           const int64_t stride[kDims]) {
  ForEach(from.size, stride, [&](int64_t packed, int64_t place) {
    double value = alpha * from.values[static_cast<size_t>(packed)];
    if (beta != 0) value += beta * Load(array, type, place).real();
    Store(array, type, place, value);
  });
}

// One row of products: `count` outputs from y on, whose inputs start at x and lie `step` apart, all
// with the filter value at w.
struct Row {
  int64_t x, w, y, count, step;
};

// Calls visit(row) for every row of the convolution. Rows along the last spatial dimension.
template <typename Visit>
void ForEachRow(const Convolution& conv, const Packed& x, const Packed& w, const Packed& y,
                int64_t n, int64_t k, int64_t c, const Visit& visit) {
  const int64_t input = k / (w.size[0] / conv.groups) * w.size[1] + c;
  auto place = [&](int dim, int64_t out, int64_t tap) {
    return out * conv.stride[dim] - conv.padding[dim] + tap * conv.dilation[dim];
  };
  auto inside = [&](int dim, int64_t at) { return at >= 0 && at < x.size[2 + dim]; };
  for (int64_t t0 = 0; t0 < w.size[2]; ++t0) {
    for (int64_t t1 = 0; t1 < w.size[3]; ++t1) {
      for (int64_t t2 = 0; t2 < w.size[4]; ++t2) {
        int64_t first = 0;
        int64_t last = y.size[4];
        while (first < last && !inside(2, place(2, first, t2))) ++first;
        while (last > first && !inside(2, place(2, last - 1, t2))) --last;
        if (first == last) continue;
        for (int64_t o0 = 0; o0 < y.size[2]; ++o0) {
          if (!inside(0, place(0, o0, t0))) continue;
          for (int64_t o1 = 0; o1 < y.size[3]; ++o1) {
            if (!inside(1, place(1, o1, t1))) continue;
            visit(Row{x.Row(n, input, place(0, o0, t0), place(1, o1, t1)) + place(2, first, t2),
                      w.Row(k, c, t0, t1) + t2, y.Row(n, k, o0, o1) + first, last - first,
                      conv.stride[2]});
          }
        }
      }
    }
  }
}

void Compute(const Convolution& conv, Packed* x, Packed* w, Packed* y) {
  double* xs = x->values.data();
  double* ws = w->values.data();
  double* ys = y->values.data();
  auto run = [&](const Row& row) {
    switch (conv.kind) {
      case 0:
        for (int64_t i = 0; i < row.count; ++i)
          ys[row.y + i] += ws[row.w] * xs[row.x + i * row.step];
        break;
      case 1:
        for (int64_t i = 0; i < row.count; ++i)
          xs[row.x + i * row.step] += ws[row.w] * ys[row.y + i];
        break;
      default:
        for (int64_t i = 0; i < row.count; ++i)
          ws[row.w] += xs[row.x + i * row.step] * ys[row.y + i];
    }
  };
  for (int64_t n = 0; n < y->size[0]; ++n) {
    for (int64_t k = 0; k < w->size[0]; ++k) {
      for (int64_t c = 0; c < w->size[1]; ++c) ForEachRow(conv, *x, *w, *y, n, k, c, run);
    }
  }
}

}  // namespace

void ConvolutionBody(const SimgpuLaunch* launch) {
  MathArguments arguments;
  memcpy(&arguments, launch->params[0], sizeof(arguments));
  Convolution& conv = arguments.convolution;
  if (arguments.flops / 2 > kMostProducts || ElementBytes(conv.type) == 0) return;
  // With fewer than three spatial dimensions the sizes are in front, and 1 behind them: the last
  // one shall be the long one.
  for (; conv.dims < kDims; ++conv.dims) {
    for (auto* size : {conv.x_size, conv.w_size, conv.y_size})
      std::rotate(size + 2, size + 4, size + 5);
    for (auto* stride : {conv.x_stride, conv.w_stride, conv.y_stride}) {
      std::rotate(stride + 2, stride + 4, stride + 5);
    }
    for (auto* each : {conv.padding, conv.stride, conv.dilation})
      std::rotate(each, each + 2, each + 3);
  }
  auto take = [&](uint32_t written_by, const void* array, const int32_t* size,
                  const int64_t* stride) {
    return conv.kind == written_by ? Zeroes(size) : Read(array, conv.type, size, stride);
  };
  Packed x = take(1, conv.x, conv.x_size, conv.x_stride);
  Packed w = take(2, conv.w, conv.w_size, conv.w_stride);
  Packed y = take(0, conv.y, conv.y_size, conv.y_stride);
  Compute(conv, &x, &w, &y);
  switch (conv.kind) {
    case 0:
      return Write(y, conv.alpha, conv.beta, conv.y, conv.type, conv.y_stride);
    case 1:
      return Write(x, conv.alpha, conv.beta, conv.x, conv.type, conv.x_stride);
    default:
      return Write(w, conv.alpha, conv.beta, conv.w, conv.type, conv.w_stride);
  }
}

}  // namespace sgprs::simgpu::math
