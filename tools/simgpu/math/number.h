// SPDX-License-Identifier: Apache-2.0
// Reading and writing single numbers of the types that networks use.
#ifndef SGPRS_TOOLS_SIMGPU_MATH_NUMBER_H_
#define SGPRS_TOOLS_SIMGPU_MATH_NUMBER_H_

#include <complex>
#include <cstdint>

#include "tools/simgpu/math/arguments.h"

namespace sgprs::simgpu::math {

using Number = std::complex<double>;

float HalfToFloat(uint16_t bits);
uint16_t FloatToHalf(float value);  // round to nearest even
float Bfloat16ToFloat(uint16_t bits);
uint16_t FloatToBfloat16(float value);  // round to nearest even

// Element `index` of an array.
Number Load(const void* array, Element type, int64_t index);
void Store(void* array, Element type, int64_t index, Number value);

}  // namespace sgprs::simgpu::math

#endif  // SGPRS_TOOLS_SIMGPU_MATH_NUMBER_H_
