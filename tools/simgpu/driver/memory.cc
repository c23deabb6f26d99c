// SPDX-License-Identifier: Apache-2.0
// cuMemAlloc and friends: device, pinned, registered and managed memory.
#include <cstring>

#include "tools/simgpu/driver/capture.h"
#include "tools/simgpu/driver/graph_memory.h"
#include "tools/simgpu/driver/memory_table.h"
#include "tools/simgpu/driver/objects.h"
#include "tools/simgpu/driver/process.h"

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

namespace {

// Making and freeing memory are calls that captures may refuse.
CUresult EnterToAllocate(Context** context) {
  if (CUresult status = EnterWithContext(context)) return status;
  return CaptureActive() ? RefuseUnsafe() : CUDA_SUCCESS;
}

CUresult AllocateDevice(Context* context, size_t bytes, CUdeviceptr* pointer) {
  Allocation what;
  what.kind = MemoryKind::kDevice;
  what.bytes = bytes;
  what.owner = context->root;
  what.device = context->device;
  return Memory().Allocate(what, pointer);
}

CUresult AllocateHost(Context* context, size_t bytes, unsigned int flags, void** out) {
  Allocation what;
  what.kind = MemoryKind::kPinned;
  what.bytes = bytes;
  what.owner = context->root;
  what.device = context->device;
  what.flags = flags;
  CUdeviceptr pointer;
  if (CUresult result = Memory().Allocate(what, &pointer)) return result;
  *out = reinterpret_cast<void*>(pointer);
  return CUDA_SUCCESS;
}

// Waits for everything that may still use the range, then frees it.
CUresult FreeWhenIdle(const Allocation& found) {
  if (found.owner != nullptr && found.owner->usable.load()) {
    if (CUresult result = WaitForContext(found.owner)) return result;
  }
  return Memory().Free(found.base) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

SIM_API CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  if (free == nullptr || total == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *free = Memory().free_bytes(context->device);
  *total = Memory().total_bytes(context->device);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuMemAlloc_v2(CUdeviceptr* dptr, size_t bytesize) {
  Context* context;
  if (CUresult status = EnterToAllocate(&context)) return status;
  if (dptr == nullptr || bytesize == 0) return CUDA_ERROR_INVALID_VALUE;
  return AllocateDevice(context, bytesize, dptr);
}

SIM_API CUresult cuMemAllocPitch_v2(CUdeviceptr* dptr, size_t* pPitch, size_t WidthInBytes,
                                    size_t Height, unsigned int ElementSizeBytes) {
  Context* context;
  if (CUresult status = EnterToAllocate(&context)) return status;
  if (dptr == nullptr || pPitch == nullptr || WidthInBytes == 0 || Height == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (ElementSizeBytes != 4 && ElementSizeBytes != 8 && ElementSizeBytes != 16) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const size_t pitch = (WidthInBytes + 511) / 512 * 512;
  if (pitch < WidthInBytes || pitch > SIZE_MAX / Height) return CUDA_ERROR_OUT_OF_MEMORY;
  if (CUresult result = AllocateDevice(context, pitch * Height, dptr)) return result;
  *pPitch = pitch;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuMemFree_v2(CUdeviceptr dptr) {
  Context* context;
  if (CUresult status = EnterToAllocate(&context)) return status;
  if (dptr == 0) return CUDA_SUCCESS;
  Allocation found;
  if (!Memory().Find(dptr, &found) || found.base != dptr || found.on_host() || found.module ||
      found.kind == MemoryKind::kMapped) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (const std::shared_ptr<GraphMemory> memory = FindGraphMemory(dptr)) {
    // Of a graph, which keeps the address: freed until the next launch.
    if (!memory->live()) return CUDA_ERROR_INVALID_VALUE;
    memory->set_live(false);
    return WaitForContext(context->root);
  }
  // cuda.h: memory of a pool is freed without waiting for anybody.
  if (found.pool != nullptr) {
    return Memory().Free(dptr) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  return FreeWhenIdle(found);
}

SIM_API CUresult cuMemGetAddressRange_v2(CUdeviceptr* pbase, size_t* psize, CUdeviceptr dptr) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  Allocation found;
  if (!Memory().Find(dptr, &found)) return CUDA_ERROR_NOT_FOUND;
  if (pbase != nullptr) *pbase = found.base;
  if (psize != nullptr) *psize = found.bytes;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuMemAllocHost_v2(void** pp, size_t bytesize) {
  Context* context;
  if (CUresult status = EnterToAllocate(&context)) return status;
  if (pp == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (bytesize == 0) return *pp = nullptr, CUDA_SUCCESS;
  return AllocateHost(context, bytesize, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP, pp);
}

SIM_API CUresult cuMemHostAlloc(void** pp, size_t bytesize, unsigned int Flags) {
  Context* context;
  if (CUresult status = EnterToAllocate(&context)) return status;
  constexpr unsigned int kKnown =
      CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
  if (pp == nullptr || (Flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (bytesize == 0) return *pp = nullptr, CUDA_SUCCESS;
  return AllocateHost(context, bytesize, Flags, pp);
}

SIM_API CUresult cuMemFreeHost(void* p) {
  Context* context;
  if (CUresult status = EnterToAllocate(&context)) return status;
  if (p == nullptr) return CUDA_SUCCESS;
  Allocation found;
  const auto address = reinterpret_cast<CUdeviceptr>(p);
  if (!Memory().Find(address, &found) || found.base != address ||
      found.kind != MemoryKind::kPinned) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return FreeWhenIdle(found);
}

SIM_API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* pdptr, void* p, unsigned int Flags) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  if (pdptr == nullptr || Flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Allocation found;
  const auto address = reinterpret_cast<CUdeviceptr>(p);
  if (!Memory().Find(address, &found) || !found.on_host()) return CUDA_ERROR_INVALID_VALUE;
  *pdptr = address;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuMemHostGetFlags(unsigned int* pFlags, void* p) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  Allocation found;
  const auto address = reinterpret_cast<CUdeviceptr>(p);
  if (pFlags == nullptr || !Memory().Find(address, &found) || !found.on_host()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *pFlags = found.flags;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuMemHostRegister_v2(void* p, size_t bytesize, unsigned int Flags) {
  Context* context;
  if (CUresult status = EnterToAllocate(&context)) return status;
  constexpr unsigned int kKnown = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                                  CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;
  if (p == nullptr || bytesize == 0 || (Flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  if ((Flags & (CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY)) != 0) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  Allocation what;
  what.kind = MemoryKind::kRegistered;
  what.base = reinterpret_cast<uintptr_t>(p);
  what.bytes = bytesize;
  what.owner = context->root;
  what.device = context->device;
  what.flags = Flags;
  return Memory().Register(what);
}
SIM_API CUresult cuMemHostRegister(void* p, size_t bytesize, unsigned int Flags) {
  return cuMemHostRegister_v2(p, bytesize, Flags);
}

SIM_API CUresult cuMemHostUnregister(void* p) {
  Context* context;
  if (CUresult status = EnterToAllocate(&context)) return status;
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Allocation found;
  const auto address = reinterpret_cast<CUdeviceptr>(p);
  if (!Memory().Find(address, &found) || found.base != address ||
      found.kind != MemoryKind::kRegistered) {
    return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  }
  return FreeWhenIdle(found);
}

SIM_API CUresult cuMemAllocManaged(CUdeviceptr* dptr, size_t bytesize, unsigned int flags) {
  Context* context;
  if (CUresult status = EnterToAllocate(&context)) return status;
  if (dptr == nullptr || bytesize == 0) return CUDA_ERROR_INVALID_VALUE;
  if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) return CUDA_ERROR_INVALID_VALUE;
  Allocation what;
  what.kind = MemoryKind::kManaged;
  what.bytes = bytesize;
  what.owner = context->root;
  what.device = context->device;
  what.flags = flags;
  return Memory().Allocate(what, dptr);
}
