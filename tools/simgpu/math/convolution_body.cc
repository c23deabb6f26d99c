// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "tools/simgpu/math/arguments.h"
#include "tools/simgpu/math/bodies.h"
#include "tools/simgpu/math/number.h"

namespace sgprs::simgpu::math {
namespace {

using Convolution = ConvolutionArguments;
constexpr int kDims = Convolution::kDims;
constexpr int kSpatial = 3;

int64_t Place(const int64_t stride[kDims], int64_t first, int64_t second,
              const int64_t spatial[kSpatial]) {
  return first * stride[0] + second * stride[1] + spatial[0] * stride[2] + spatial[1] * stride[3] +
         spatial[2] * stride[4];
}

// Calls visit(position) for each position within `size`, all three spatial dimensions.
template <typename Visit>
void ForEach(const int32_t size[kDims], const Visit& visit) {
  int64_t at[kSpatial];
  for (at[0] = 0; at[0] < size[2]; ++at[0]) {
    for (at[1] = 0; at[1] < size[3]; ++at[1]) {
      for (at[2] = 0; at[2] < size[4]; ++at[2]) visit(at);
    }
  }
}

// Where tap `tap` of output `out` reads; false: in the padding.
bool Input(const Convolution& conv, const int64_t out[kSpatial], const int64_t tap[kSpatial],
           int64_t in[kSpatial]) {
  for (int i = 0; i < kSpatial; ++i) {
    in[i] = out[i] * conv.stride[i] - conv.padding[i] + tap[i] * conv.dilation[i];
    if (in[i] < 0 || in[i] >= conv.x_size[2 + i]) return false;
  }
  return true;
}

// Calls visit(x index, w index, y index) for every product of the convolution.
template <typename Visit>
void ForEachProduct(const Convolution& conv, const Visit& visit) {
  const int64_t per_group = conv.w_size[0] / conv.groups;
  for (int64_t n = 0; n < conv.y_size[0]; ++n) {
    for (int64_t k = 0; k < conv.w_size[0]; ++k) {
      const int64_t first = k / per_group * conv.w_size[1];
      for (int64_t c = 0; c < conv.w_size[1]; ++c) {
        ForEach(conv.y_size, [&](const int64_t* out) {
          ForEach(conv.w_size, [&](const int64_t* tap) {
            int64_t in[kSpatial];
            if (!Input(conv, out, tap, in)) return;
            visit(Place(conv.x_stride, n, first + c, in), Place(conv.w_stride, k, c, tap),
                  Place(conv.y_stride, n, k, out));
          });
        });
      }
    }
  }
}

void Scale(void* array, Element type, const int32_t size[kDims], const int64_t stride[kDims],
           double factor) {
  for (int64_t first = 0; first < size[0]; ++first) {
    for (int64_t second = 0; second < size[1]; ++second) {
      ForEach(size, [&](const int64_t* at) {
        const int64_t place = Place(stride, first, second, at);
        // Times zero would keep a NaN.
        Store(array, type, place, factor == 0 ? 0 : Load(array, type, place) * factor);
      });
    }
  }
}

void Add(void* array, Element type, int64_t place, double value) {
  Store(array, type, place, Load(array, type, place) + value);
}

}  // namespace

void ConvolutionBody(const SimgpuLaunch* launch) {
  MathArguments arguments;
  memcpy(&arguments, launch->params[0], sizeof(arguments));
  const Convolution& conv = arguments.convolution;
  // Sums are kept in the output's own type: only types that hold them.
  const bool computes = conv.type == Element::kFloat || conv.type == Element::kDouble;
  if (arguments.flops / 2 > kMostProducts || !computes) return;
  auto value = [&](const void* array, int64_t place) {
    return Load(array, conv.type, place).real();
  };
  switch (conv.kind) {
    case 0:
      Scale(conv.y, conv.type, conv.y_size, conv.y_stride, conv.beta);
      return ForEachProduct(conv, [&](int64_t x, int64_t w, int64_t y) {
        Add(conv.y, conv.type, y, conv.alpha * value(conv.x, x) * value(conv.w, w));
      });
    case 1:
      Scale(conv.x, conv.type, conv.x_size, conv.x_stride, conv.beta);
      return ForEachProduct(conv, [&](int64_t x, int64_t w, int64_t y) {
        Add(conv.x, conv.type, x, conv.alpha * value(conv.y, y) * value(conv.w, w));
      });
    default:
      Scale(conv.w, conv.type, conv.w_size, conv.w_stride, conv.beta);
      return ForEachProduct(conv, [&](int64_t x, int64_t w, int64_t y) {
        Add(conv.w, conv.type, w, conv.alpha * value(conv.x, x) * value(conv.y, y));
      });
  }
}

}  // namespace sgprs::simgpu::math
