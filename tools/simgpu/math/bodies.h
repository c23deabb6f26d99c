// SPDX-License-Identifier: Apache-2.0
// What the kernels compute, on the host. A launch beyond kMostProducts multiplications computes
// nothing: its time is simulated, its output stays as it was.
#ifndef SGPRS_TOOLS_SIMGPU_MATH_BODIES_H_
#define SGPRS_TOOLS_SIMGPU_MATH_BODIES_H_

#include "tools/simgpu/kernel_library.h"

namespace sgprs::simgpu::math {

// About a millisecond of one core of a small machine.
inline constexpr double kMostProducts = 1 << 20;

void GemmBody(const SimgpuLaunch* launch);
void DotBody(const SimgpuLaunch* launch);
void ConvolutionBody(const SimgpuLaunch* launch);
void BatchNormInferenceBody(const SimgpuLaunch* launch);
void BatchNormStatisticsBody(const SimgpuLaunch* launch);
void BatchNormApplyBody(const SimgpuLaunch* launch);
void BatchNormReduceBody(const SimgpuLaunch* launch);
void BatchNormBackwardBody(const SimgpuLaunch* launch);

}  // namespace sgprs::simgpu::math

#endif  // SGPRS_TOOLS_SIMGPU_MATH_BODIES_H_
