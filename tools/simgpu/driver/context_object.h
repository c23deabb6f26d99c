// SPDX-License-Identifier: Apache-2.0
// Contexts come and go.
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_CONTEXT_OBJECT_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_CONTEXT_OBJECT_H_

#include "tools/simgpu/driver/objects.h"

namespace sgprs::simgpu::driver {

// All under ObjectMutex().

// A new root context that the device knows; not current anywhere.
CUresult NewContext(CUdevice device, Context::Kind kind, unsigned int flags, uint32_t sm_limit,
                    Context** context);
// A green context's view of the device's primary context, which is active.
CUresult NewGreenView(CUdevice device, GreenContext* green, Context** view);
// Ends a context: waits for its work, drops its streams, modules and memory. The primary context
// can be opened again.
CUresult CloseContext(Context* context);
// Active after; and given back.
CUresult RetainPrimary(CUdevice device, Context** context);
CUresult ReleasePrimary(CUdevice device);

// cuCtxCreate flags and cuDevicePrimaryCtxSetFlags: known bits, at most one scheduling mode.
bool ContextFlagsValid(unsigned int flags);
// SM affinity as asked for -> as given: rounded up to pairs, at most the device.
uint32_t RoundSmLimit(uint32_t asked);

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_CONTEXT_OBJECT_H_
