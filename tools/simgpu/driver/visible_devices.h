// SPDX-License-Identifier: Apache-2.0
// Which of the device process's devices this process sees ($CUDA_VISIBLE_DEVICES), and what tells
// them apart. A CUdevice is an ordinal among the visible ones.
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_VISIBLE_DEVICES_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_VISIBLE_DEVICES_H_

#include <cstdint>
#include <string>

#include "tools/simgpu/driver/api.h"
#include "tools/simgpu/protocol.h"

namespace sgprs::simgpu::driver {

// Reads the variable. False: no device is left. Once, from cuInit.
bool ChooseVisibleDevices(const Welcome& welcome);

int DeviceCount();
inline bool DeviceExists(CUdevice device) { return device >= 0 && device < DeviceCount(); }
// Enter(), then INVALID_DEVICE if there is no such device.
CUresult EnterWithDevice(CUdevice device);

// For existing devices.
uint32_t PhysicalIndex(CUdevice device);
void DeviceUuid(CUdevice device, uint8_t uuid[16]);
std::string PciBusId(CUdevice device);  // "0000:01:00.0"

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_VISIBLE_DEVICES_H_
