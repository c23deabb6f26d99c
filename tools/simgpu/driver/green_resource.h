// SPDX-License-Identifier: Apache-2.0
// SM resources of green contexts (cuda.h, Green Contexts). Thread: any.
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_GREEN_RESOURCE_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_GREEN_RESOURCE_H_

#include <cstdint>

#include "tools/simgpu/driver/api.h"
#include "tools/simgpu/protocol.h"

namespace sgprs::simgpu::driver {

// A CUdevResourceDesc. The API has no call that frees one.
struct ResourceDesc {
  uint64_t sm_set[kSmWords] = {};
};

uint32_t CountSms(const uint64_t* sm_set);
// SMs 0 .. count-1.
void AllSms(uint32_t count, uint64_t* sm_set);

// A resource that can be split: of the device or of a context.
CUresult MakeResource(const uint64_t* sm_set, CUdevResourceType type, CUdevResource* resource);
// cuDevSmResourceSplitByCount: equal groups in index order from the input's first SM on.
CUresult SplitByCount(CUdevResource* result, unsigned int* groups, const CUdevResource* input,
                      CUdevResource* remaining, unsigned int flags, unsigned int least);
CUresult GenerateDesc(CUdevResourceDesc* out, const CUdevResource* resources, unsigned int count);
ResourceDesc* FindDesc(CUdevResourceDesc handle);

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_GREEN_RESOURCE_H_
