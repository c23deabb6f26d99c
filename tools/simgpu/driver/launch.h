// SPDX-License-Identifier: Apache-2.0
// A kernel launch, checked and ready to go into a stream. Also what graph nodes are made from.
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_LAUNCH_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_LAUNCH_H_

#include <cstdint>

#include "tools/simgpu/driver/api.h"
#include "tools/simgpu/driver/module.h"
#include "tools/simgpu/driver/objects.h"
#include "tools/simgpu/driver/op.h"
#include "tools/simgpu/protocol.h"

namespace sgprs::simgpu::driver {

struct Launch {
  const Function* function;
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t shared_bytes;  // dynamic
  bool cooperative;
  // The parameters: one of these two.
  void** params;
  const unsigned char* buffer;
  // Of the whole launch, by the kernel library; 0 = unknown.
  double flops;
  double dram_bytes;
};

// SMs that work of the stream can use.
uint32_t SmsOf(const Stream& stream);

// Geometry and resources against the device and the stream's SMs.
CUresult CheckLaunch(const Launch& launch, const Stream& stream);

// kernelParams or extra, as cuLaunchKernel has them.
CUresult SetParameters(void** kernel_params, void** extra, Launch* launch);

// Writes the command. `large`: malloc'd room for parameters that do not fit the op, taken over.
void WriteLaunch(const Launch& launch, void* large, Op* op, Command* command);

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_LAUNCH_H_
