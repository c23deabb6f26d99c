// SPDX-License-Identifier: Apache-2.0
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_DEVICE_ATTRIBUTES_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_DEVICE_ATTRIBUTES_H_

#include "tools/simgpu/driver/api.h"
#include "tools/simgpu/protocol.h"

namespace sgprs::simgpu::driver {

// False: no such attribute.
bool DeviceAttribute(const Welcome& device, CUdevice_attribute attribute, int* value);

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_DEVICE_ATTRIBUTES_H_
