// SPDX-License-Identifier: Apache-2.0
// What a kernel is, needs and may have.
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_FUNCTION_ATTRIBUTES_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_FUNCTION_ATTRIBUTES_H_

#include <cstddef>
#include <cstdint>

#include "tools/simgpu/driver/api.h"
#include "tools/simgpu/driver/module.h"

namespace sgprs::simgpu::driver {

CUresult ParamInfo(const KernelInfo& info, size_t index, size_t* offset, size_t* size);
CUresult GetFunctionAttribute(const KernelInfo& info, const Code& code,
                              const FunctionSettings& settings, CUfunction_attribute attribute,
                              int* value);
CUresult SetFunctionAttribute(const KernelInfo& info, CUfunction_attribute attribute, int value,
                              FunctionSettings* settings);

// Threads per block that the kernel can have: its own bound and the registers of a block.
uint32_t MaxThreads(const KernelInfo& info);
// Bytes of dynamic shared memory that a launch may ask for.
uint32_t MaxDynamicShared(const KernelInfo& info, const FunctionSettings& settings);
// Blocks that one SM holds; 0 = none fits.
uint32_t BlocksPerSm(const KernelInfo& info, uint32_t threads, uint64_t dynamic_bytes);

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_FUNCTION_ATTRIBUTES_H_
