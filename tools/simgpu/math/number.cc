// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/math/number.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace sgprs::simgpu::math {
namespace {

template <typename T>
T At(const void* array, int64_t index) {
  T value;
  memcpy(&value, static_cast<const char*>(array) + index * static_cast<int64_t>(sizeof(T)),
         sizeof(T));
  return value;
}

template <typename T>
void Put(void* array, int64_t index, T value) {
  memcpy(static_cast<char*>(array) + index * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

}  // namespace

float HalfToFloat(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  const float sign = (bits & 0x8000) != 0 ? -1.0F : 1.0F;
  if (exponent == 31) return fraction != 0 ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  return sign * std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
}

uint16_t FloatToHalf(float value) {
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  if (std::isnan(value)) return sign | 0x7e00;
  const float size = std::fabs(value);
  if (size >= 65520.0F) return sign | 0x7c00;
  if (size < std::ldexp(1.0F, -14)) {  // subnormal: multiples of 2^-24
    return sign | static_cast<uint16_t>(std::nearbyint(std::ldexp(size, 24)));
  }
  int exponent;
  const float fraction = std::frexp(size, &exponent);  // [0.5, 1)
  // A fraction that rounds up to 2048 carries into the exponent by itself.
  const auto steps = static_cast<uint32_t>(std::nearbyint(std::ldexp(fraction, 11)));
  return sign | static_cast<uint16_t>((static_cast<uint32_t>(exponent + 13) << 10) + steps);
}

float Bfloat16ToFloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

uint16_t FloatToBfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

Number Load(const void* array, Element type, int64_t index) {
  switch (type) {
    case Element::kFloat:
      return At<float>(array, index);
    case Element::kDouble:
      return At<double>(array, index);
    case Element::kHalf:
      return HalfToFloat(At<uint16_t>(array, index));
    case Element::kBfloat16:
      return Bfloat16ToFloat(At<uint16_t>(array, index));
    case Element::kComplexFloat:
      return At<std::complex<float>>(array, index);
    case Element::kComplexDouble:
      return At<Number>(array, index);
  }
  return 0;
}

void Store(void* array, Element type, int64_t index, Number value) {
  switch (type) {
    case Element::kFloat:
      return Put(array, index, static_cast<float>(value.real()));
    case Element::kDouble:
      return Put(array, index, value.real());
    case Element::kHalf:
      return Put(array, index, FloatToHalf(static_cast<float>(value.real())));
    case Element::kBfloat16:
      return Put(array, index, FloatToBfloat16(static_cast<float>(value.real())));
    case Element::kComplexFloat:
      return Put(array, index, std::complex<float>(value));
    case Element::kComplexDouble:
      return Put(array, index, value);
  }
}

}  // namespace sgprs::simgpu::math
