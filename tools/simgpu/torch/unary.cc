// SPDX-License-Identifier: Apache-2.0
// Functions of one real number, as contiguous elementwise kernels.
#include <array>
#include <cmath>

#include "tools/simgpu/torch/element.h"
#include "tools/simgpu/torch/kernels.h"

namespace sgprs::simgpu::torch {
namespace {

constexpr int32_t kMostElements = 1 << 14;  // as in elementwise.cc

double Abs(double x) { return std::fabs(x); }
double Ceil(double x) { return std::ceil(x); }
double Floor(double x) { return std::floor(x); }
double Negative(double x) { return -x; }
double SquareRoot(double x) { return std::sqrt(x); }
double Exponential(double x) { return std::exp(x); }
double Logarithm(double x) { return std::log(x); }
double Tangent(double x) { return std::tanh(x); }
double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double Reciprocal(double x) { return 1 / x; }

template <double (*kFunction)(double), typename T>
void UnaryBody(const SimgpuLaunch* launch) {
  const auto count = Param<int32_t>(launch, 0);
  if (count > kMostElements) return;
  T* out = Param<T*>(launch, 2);
  const T* in = Param<const T*>(launch, 2, sizeof(void*));
  for (int32_t i = 0; i < count; ++i) out[i] = Narrow<T>(kFunction(Widen(in[i])));
}

using Body = void (*)(const SimgpuLaunch*);

template <double (*kFunction)(double)>
Body OfType(Type type) {
  switch (type) {
    case Type::kFloat:
      return UnaryBody<kFunction, float>;
    case Type::kDouble:
      return UnaryBody<kFunction, double>;
    case Type::kHalf:
      return UnaryBody<kFunction, Half>;
    case Type::kBfloat16:
      return UnaryBody<kFunction, Bfloat16>;
    default:
      return nullptr;
  }
}

struct Row {
  std::string_view name;  // behind its namespaces
  Body (*of_type)(Type);
};
constexpr std::array<Row, 10> kRows = {{{"AbsFunctor<", OfType<Abs>},
                                        {"ceil_kernel_cuda(", OfType<Ceil>},
                                        {"floor_kernel_cuda(", OfType<Floor>},
                                        {"neg_kernel_cuda(", OfType<Negative>},
                                        {"sqrt_kernel_cuda(", OfType<SquareRoot>},
                                        {"exp_kernel_cuda(", OfType<Exponential>},
                                        {"log_kernel_cuda(", OfType<Logarithm>},
                                        {"tanh_kernel_cuda(", OfType<Tangent>},
                                        {"sigmoid_kernel_cuda(", OfType<Sigmoid>},
                                        {"reciprocal_kernel_cuda(", OfType<Reciprocal>}}};

// Type of the last lambda's one parameter, or the functor's.
std::optional<Type> TypeIn(const std::string& functor) {
  const size_t lambda = functor.rfind("{lambda(");
  if (lambda == std::string::npos) {
    const std::optional<std::string> inside = Inside(functor, "AbsFunctor<");
    return inside ? TypeOf(*inside) : std::nullopt;
  }
  const size_t begin = lambda + 8;
  return TypeOf(std::string_view(functor).substr(begin, functor.find(')', begin) - begin));
}

}  // namespace

Behaviour FindUnary(const KernelName& name) {
  const std::vector<std::string>& of = name.arguments;
  if (name.kernel != "vectorized_elementwise_kernel" || of.size() < 3 ||
      of[2] != "std::array<char*, 2ul>") {
    return {};
  }
  const std::string& functor = of[1];
  for (const Row& row : kRows) {
    // The name itself starts there, not in the middle of another ("rsqrt_kernel_cuda").
    const size_t at = functor.find(row.name);
    if (at == std::string::npos || (at > 0 && functor[at - 1] != ':')) continue;
    const std::optional<Type> type = TypeIn(functor);
    return {type ? row.of_type(*type) : nullptr, nullptr};
  }
  return {};
}

}  // namespace sgprs::simgpu::torch
