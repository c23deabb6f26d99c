// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/driver/function_attributes.h"

#include <algorithm>

#include "tools/simgpu/driver/process.h"

namespace sgprs::simgpu::driver {
namespace {

constexpr uint32_t kWarp = 32;
constexpr uint32_t kRegisterUnit = 256;  // registers are given to warps in such pieces
constexpr uint32_t kSharedUnit = 128;

const Welcome& Device() { return TheProcess().channel.welcome(); }

uint32_t RoundUp(uint32_t value, uint32_t unit) { return (value + unit - 1) / unit * unit; }

// Registers of one warp, 0 = unknown.
uint32_t WarpRegisters(const KernelInfo& info) {
  return RoundUp(info.image.registers * kWarp, kRegisterUnit);
}

uint32_t ReservedShared() { return Device().compute_major >= 8 ? 1024 : 0; }

}  // namespace

CUresult ParamInfo(const KernelInfo& info, size_t index, size_t* offset, size_t* size) {
  if (offset == nullptr || index >= info.image.params.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = info.image.params[index].offset_bytes;
  if (size != nullptr) *size = info.image.params[index].size_bytes;
  return CUDA_SUCCESS;
}

uint32_t MaxThreads(const KernelInfo& info) {
  uint32_t threads = std::min(info.image.max_threads != 0 ? info.image.max_threads : 1024u, 1024u);
  if (const uint32_t per_warp = WarpRegisters(info)) {
    threads = std::min(threads, Device().registers_per_sm / per_warp * kWarp);
  }
  return threads;
}

uint32_t MaxDynamicShared(const KernelInfo& info, const FunctionSettings& settings) {
  if (settings.max_dynamic_shared >= 0) return static_cast<uint32_t>(settings.max_dynamic_shared);
  const uint32_t all = Device().shared_bytes_per_block;
  return all - std::min(all, info.image.static_shared_bytes);
}

uint32_t BlocksPerSm(const KernelInfo& info, uint32_t threads, uint64_t dynamic_bytes) {
  const Welcome& device = Device();
  if (threads == 0 || threads > MaxThreads(info)) return 0;
  const uint32_t warps = (threads + kWarp - 1) / kWarp;
  uint32_t blocks = std::min(device.blocks_per_sm, device.threads_per_sm / (warps * kWarp));
  if (const uint32_t per_warp = WarpRegisters(info)) {
    blocks = std::min(blocks, device.registers_per_sm / (per_warp * warps));
  }
  const uint64_t shared = info.image.static_shared_bytes + dynamic_bytes;
  if (shared > device.shared_bytes_per_block_optin) return 0;
  if (shared > 0) {
    const uint32_t each = RoundUp(static_cast<uint32_t>(shared), kSharedUnit) + ReservedShared();
    blocks = std::min(blocks, device.shared_bytes_per_sm / each);
  }
  return blocks;
}

CUresult GetFunctionAttribute(const KernelInfo& info, const Code& code,
                              const FunctionSettings& settings, CUfunction_attribute attribute,
                              int* value) {
  const auto as_int = [](uint32_t v) { return static_cast<int>(v); };
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return *value = as_int(MaxThreads(info)), CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      return *value = as_int(info.image.static_shared_bytes), CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
      return *value = as_int(info.image.const_bytes), CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      return *value = as_int(info.image.local_bytes), CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      return *value = as_int(info.image.registers), CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      *value = as_int(code.compute != 0 ? code.compute
                                        : Device().compute_major * 10 + Device().compute_minor);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
      return *value = 0, CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return *value = as_int(MaxDynamicShared(info, settings)), CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return *value = settings.carveout, CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
      return *value = settings.cluster_must_be_set, CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      *value = settings.cluster[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH];
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      return *value = settings.non_portable_cluster, CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      return *value = 0, CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult SetFunctionAttribute(const KernelInfo& info, CUfunction_attribute attribute, int value,
                              FunctionSettings* settings) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: {
      const uint32_t most = Device().shared_bytes_per_block_optin;
      if (value < 0 || static_cast<uint32_t>(value) + info.image.static_shared_bytes > most) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      settings->max_dynamic_shared = value;
      return CUDA_SUCCESS;
    }
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      if (value < -1 || value > 100) return CUDA_ERROR_INVALID_VALUE;
      settings->carveout = value;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      if (value < 0) return CUDA_ERROR_INVALID_VALUE;
      settings->cluster[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] = value;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      settings->non_portable_cluster = value != 0 ? 1 : 0;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace sgprs::simgpu::driver
