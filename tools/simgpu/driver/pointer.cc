// SPDX-License-Identifier: Apache-2.0
// cuPointerGetAttribute(s).
#include <cstring>

#include "tools/simgpu/driver/memory_pool.h"
#include "tools/simgpu/driver/memory_table.h"
#include "tools/simgpu/driver/objects.h"
#include "tools/simgpu/driver/process.h"

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

namespace {

template <typename T>
CUresult Put(void* data, T value) {
  memcpy(data, &value, sizeof(value));
  return CUDA_SUCCESS;
}

// Of memory that the driver knows.
CUresult Known(void* data, CUpointer_attribute attribute, CUdeviceptr ptr, const Allocation& a) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return Put<void*>(data, a.owner);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return Put<unsigned int>(data, a.on_host() ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return Put<CUdeviceptr>(data, ptr);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (a.kind == MemoryKind::kDevice || a.kind == MemoryKind::kMapped) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      return Put<CUdeviceptr>(data, ptr);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return Put<int>(data, a.sync_memops ? 1 : 0);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return Put<unsigned long long>(data, a.id);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return Put<int>(data, a.kind == MemoryKind::kManaged ? 1 : 0);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return Put<int>(data, a.device);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      return Put<bool>(data, false);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: {
      uintptr_t base = a.base;
      size_t bytes;
      if (a.kind == MemoryKind::kMapped) Memory().FindReserved(a.base, &base, &bytes);
      return Put<CUdeviceptr>(data, base);
    }
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return Put<CUdeviceptr>(data, a.base);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: {
      uintptr_t base;
      size_t bytes = a.bytes;
      if (a.kind == MemoryKind::kMapped) Memory().FindReserved(a.base, &base, &bytes);
      return Put<size_t>(data, bytes);
    }
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return Put<size_t>(data, a.bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return Put<bool>(data, true);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return Put<unsigned long long>(data, 0);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return Put<unsigned int>(data, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return Put<void*>(data, a.pool);
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return Put<unsigned long long>(data, a.id);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

// cuPointerGetAttributes leaves 0 for what does not apply.
void Zero(void* data, CUpointer_attribute attribute) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      Put<unsigned int>(data, 0);
      return;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      Put<int>(data, -2);
      return;
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      Put<bool>(data, false);
      return;
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
      return;
    default:
      Put<uint64_t>(data, 0);
  }
}

bool Exists(CUpointer_attribute attribute) {
  return attribute >= CU_POINTER_ATTRIBUTE_CONTEXT &&
         attribute <= CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE;
}

}  // namespace

SIM_API CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr ptr) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  if (data == nullptr || !Exists(attribute)) return CUDA_ERROR_INVALID_VALUE;
  Allocation found;
  if (!Memory().Find(ptr, &found)) return CUDA_ERROR_INVALID_VALUE;
  return Known(data, attribute, ptr, found);
}

SIM_API CUresult cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute* attributes,
                                        void** data, CUdeviceptr ptr) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  if (attributes == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Allocation found;
  const bool known = Memory().Find(ptr, &found);
  for (unsigned int i = 0; i < numAttributes; ++i) {
    if (data[i] == nullptr || !Exists(attributes[i])) return CUDA_ERROR_INVALID_VALUE;
    if (!known || Known(data[i], attributes[i], ptr, found) != CUDA_SUCCESS) {
      Zero(data[i], attributes[i]);
    }
  }
  return CUDA_SUCCESS;
}

SIM_API CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute,
                                       CUdeviceptr ptr) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  Allocation found;
  if (value == nullptr || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS ||
      !Memory().Find(ptr, &found)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  unsigned int on;
  memcpy(&on, value, sizeof(on));
  Memory().SetSyncMemops(ptr, on != 0);
  return CUDA_SUCCESS;
}
