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

inline constexpr uint64_t kMostClusterBlocks = 16;  // with cudaFuncAttributeNonPortable...; 8 else

struct Launch {
  const Function* function = nullptr;
  uint32_t grid[3] = {0, 0, 0};
  uint32_t block[3] = {0, 0, 0};
  uint32_t shared_bytes = 0;  // dynamic
  bool cooperative = false;
  bool has_priority = false;
  int32_t priority = 0;
  uint32_t cluster[3] = {0, 0, 0};  // 0: none asked for
  // Recorded behind the launch (a real device records them a little earlier: when all blocks have
  // started, or say so).
  uint32_t event_count = 0;
  Event* events[2] = {nullptr, nullptr};
  // The parameters: one of these two.
  void** params = nullptr;
  const unsigned char* buffer = nullptr;
  // Of the whole launch, by the kernel library; 0 = unknown.
  double flops = 0;
  double dram_bytes = 0;
};

// SMs that work of the view can use.
uint32_t SmsOf(const Context& view);

// Geometry and resources against the device and the view's SMs.
CUresult CheckLaunch(const Launch& launch, const Context& view);
// What the kernel library says of this launch's work. Function and parameters are set.
void FindWork(Launch* launch);

// kernelParams or extra, as cuLaunchKernel has them.
CUresult SetParameters(void** kernel_params, void** extra, Launch* launch);

// Room for parameters that do not fit an op, malloc'd, or nullptr where they do. False: no memory.
bool MakeLarge(const Launch& launch, void** large);
// Writes the command. `large`: of MakeLarge, taken over.
void WriteLaunch(const Launch& launch, void* large, Op* op, Command* command);

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_LAUNCH_H_
