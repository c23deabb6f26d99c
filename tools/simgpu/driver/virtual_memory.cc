// SPDX-License-Identifier: Apache-2.0
// Virtual memory management: cuMemAddressReserve, cuMemCreate, cuMemMap and kin. Shared with other
// processes by file descriptor; what was exported is not given back before the process ends.
#include "tools/simgpu/driver/arena.h"
#include "tools/simgpu/driver/capture.h"
#include "tools/simgpu/driver/memory_table.h"
#include "tools/simgpu/driver/process.h"
#include "tools/simgpu/driver/visible_devices.h"

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

namespace {

constexpr size_t kPage = 4096;

// A CUmemGenericAllocationHandle. Retaining gives a handle of its own, to be released of its own.
struct PhysicalHandle {
  PhysicalMemory* memory = nullptr;
};
using HandleArena = Arena<PhysicalHandle, 1 << 16>;
HandleArena& Handles() {
  static auto* arena = new HandleArena();
  return *arena;
}

CUresult MakeHandle(PhysicalMemory* memory, CUmemGenericAllocationHandle* out) {
  PhysicalHandle* handle = Handles().New();
  if (handle == nullptr) {
    Memory().ReleasePhysical(memory);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  handle->memory = memory;
  *out = reinterpret_cast<CUmemGenericAllocationHandle>(handle);
  return CUDA_SUCCESS;
}

CUresult EnterWithHandle(CUmemGenericAllocationHandle value, PhysicalHandle** handle) {
  if (CUresult status = Enter()) return status;
  *handle = Handles().Find(reinterpret_cast<const void*>(value));
  return *handle != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CheckProperties(const CUmemAllocationProp* prop) {
  if (prop == nullptr || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (prop->win32HandleMetaData != nullptr || prop->allocFlags.compressionType > 1) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  switch (prop->location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      break;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
      return CUDA_ERROR_NOT_SUPPORTED;  // memory of the host is not simulated
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  if (!DeviceExists(prop->location.id)) return CUDA_ERROR_INVALID_DEVICE;
  const bool other = (prop->requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0;
  return other || prop->allocFlags.usage != 0 ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

bool Whole(size_t value) { return value % MemoryTable::kGranularity == 0; }

}  // namespace

SIM_API CUresult cuMemAddressReserve(CUdeviceptr* ptr, size_t size, size_t alignment,
                                     CUdeviceptr addr, unsigned long long flags) {
  if (CUresult status = Enter()) return status;
  if (ptr == nullptr || size == 0 || size % kPage != 0 || flags != 0 || addr % kPage != 0 ||
      (alignment & (alignment - 1)) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (size > SIZE_MAX / 4 || alignment > SIZE_MAX / 4) return CUDA_ERROR_OUT_OF_MEMORY;
  return Memory().Reserve(size, alignment, addr, ptr);
}

SIM_API CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size) {
  if (CUresult status = Enter()) return status;
  return Memory().Unreserve(ptr, size);
}

SIM_API CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size,
                             const CUmemAllocationProp* prop, unsigned long long flags) {
  if (CUresult status = Enter()) return status;
  if (handle == nullptr || size == 0 || !Whole(size) || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult bad = CheckProperties(prop)) return bad;
  if (CaptureActive()) {
    if (CUresult refused = RefuseUnsafe()) return refused;
  }
  PhysicalMemory* memory;
  if (CUresult result = Memory().CreatePhysical(*prop, size, &memory)) return result;
  return MakeHandle(memory, handle);
}

SIM_API CUresult cuMemRelease(CUmemGenericAllocationHandle value) {
  PhysicalHandle* handle;
  if (CUresult bad = EnterWithHandle(value, &handle)) return bad;
  if (!Handles().Close(handle)) return CUDA_ERROR_INVALID_VALUE;
  Memory().ReleasePhysical(handle->memory);
  Handles().Free(handle);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* addr) {
  if (CUresult status = Enter()) return status;
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  PhysicalMemory* memory = Memory().RetainPhysical(reinterpret_cast<uintptr_t>(addr));
  return memory != nullptr ? MakeHandle(memory, handle) : CUDA_ERROR_INVALID_VALUE;
}

SIM_API CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
                          CUmemGenericAllocationHandle value, unsigned long long flags) {
  PhysicalHandle* handle;
  if (CUresult bad = EnterWithHandle(value, &handle)) return bad;
  // cuda.h: offset must be zero, the size that of the allocation.
  if (offset != 0 || flags != 0 || size != handle->memory->bytes || !Whole(ptr)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return Memory().Map(ptr, size, handle->memory);
}

SIM_API CUresult cuMemUnmap(CUdeviceptr ptr, size_t size) {
  if (CUresult status = Enter()) return status;
  if (size == 0) return CUDA_ERROR_INVALID_VALUE;
  if (CaptureActive()) {
    if (CUresult refused = RefuseUnsafe()) return refused;
  }
  return Memory().Unmap(ptr, size);
}

SIM_API CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc* desc,
                                size_t count) {
  if (CUresult status = Enter()) return status;
  if (size == 0 || desc == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  uint32_t devices = 0;
  uint32_t readers = 0;
  uint32_t writers = 0;
  for (size_t i = 0; i < count; ++i) {
    if (desc[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
    if (!DeviceExists(desc[i].location.id)) return CUDA_ERROR_INVALID_DEVICE;
    const uint32_t bit = 1u << desc[i].location.id;
    devices |= bit;
    switch (desc[i].flags) {
      case CU_MEM_ACCESS_FLAGS_PROT_READWRITE:
        writers |= bit;
        readers |= bit;
        break;
      case CU_MEM_ACCESS_FLAGS_PROT_READ:
        readers |= bit;
        break;
      case CU_MEM_ACCESS_FLAGS_PROT_NONE:
        break;
      default:
        return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return Memory().SetAccess(ptr, size, devices, readers, writers);
}

SIM_API CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location,
                                CUdeviceptr ptr) {
  if (CUresult status = Enter()) return status;
  if (flags == nullptr || location == nullptr || location->type != CU_MEM_LOCATION_TYPE_DEVICE) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (!DeviceExists(location->id)) return CUDA_ERROR_INVALID_DEVICE;
  Allocation found;
  if (!Memory().Find(ptr, &found) || found.kind != MemoryKind::kMapped) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const uint32_t bit = 1u << location->id;
  *flags = (found.writers & bit) != 0   ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
           : (found.readers & bit) != 0 ? CU_MEM_ACCESS_FLAGS_PROT_READ
                                        : CU_MEM_ACCESS_FLAGS_PROT_NONE;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* prop,
                                               CUmemAllocationGranularity_flags option) {
  if (CUresult status = Enter()) return status;
  if (granularity == nullptr || option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (CUresult bad = CheckProperties(prop)) return bad;
  *granularity = MemoryTable::kGranularity;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* prop,
                                                        CUmemGenericAllocationHandle value) {
  PhysicalHandle* handle;
  if (CUresult bad = EnterWithHandle(value, &handle)) return bad;
  if (prop == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *prop = handle->memory->properties;
  prop->allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_NONE;  // a hint, not taken
  return CUDA_SUCCESS;
}

SIM_API CUresult cuMemExportToShareableHandle(void* shareableHandle,
                                              CUmemGenericAllocationHandle value,
                                              CUmemAllocationHandleType type,
                                              unsigned long long flags) {
  PhysicalHandle* handle;
  if (CUresult bad = EnterWithHandle(value, &handle)) return bad;
  if (shareableHandle == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  if ((handle->memory->properties.requestedHandleTypes & type) == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return Memory().ExportPhysical(handle->memory, static_cast<int*>(shareableHandle));
}

SIM_API CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle,
                                                void* osHandle,
                                                CUmemAllocationHandleType shHandleType) {
  if (CUresult status = Enter()) return status;
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (shHandleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  const auto descriptor = static_cast<int>(reinterpret_cast<intptr_t>(osHandle));
  PhysicalMemory* memory;
  if (CUresult bad = Memory().ImportPhysical(descriptor, &memory)) return bad;
  return MakeHandle(memory, handle);
}
