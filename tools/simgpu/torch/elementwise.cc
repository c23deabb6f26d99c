// SPDX-License-Identifier: Apache-2.0
// vectorized_elementwise_kernel(int n, Functor, array of pointers), and unrolled_elementwise_kernel
// with the same first parameters: the output first, contiguous. Work for all; bodies for fills,
// copies, conversions, sums and products.
#include <type_traits>

#include "tools/simgpu/torch/element.h"
#include "tools/simgpu/torch/kernels.h"

namespace sgprs::simgpu::torch {
namespace {

// Beyond this a launch is not computed, as in tools/simgpu/math/bodies.h.
constexpr int32_t kMostElements = 1 << 18;

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

// The lambda's parameter is what is copied.
Body FindCopy(const std::string& functor) {
  if (!Starts(functor, "direct_copy_kernel_cuda")) return nullptr;
  const size_t at = functor.rfind("{lambda(");
  if (at == std::string::npos) return nullptr;
  const size_t begin = at + 8;
  const std::optional<Type> type =
      TypeOf(std::string_view(functor).substr(begin, functor.find(')', begin) - begin));
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

Body FindBody(const std::string& functor) {
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
  // Strides and conversions on the way are parameters behind ours.
  const bool plain = vectorised || (of[3].find("Trivial") != std::string::npos &&
                                    of[4].find("Trivial") != std::string::npos &&
                                    of[5].find("LoadWithoutCast") != std::string::npos &&
                                    of[6].find("StoreWithoutCast") != std::string::npos);
  if (plain) found.body = FindBody(functor);
  return found;
}

}  // namespace sgprs::simgpu::torch
