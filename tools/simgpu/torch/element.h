// SPDX-License-Identifier: Apache-2.0
// Elements of tensors as C++ values.
#ifndef SGPRS_TOOLS_SIMGPU_TORCH_ELEMENT_H_
#define SGPRS_TOOLS_SIMGPU_TORCH_ELEMENT_H_

#include <cstdint>
#include <cstring>

#include "tools/simgpu/kernel_library.h"
#include "tools/simgpu/math/number.h"
#include "tools/simgpu/torch/name.h"

namespace sgprs::simgpu::torch {

// Two bytes that are not a number of C++'s.
struct Half {
  uint16_t bits;
};
struct Bfloat16 {
  uint16_t bits;
};

// What sums and products are made in: as PyTorch's opmath, but double instead of float.
inline double Widen(Half value) { return static_cast<double>(math::HalfToFloat(value.bits)); }
inline double Widen(Bfloat16 value) {
  return static_cast<double>(math::Bfloat16ToFloat(value.bits));
}
inline double Widen(float value) { return static_cast<double>(value); }
inline double Widen(double value) { return value; }
template <typename T>
inline int64_t Widen(T value) {
  return static_cast<int64_t>(value);
}

template <typename T, typename From>
inline T Narrow(From value) {
  if constexpr (std::is_same_v<T, Half>) {
    return {math::FloatToHalf(static_cast<float>(value))};
  } else if constexpr (std::is_same_v<T, Bfloat16>) {
    return {math::FloatToBfloat16(static_cast<float>(value))};
  } else if constexpr (std::is_same_v<T, bool>) {
    return value != From{};
  } else {
    return static_cast<T>(value);
  }
}

// The index-th parameter of a launch.
template <typename T>
T Param(const SimgpuLaunch* launch, uint32_t index, size_t offset = 0) {
  T value;
  constexpr size_t kBytes = sizeof(T);  // NOLINT(bugprone-sizeof-expression): a pointer, too
  memcpy(&value, static_cast<const char*>(launch->params[index]) + offset, kBytes);
  return value;
}

// Calls visit.template operator()<T>() with the C++ type of `type`.
template <typename Visit>
auto WithType(Type type, const Visit& visit) {
  switch (type) {
    case Type::kFloat:
      return visit.template operator()<float>();
    case Type::kDouble:
      return visit.template operator()<double>();
    case Type::kHalf:
      return visit.template operator()<Half>();
    case Type::kBfloat16:
      return visit.template operator()<Bfloat16>();
    case Type::kBool:
      return visit.template operator()<bool>();
    case Type::kInt8:
      return visit.template operator()<int8_t>();
    case Type::kUint8:
      return visit.template operator()<uint8_t>();
    case Type::kInt16:
      return visit.template operator()<int16_t>();
    case Type::kInt32:
      return visit.template operator()<int32_t>();
    case Type::kInt64:
      break;
  }
  return visit.template operator()<int64_t>();
}

}  // namespace sgprs::simgpu::torch

#endif  // SGPRS_TOOLS_SIMGPU_TORCH_ELEMENT_H_
