// SPDX-License-Identifier: Apache-2.0
// Faults on request: $SGPRS_SIMGPU_FAULT = KERNEL[:N[:CODE]] makes the N-th launch (default 1) of
// the kernel of that name end with that CUresult (default 700, illegal address).
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_FAULT_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_FAULT_H_

#include <atomic>
#include <cstdint>

namespace sgprs::simgpu::driver {

struct FaultPlan {
  bool armed = false;  // written before the process is ready
  uint64_t name_hash = 0;
  uint32_t code = 0;
  std::atomic<int64_t> launches_left{0};
};

// Reads the variable. A value that is none arms nothing, and is logged.
void ReadFaultPlan(FaultPlan* plan);
// The launch of that kernel ends with this error, 0 = none. Thread: any.
uint32_t TakeFault(uint64_t name_hash);

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_FAULT_H_
