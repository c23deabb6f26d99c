// SPDX-License-Identifier: Apache-2.0
// Bodies against the definition, written down as plainly as it is.
#include "tools/simgpu/math/bodies.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "tools/simgpu/math/arguments.h"

namespace sgprs::simgpu::math {
namespace {

void Execute(void (*body)(const SimgpuLaunch*), const MathArguments& arguments) {
  const void* params[] = {&arguments};
  SimgpuLaunch launch{};
  launch.param_count = 1;
  launch.params = params;
  body(&launch);
}

std::vector<double> Numbers(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<double> values(count);
  for (double& value : values) value = static_cast<int>(random() % 9) - 4;  // exact sums
  return values;
}

MathArguments Gemm(uint32_t op_a, uint32_t op_b, const std::vector<double>& a,
                   const std::vector<double>& b, std::vector<double>* c) {
  MathArguments arguments{};
  GemmArguments& gemm = arguments.gemm;
  gemm.m = 3;
  gemm.n = 4;
  gemm.k = 5;
  gemm.batch = 1;
  gemm.lda = op_a == 0 ? 3 : 5;
  gemm.ldb = op_b == 0 ? 5 : 4;
  gemm.ldc = gemm.ldd = 3;
  gemm.op_a = op_a;
  gemm.op_b = op_b;
  gemm.a = a.data();
  gemm.b = b.data();
  gemm.c = gemm.d = c->data();
  gemm.alpha[0] = 2;
  gemm.beta[0] = 3;
  gemm.type_a = gemm.type_b = gemm.type_c = gemm.type_d = gemm.scale = Element::kDouble;
  return arguments;
}

TEST(GemmBodyTest, EveryTransposition) {
  const std::vector<double> a = Numbers(15, 1);
  const std::vector<double> b = Numbers(20, 2);
  for (uint32_t op_a : {0u, 1u}) {
    for (uint32_t op_b : {0u, 1u}) {
      std::vector<double> c = Numbers(12, 3);
      std::vector<double> expected = c;
      for (size_t row = 0; row < 3; ++row) {
        for (size_t column = 0; column < 4; ++column) {
          double sum = 0;
          for (size_t i = 0; i < 5; ++i) {
            sum += (op_a == 0 ? a[i * 3 + row] : a[row * 5 + i]) *
                   (op_b == 0 ? b[column * 5 + i] : b[i * 4 + column]);
          }
          expected[column * 3 + row] = 2 * sum + 3 * expected[column * 3 + row];
        }
      }
      Execute(GemmBody, Gemm(op_a, op_b, a, b, &c));
      EXPECT_EQ(expected, c) << op_a << op_b;
    }
  }
}

TEST(GemmBodyTest, BetaZeroDoesNotReadC) {
  const std::vector<double> a = Numbers(15, 1);
  const std::vector<double> b = Numbers(20, 2);
  std::vector<double> c(12, NAN);
  MathArguments arguments = Gemm(0, 0, a, b, &c);
  arguments.gemm.beta[0] = 0;
  Execute(GemmBody, arguments);
  for (double value : c) EXPECT_FALSE(std::isnan(value));
}

TEST(GemmBodyTest, LargeOnesComputeNothing) {
  const std::vector<double> a(1);
  std::vector<double> c(1, 7);
  MathArguments arguments = Gemm(0, 0, a, a, &c);
  arguments.gemm.m = arguments.gemm.n = arguments.gemm.k = 4096;
  Execute(GemmBody, arguments);
  EXPECT_EQ(7, c[0]);
}

// Two spatial dimensions, packed NCHW.
struct Shape {
  int n, c, h, w, k, r, s, pad, stride, dilation, groups;
  int P() const { return (h + 2 * pad - (r - 1) * dilation - 1) / stride + 1; }
  int Q() const { return (w + 2 * pad - (s - 1) * dilation - 1) / stride + 1; }
};

void SetTensor(int32_t size[5], int64_t stride[5], int a, int b, int c, int d) {
  const int sizes[] = {a, b, c, d, 1};
  int64_t step = 1;
  for (int i = 3; i >= 0; --i) {
    size[i] = sizes[i];
    stride[i] = step;
    step *= sizes[i];
  }
  size[4] = 1;
  stride[4] = 0;
}

MathArguments Convolution(const Shape& shape, uint32_t kind, double* x, double* w, double* y) {
  MathArguments arguments{};
  ConvolutionArguments& conv = arguments.convolution;
  conv.dims = 4;
  SetTensor(conv.x_size, conv.x_stride, shape.n, shape.c, shape.h, shape.w);
  SetTensor(conv.w_size, conv.w_stride, shape.k, shape.c / shape.groups, shape.r, shape.s);
  SetTensor(conv.y_size, conv.y_stride, shape.n, shape.k, shape.P(), shape.Q());
  for (int i = 0; i < 3; ++i) {
    conv.padding[i] = i < 2 ? shape.pad : 0;
    conv.stride[i] = i < 2 ? shape.stride : 1;
    conv.dilation[i] = i < 2 ? shape.dilation : 1;
  }
  conv.groups = shape.groups;
  conv.x = x;
  conv.w = w;
  conv.y = y;
  conv.alpha = 1;
  conv.type = Element::kDouble;
  conv.kind = kind;
  return arguments;
}

// Calls visit(x index, w index, y index) for every product.
template <typename Visit>
void ForEachProduct(const Shape& z, const Visit& visit) {
  const int in = z.c / z.groups;
  for (int n = 0; n < z.n; ++n)
    for (int k = 0; k < z.k; ++k)
      for (int c = 0; c < in; ++c)
        for (int p = 0; p < z.P(); ++p)
          for (int q = 0; q < z.Q(); ++q)
            for (int r = 0; r < z.r; ++r)
              for (int s = 0; s < z.s; ++s) {
                const int h = p * z.stride - z.pad + r * z.dilation;
                const int w = q * z.stride - z.pad + s * z.dilation;
                if (h < 0 || h >= z.h || w < 0 || w >= z.w) continue;
                const int channel = k / (z.k / z.groups) * in + c;
                visit(static_cast<size_t>(((n * z.c + channel) * z.h + h) * z.w + w),
                      static_cast<size_t>(((k * in + c) * z.r + r) * z.s + s),
                      static_cast<size_t>(((n * z.k + k) * z.P() + p) * z.Q() + q));
              }
}

TEST(ConvolutionBodyTest, EveryPassByTheDefinition) {
  const Shape shapes[] = {{2, 3, 5, 7, 4, 3, 3, 1, 1, 1, 1},
                          {1, 4, 8, 6, 6, 3, 2, 0, 2, 1, 2},
                          {1, 2, 9, 9, 2, 3, 3, 2, 1, 2, 2},
                          {2, 1, 4, 4, 3, 1, 1, 0, 3, 1, 1}};
  for (const Shape& shape : shapes) {
    const auto count = [](int a, int b, int c, int d) {
      return static_cast<size_t>(a * b * c * d);
    };
    const std::vector<double> x = Numbers(count(shape.n, shape.c, shape.h, shape.w), 1);
    const std::vector<double> w =
        Numbers(count(shape.k, shape.c / shape.groups, shape.r, shape.s), 2);
    const std::vector<double> y = Numbers(count(shape.n, shape.k, shape.P(), shape.Q()), 3);
    std::vector<double> expected[] = {std::vector<double>(y.size()), std::vector<double>(x.size()),
                                      std::vector<double>(w.size())};
    ForEachProduct(shape, [&](size_t xi, size_t wi, size_t yi) {
      expected[0][yi] += x[xi] * w[wi];
      expected[1][xi] += y[yi] * w[wi];
      expected[2][wi] += x[xi] * y[yi];
    });
    for (uint32_t kind = 0; kind < 3; ++kind) {
      std::vector<double> data[] = {y, x, w};  // in the order of `kind`: what it writes
      std::vector<double>& out = data[kind];
      out.assign(out.size(), NAN);
      Execute(ConvolutionBody,
              Convolution(shape, kind, data[1].data(), data[2].data(), data[0].data()));
      EXPECT_EQ(expected[kind], out) << kind;
    }
  }
}

}  // namespace
}  // namespace sgprs::simgpu::math
