// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

#include "tools/simgpu/math/arguments.h"
#include "tools/simgpu/math/bodies.h"
#include "tools/simgpu/math/number.h"

namespace sgprs::simgpu::math {
namespace {

// cublasOperation_t
constexpr uint32_t kTranspose = 1;
constexpr uint32_t kConjugateTranspose = 2;
constexpr uint32_t kConjugate = 3;

MathArguments ArgumentsOf(const SimgpuLaunch* launch) {
  MathArguments arguments;
  memcpy(&arguments, launch->params[0], sizeof(arguments));
  return arguments;
}

bool IsComplex(Element type) {
  return type == Element::kComplexFloat || type == Element::kComplexDouble;
}

bool IsTransposed(uint32_t op) { return op == kTranspose || op == kConjugateTranspose; }

// op(matrix) of `rows` times `columns`, column after column.
std::vector<Number> Take(const void* matrix, Element type, uint32_t op, int64_t ld, int64_t rows,
                         int64_t columns) {
  std::vector<Number> out(static_cast<size_t>(rows * columns));
  const bool conjugate = op == kConjugateTranspose || op == kConjugate;
  const int64_t row_step = IsTransposed(op) ? ld : 1;
  const int64_t column_step = IsTransposed(op) ? 1 : ld;
  size_t to = 0;
  for (int64_t column = 0; column < columns; ++column) {
    for (int64_t row = 0; row < rows; ++row) {
      const Number value = Load(matrix, type, row * row_step + column * column_step);
      out[to++] = conjugate ? std::conj(value) : value;
    }
  }
  return out;
}

template <typename T>
T As(const Number& value) {
  if constexpr (std::is_same_v<T, double>) {
    return value.real();
  } else {
    return value;
  }
}

// op(A) op(B), column after column; T: double, or Number for complex types.
template <typename T>
std::vector<Number> Multiply(const std::vector<Number>& a, const std::vector<Number>& b, int64_t m,
                             int64_t n, int64_t k) {
  std::vector<T> left(a.size());
  std::transform(a.begin(), a.end(), left.begin(), As<T>);
  std::vector<Number> out;
  std::vector<T> sums(static_cast<size_t>(m));
  for (int64_t column = 0; column < n; ++column) {
    std::fill(sums.begin(), sums.end(), T{});
    for (int64_t i = 0; i < k; ++i) {
      const T factor = As<T>(b[static_cast<size_t>(column * k + i)]);
      const T* from = left.data() + i * m;
      for (int64_t row = 0; row < m; ++row) sums[static_cast<size_t>(row)] += from[row] * factor;
    }
    out.insert(out.end(), sums.begin(), sums.end());
  }
  return out;
}

double Activate(double value, Activation activation) {
  switch (activation) {
    case Activation::kRelu:
      return value > 0 ? value : 0;
    case Activation::kGelu:  // the form with the error function
      return 0.5 * value * (1 + std::erf(value * M_SQRT1_2));
    case Activation::kNone:
      break;
  }
  return value;
}

struct Matrices {
  const void* a;
  const void* b;
  const void* c;
  void* d;
};

const void* Shift(const void* base, Element type, int64_t elements) {
  return static_cast<const char*>(base) + elements * ElementBytes(type);
}

Matrices Of(const GemmArguments& gemm, int64_t batch) {
  if (gemm.by_array != 0) {
    const void* c = static_cast<const void* const*>(gemm.c)[batch];
    return {static_cast<const void* const*>(gemm.a)[batch],
            static_cast<const void* const*>(gemm.b)[batch], c,
            static_cast<void* const*>(gemm.d)[batch]};
  }
  return {Shift(gemm.a, gemm.type_a, batch * gemm.stride_a),
          Shift(gemm.b, gemm.type_b, batch * gemm.stride_b),
          gemm.c != nullptr ? Shift(gemm.c, gemm.type_c, batch * gemm.stride_c) : nullptr,
          const_cast<void*>(Shift(gemm.d, gemm.type_d, batch * gemm.stride_d))};
}

void OneGemm(const GemmArguments& gemm, const Matrices& at, Number alpha, Number beta) {
  const std::vector<Number> a = Take(at.a, gemm.type_a, gemm.op_a, gemm.lda, gemm.m, gemm.k);
  const std::vector<Number> b = Take(at.b, gemm.type_b, gemm.op_b, gemm.ldb, gemm.k, gemm.n);
  const std::vector<Number> product = IsComplex(gemm.type_a)
                                          ? Multiply<Number>(a, b, gemm.m, gemm.n, gemm.k)
                                          : Multiply<double>(a, b, gemm.m, gemm.n, gemm.k);
  for (int64_t column = 0; column < gemm.n; ++column) {
    for (int64_t row = 0; row < gemm.m; ++row) {
      Number sum = alpha * product[static_cast<size_t>(column * gemm.m + row)];
      if (beta != Number(0) && at.c != nullptr) {
        sum += beta * Load(at.c, gemm.type_c, column * gemm.ldc + row);
      }
      if (gemm.bias != nullptr) sum += Load(gemm.bias, gemm.type_bias, row);
      if (gemm.activation != Activation::kNone) sum = Activate(sum.real(), gemm.activation);
      Store(at.d, gemm.type_d, column * gemm.ldd + row, sum);
    }
  }
}

}  // namespace

void GemmBody(const SimgpuLaunch* launch) {
  const GemmArguments gemm = ArgumentsOf(launch).gemm;
  const double products = static_cast<double>(gemm.m) * static_cast<double>(gemm.n) *
                          static_cast<double>(gemm.k) * static_cast<double>(gemm.batch);
  if (products > kMostProducts || ElementBytes(gemm.type_a) == 0 ||
      ElementBytes(gemm.type_d) == 0) {
    return;
  }
  const Number alpha = gemm.alpha_at != nullptr ? Load(gemm.alpha_at, gemm.scale, 0)
                                                : Number(gemm.alpha[0], gemm.alpha[1]);
  const Number beta = gemm.beta_at != nullptr ? Load(gemm.beta_at, gemm.scale, 0)
                                              : Number(gemm.beta[0], gemm.beta[1]);
  for (int64_t i = 0; i < gemm.batch; ++i) OneGemm(gemm, Of(gemm, i), alpha, beta);
}

void DotBody(const SimgpuLaunch* launch) {
  const DotArguments dot = ArgumentsOf(launch).dot;
  if (static_cast<double>(dot.n) > kMostProducts) return;
  Number sum = 0;
  for (int64_t i = 0; i < dot.n; ++i) {
    const Number x = Load(dot.x, dot.type, i * dot.stride_x);
    sum += (dot.conjugate != 0 ? std::conj(x) : x) * Load(dot.y, dot.type, i * dot.stride_y);
  }
  Store(dot.result, dot.type_result, 0, sum);
}

}  // namespace sgprs::simgpu::math
