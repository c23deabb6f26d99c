// SPDX-License-Identifier: Apache-2.0
// Launch attributes (CUlaunchAttribute) of cuLaunchKernelEx and of kernel nodes.
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_LAUNCH_ATTRIBUTES_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_LAUNCH_ATTRIBUTES_H_

#include <cstddef>

#include "tools/simgpu/driver/launch.h"

namespace sgprs::simgpu::driver {

// Valid for launches and kernel nodes (cuda.h, CUlaunchAttributeID).
bool IsKernelAttribute(CUlaunchAttributeID id);
// Takes what matters into the launch, whose grid is set. INVALID_VALUE: unknown, or does not fit
// the grid; NOT_SUPPORTED: device-updatable nodes.
CUresult ReadAttributes(const CUlaunchAttribute* attributes, size_t count, Launch* launch);

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_LAUNCH_ATTRIBUTES_H_
