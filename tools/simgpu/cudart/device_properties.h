// SPDX-License-Identifier: Apache-2.0
// cudaDeviceProp from the driver's attributes.
#ifndef SGPRS_TOOLS_SIMGPU_CUDART_DEVICE_PROPERTIES_H_
#define SGPRS_TOOLS_SIMGPU_CUDART_DEVICE_PROPERTIES_H_

#include "tools/simgpu/cudart/api.h"
#include "tools/simgpu/cudart/driver.h"

namespace sgprs::simgpu::cudart {

// Thread: any. Needs no context.
cudaError_t ReadProperties(const Driver& driver, int device, cudaDeviceProp* properties);

}  // namespace sgprs::simgpu::cudart

#endif  // SGPRS_TOOLS_SIMGPU_CUDART_DEVICE_PROPERTIES_H_
