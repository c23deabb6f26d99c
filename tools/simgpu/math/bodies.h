// SPDX-License-Identifier: Apache-2.0
// What the kernels compute, on the host. A launch beyond these sizes computes nothing: its time is
// simulated, its output stays as it was. Small enough that a network of usual size, of whose
// kernels most are not computed anyway, does not spend the host's time.
#ifndef SGPRS_TOOLS_SIMGPU_MATH_BODIES_H_
#define SGPRS_TOOLS_SIMGPU_MATH_BODIES_H_

#include "tools/simgpu/kernel_library.h"

namespace sgprs::simgpu::math {

inline constexpr double kMostProducts = 1 << 18;  // multiplications
inline constexpr double kMostElements = 1 << 13;  // of a normalisation

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
