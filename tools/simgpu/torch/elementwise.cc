// SPDX-License-Identifier: Apache-2.0
// vectorized_elementwise_kernel(int n, Functor, array of pointers), and unrolled_elementwise_kernel
// with the same first parameters: the output first, contiguous. Work for all; bodies for fills,
// copies, conversions, sums and products.
#include <type_traits>

#include "tools/simgpu/torch/element.h"
#include "tools/simgpu/torch/kernels.h"

namespace sgprs::simgpu::torch {
namespace {

// Beyond this a launch is not computed, as in tools/simgpu/math/bodies.h: the activations of a
// network of usual size are not worth the host's time.
constexpr int32_t kMostElements = 1 << 14;

template <int kTensors, unsigned kBytes>
void Work(const SimgpuLaunch* launch, SimgpuWork* work) {
  const auto elements = static_cast<double>(Param<int32_t>(launch, 0));
  work->flops = elements;
  work->dram_bytes = elements * kTensors * kBytes;
}

template <int kTensors>
void (*WorkOf(unsigned bytes))(const SimgpuLaunch*, SimgpuWork*) {
  switch (bytes) {
    case 1:
      return Work<kTensors, 1>;
    case 2:
      return Work<kTensors, 2>;
    case 4:
      return Work<kTensors, 4>;
    default:
      return Work<kTensors, 8>;
  }
}

// Elements to compute; 0: none, or too many.
int32_t Count(const SimgpuLaunch* launch) {
  const auto count = Param<int32_t>(launch, 0);
  return count <= kMostElements ? count : 0;
}

template <typename T>
T* Tensor(const SimgpuLaunch* launch, size_t index) {
  return Param<T*>(launch, 2, index * sizeof(void*));
}

// What a functor keeps its scalars in.
template <typename T>
using Scalar = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16>, float, T>;

template <typename T>
void FillBody(const SimgpuLaunch* launch) {
  const T value = Param<T>(launch, 1);
  for (int32_t i = 0; i < Count(launch); ++i) Tensor<T>(launch, 0)[i] = value;
}

template <typename T, typename From>
void ConvertBody(const SimgpuLaunch* launch) {
  for (int32_t i = 0; i < Count(launch); ++i) {
    Tensor<T>(launch, 0)[i] = Narrow<T>(Widen(Tensor<From>(launch, 1)[i]));
  }
}

// CUDAFunctor_add{alpha}: a + alpha b.
template <typename T>
void AddBody(const SimgpuLaunch* launch) {
  const auto alpha = Widen(Param<Scalar<T>>(launch, 1));
  for (int32_t i = 0; i < Count(launch); ++i) {
    Tensor<T>(launch, 0)[i] =
        Narrow<T>(Widen(Tensor<T>(launch, 1)[i]) + alpha * Widen(Tensor<T>(launch, 2)[i]));
  }
}

// CUDAFunctorOnSelf_add{other, alpha}: a + alpha other.
template <typename T>
void AddScalarBody(const SimgpuLaunch* launch) {
  const auto other =
      Widen(Param<Scalar<T>>(launch, 1)) * Widen(Param<Scalar<T>>(launch, 1, sizeof(Scalar<T>)));
  for (int32_t i = 0; i < Count(launch); ++i) {
    Tensor<T>(launch, 0)[i] = Narrow<T>(Widen(Tensor<T>(launch, 1)[i]) + other);
  }
}

template <typename T>
void MultiplyBody(const SimgpuLaunch* launch) {
  for (int32_t i = 0; i < Count(launch); ++i) {
    Tensor<T>(launch, 0)[i] =
        Narrow<T>(Widen(Tensor<T>(launch, 1)[i]) * Widen(Tensor<T>(launch, 2)[i]));
  }
}

// AUnaryFunctor and BUnaryFunctor{empty functor, scalar}.
template <typename T>
void MultiplyScalarBody(const SimgpuLaunch* launch) {
  const auto factor = Widen(Param<Scalar<T>>(launch, 1, alignof(Scalar<T>)));
  for (int32_t i = 0; i < Count(launch); ++i) {
    Tensor<T>(launch, 0)[i] = Narrow<T>(Widen(Tensor<T>(launch, 1)[i]) * factor);
  }
}

// Comparisons keep {int operation, scalar}; the operations of the enumerations that PyTorch has for
// each.
enum class Order { kGreaterEqual, kGreater, kLessEqual, kLess };
enum class Equality { kEqual, kUnequal };

template <typename T>
bool Compare(Order order, T a, T b) {
  switch (order) {
    case Order::kGreaterEqual:
      return a >= b;
    case Order::kGreater:
      return a > b;
    case Order::kLessEqual:
      return a <= b;
    case Order::kLess:
      break;
  }
  return a < b;
}
template <typename T>
bool Compare(Equality equality, T a, T b) {
  return (a == b) == (equality == Equality::kEqual);
}

template <typename T, typename Operation>
void CompareBody(const SimgpuLaunch* launch) {
  const auto operation = static_cast<Operation>(Param<int32_t>(launch, 1));
  for (int32_t i = 0; i < Count(launch); ++i) {
    Tensor<bool>(launch, 0)[i] =
        Compare(operation, Widen(Tensor<T>(launch, 1)[i]), Widen(Tensor<T>(launch, 2)[i]));
  }
}

template <typename T, typename Operation, typename Kept>
void CompareScalarBody(const SimgpuLaunch* launch) {
  const auto operation = static_cast<Operation>(Param<int32_t>(launch, 1));
  const auto scalar = Widen(Param<Kept>(launch, 1, sizeof(Kept) == 8 ? 8 : 4));
  for (int32_t i = 0; i < Count(launch); ++i) {
    Tensor<bool>(launch, 0)[i] = Compare(operation, Widen(Tensor<T>(launch, 1)[i]), scalar);
  }
}

// clamp{int which, lowest, highest}: relu, too.
template <typename T>
void ClampBody(const SimgpuLaunch* launch) {
  using Kept = Scalar<T>;
  const auto which = Param<int32_t>(launch, 1);  // 0 lowest, 1 highest, 2 both
  constexpr size_t kFirst = sizeof(Kept) == 8 ? 8 : 4;
  const auto lowest = Widen(Param<Kept>(launch, 1, kFirst));
  const auto highest = Widen(Param<Kept>(launch, 1, kFirst + sizeof(Kept)));
  for (int32_t i = 0; i < Count(launch); ++i) {
    auto value = Widen(Tensor<T>(launch, 1)[i]);
    if (which != 1 && value < lowest) value = lowest;
    if (which != 0 && value > highest) value = highest;
    Tensor<T>(launch, 0)[i] = Narrow<T>(value);
  }
}

// threshold{threshold, value}: where the first input is above, the second; relu's gradient.
template <typename T>
void ThresholdBody(const SimgpuLaunch* launch) {
  const auto threshold = Widen(Param<T>(launch, 1));
  const T value = Param<T>(launch, 1, sizeof(T));
  for (int32_t i = 0; i < Count(launch); ++i) {
    const bool below = Widen(Tensor<T>(launch, 1)[i]) <= threshold;
    Tensor<T>(launch, 0)[i] = below ? value : Tensor<T>(launch, 2)[i];
  }
}

// What c10::ScalarType's numbers mean; nothing: a type that is not computed with.
std::optional<Type> TypeOfNumber(int8_t number) {
  switch (number) {
    case 0:
      return Type::kUint8;
    case 1:
      return Type::kInt8;
    case 2:
      return Type::kInt16;
    case 3:
      return Type::kInt32;
    case 4:
      return Type::kInt64;
    case 5:
      return Type::kHalf;
    case 6:
      return Type::kFloat;
    case 7:
      return Type::kDouble;
    case 11:
      return Type::kBool;
    case 15:
      return Type::kBfloat16;
    default:
      return std::nullopt;
  }
}

// A copy whose loader and storer convert: LoadWithCast{types of the inputs, ...},
// StoreWithCast{type, ...}.
void CastBody(const SimgpuLaunch* launch) {
  const std::optional<Type> from = TypeOfNumber(Param<int8_t>(launch, 5));
  const std::optional<Type> to = TypeOfNumber(Param<int8_t>(launch, 6));
  if (!from || !to) return;
  WithType(*to, [&]<typename T>() {
    WithType(*from, [&]<typename From>() { ConvertBody<T, From>(launch); });
  });
}

using Body = void (*)(const SimgpuLaunch*);

// A bool is not added or multiplied as a number: those functors have other kernels.
template <template <typename> typename Make>
Body OfType(std::optional<Type> type) {
  if (!type) return nullptr;
  return WithType(*type, []<typename T>() -> Body { return Make<T>::kBody; });
}

#define MAKE(name)                               \
  template <typename T>                          \
  struct name {                                  \
    static constexpr Body kBody = name##Body<T>; \
  }
MAKE(Fill);
MAKE(Add);
MAKE(AddScalar);
MAKE(Multiply);
MAKE(MultiplyScalar);
MAKE(Clamp);
MAKE(Threshold);
#undef MAKE

bool Starts(const std::string& text, std::string_view head) {
  const size_t at = text.find(head);  // behind its namespaces
  return at != std::string::npos && text.find('<') >= at + head.size() - 1;
}

std::optional<Type> ArgumentOf(const std::string& functor, std::string_view head) {
  const std::optional<std::string> inside = Inside(functor, head);
  return inside ? TypeOf(*inside) : std::nullopt;
}

Body FindConversion(const std::string& functor) {
  const std::optional<std::string> types = Inside(functor, "converting_copy_kernel_cuda<");
  if (!types) return nullptr;
  const size_t comma = types->find(", ");
  if (comma == std::string::npos) return nullptr;
  const std::optional<Type> from = TypeOf(std::string_view(*types).substr(0, comma));
  const std::optional<Type> to = TypeOf(std::string_view(*types).substr(comma + 2));
  if (!from || !to) return nullptr;
  return WithType(*to, [&]<typename T>() -> Body {
    return WithType(*from, []<typename From>() -> Body { return ConvertBody<T, From>; });
  });
}

// Type of the last lambda's one parameter.
std::optional<Type> LambdaType(const std::string& functor) {
  const size_t at = functor.rfind("{lambda(");
  if (at == std::string::npos) return std::nullopt;
  const size_t begin = at + 8;
  return TypeOf(std::string_view(functor).substr(begin, functor.find(')', begin) - begin));
}

Body FindCopy(const std::string& functor) {
  if (!Starts(functor, "direct_copy_kernel_cuda")) return nullptr;
  const std::optional<Type> type = LambdaType(functor);
  if (!type) return nullptr;
  return WithType(*type, []<typename T>() -> Body { return ConvertBody<T, T>; });
}

// BinaryFunctor<T, T, T, MulFunctor<...>> of one type.
std::optional<Type> ProductType(const std::string& functor, std::string_view head) {
  const std::optional<std::string> inside = Inside(functor, head);
  if (!inside || inside->find("MulFunctor<") == std::string::npos) return std::nullopt;
  const std::string first = inside->substr(0, inside->find(','));
  if (inside->rfind(first + ", " + first + ", " + first + ", ", 0) != 0) return std::nullopt;
  return TypeOf(first);
}

// Whole comparisons of one type: BinaryFunctor<T, T, bool, F<T>>, and AUnary, BUnary for equality.
// An AUnaryFunctor has its scalar on the left, which is the same for those.
Body FindComparison(const std::string& functor) {
  const bool binary = Starts(functor, "BinaryFunctor<") || Starts(functor, "CompareFunctor<") ||
                      Starts(functor, "CompareEqFunctor<");
  const bool unary = Starts(functor, "BUnaryFunctor<") || Starts(functor, "AUnaryFunctor<");
  const auto equal = ArgumentOf(functor, "CompareEqFunctor<");
  const auto order = ArgumentOf(functor, "CompareFunctor<");
  if (binary && equal) {
    return WithType(*equal, []<typename T>() -> Body { return CompareBody<T, Equality>; });
  }
  if (binary && order) {
    return WithType(*order, []<typename T>() -> Body { return CompareBody<T, Order>; });
  }
  // Kept as an opmath number; what follows an int in two bytes or one is not worth the trouble.
  if (unary && equal && BytesOf(*equal) >= 4) {
    return WithType(*equal,
                    []<typename T>() -> Body { return CompareScalarBody<T, Equality, Scalar<T>>; });
  }
  const auto scalar = ArgumentOf(functor, "compare_scalar_kernel<");
  if (scalar && Starts(functor, "compare_scalar_kernel<") && BytesOf(*scalar) >= 4) {
    return WithType(*scalar, []<typename T>() -> Body { return CompareScalarBody<T, Order, T>; });
  }
  return nullptr;
}

Body FindBody(const std::string& functor) {
  if (Body comparison = FindComparison(functor)) return comparison;
  if (Starts(functor, "launch_clamp_scalar")) return OfType<Clamp>(LambdaType(functor));
  if (Starts(functor, "BinaryFunctor<") &&
      functor.find("threshold_kernel_impl<") != std::string::npos) {
    return OfType<Threshold>(ArgumentOf(functor, "threshold_kernel_impl<"));
  }
  if (Starts(functor, "FillFunctor<")) return OfType<Fill>(ArgumentOf(functor, "FillFunctor<"));
  if (Starts(functor, "CUDAFunctor_add<")) {
    return OfType<Add>(ArgumentOf(functor, "CUDAFunctor_add<"));
  }
  if (Starts(functor, "CUDAFunctorOnSelf_add<")) {
    return OfType<AddScalar>(ArgumentOf(functor, "CUDAFunctorOnSelf_add<"));
  }
  if (Starts(functor, "BinaryFunctor<")) {
    return OfType<Multiply>(ProductType(functor, "BinaryFunctor<"));
  }
  for (std::string_view head : {"AUnaryFunctor<", "BUnaryFunctor<"}) {
    if (Starts(functor, head)) return OfType<MultiplyScalar>(ProductType(functor, head));
  }
  if (Body conversion = FindConversion(functor)) return conversion;
  return FindCopy(functor);
}

}  // namespace

Behaviour FindElementwise(const KernelName& name) {
  const std::vector<std::string>& of = name.arguments;
  const bool vectorised = name.kernel == "vectorized_elementwise_kernel" && of.size() >= 3;
  const bool unrolled = name.kernel == "unrolled_elementwise_kernel" && of.size() >= 7;
  if (!vectorised && !unrolled) return {};
  const std::string& functor = vectorised ? of[1] : of[0];
  const std::string& tensors = vectorised ? of[2] : of[1];
  const unsigned bytes = BytesOf(FirstType(functor).value_or(Type::kFloat));
  Behaviour found;
  if (tensors == "std::array<char*, 1ul>") found.work = WorkOf<1>(bytes);
  if (tensors == "std::array<char*, 2ul>") found.work = WorkOf<2>(bytes);
  if (tensors == "std::array<char*, 3ul>") found.work = WorkOf<3>(bytes);
  if (vectorised) {
    found.body = FindBody(functor);
    return found;
  }
  // Strides and conversions on the way are parameters behind ours.
  const bool contiguous =
      of[3].find("Trivial") != std::string::npos && of[4].find("Trivial") != std::string::npos;
  const bool converts = of[5].find("LoadWithCast<1>") != std::string::npos &&
                        of[6].find("StoreWithCast<1>") != std::string::npos;
  const bool plain = of[5].find("LoadWithoutCast") != std::string::npos &&
                     of[6].find("StoreWithoutCast") != std::string::npos;
  if (contiguous && plain) found.body = FindBody(functor);
  if (contiguous && converts && Starts(functor, "direct_copy_kernel_cuda")) found.body = CastBody;
  return found;
}

}  // namespace sgprs::simgpu::torch
