// SPDX-License-Identifier: Apache-2.0
// Stream-ordered memory and its pools. An allocation is there at once (earlier than a real pool
// would promise); a free takes effect in stream order.
#include "tools/simgpu/driver/memory_pool.h"

#include <atomic>
#include <cstring>

#include "tools/simgpu/driver/enqueue.h"
#include "tools/simgpu/driver/memory_table.h"
#include "tools/simgpu/driver/objects.h"
#include "tools/simgpu/driver/process.h"

namespace sgprs::simgpu::driver {
namespace {
std::atomic<MemoryPool*> g_current_pool{nullptr};
}  // namespace

PoolArena& Pools() {
  static auto* arena = new PoolArena();
  return *arena;
}

MemoryPool* DefaultPool() {
  static MemoryPool* pool = Pools().New();
  return pool;
}

MemoryPool* CurrentPool() {
  MemoryPool* pool = g_current_pool.load();
  return pool != nullptr ? pool : DefaultPool();
}

void SetCurrentPool(MemoryPool* pool) { g_current_pool.store(pool); }

}  // namespace sgprs::simgpu::driver

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

namespace {

CUresult AllocateFrom(MemoryPool* pool, CUdeviceptr* dptr, size_t bytes, CUstream handle) {
  Stream* stream;
  if (CUresult status = EnterWithStream(handle, &stream)) return status;
  if (dptr == nullptr || bytes == 0 || pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  // Memory nodes of graphs are not simulated.
  if (CaptureActive()) {
    if (CUresult refused = RefuseOnStream(stream)) return refused;
  }
  Allocation what;
  what.kind = MemoryKind::kDevice;
  what.bytes = bytes;
  what.pool = pool;
  return Memory().Allocate(what, dptr);
}

CUresult EnterWithPool(CUmemoryPool handle, MemoryPool** pool) {
  if (CUresult status = Enter()) return status;
  *pool = handle != nullptr ? Pools().Find(handle) : nullptr;
  return *pool != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult SetWord(MemoryPool* pool, CUmemPool_attribute attribute, const void* value) {
  if (attribute >= CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES &&
      attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES) {
    pool->reuse[attribute - 1] = *static_cast<const int*>(value);
    return CUDA_SUCCESS;
  }
  const uint64_t word = *static_cast<const cuuint64_t*>(value);
  if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) {
    pool->release_threshold = word;
    return CUDA_SUCCESS;
  }
  const bool high =
      attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH || attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH;
  if (!high || word != 0) return CUDA_ERROR_INVALID_VALUE;
  pool->used_high = pool->used.load();
  return CUDA_SUCCESS;
}

CUresult GetWord(const MemoryPool& pool, CUmemPool_attribute attribute, void* value) {
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      return *static_cast<int*>(value) = pool.reuse[attribute - 1], CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      return *static_cast<cuuint64_t*>(value) = pool.release_threshold, CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      return *static_cast<cuuint64_t*>(value) = pool.used, CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      return *static_cast<cuuint64_t*>(value) = pool.used_high, CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace

SIM_API CUresult cuMemAllocAsync(CUdeviceptr* dptr, size_t bytesize, CUstream hStream) {
  return AllocateFrom(CurrentPool(), dptr, bytesize, hStream);
}

SIM_API CUresult cuMemAllocFromPoolAsync(CUdeviceptr* dptr, size_t bytesize, CUmemoryPool pool,
                                         CUstream hStream) {
  return AllocateFrom(Pools().Find(pool), dptr, bytesize, hStream);
}

SIM_API CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream) {
  Stream* stream;
  if (CUresult status = EnterWithStream(hStream, &stream)) return status;
  if (dptr == 0) return CUDA_SUCCESS;
  Allocation found;
  if (!Memory().Find(dptr, &found) || found.base != dptr || found.kind != MemoryKind::kDevice ||
      found.module) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (CaptureActive()) {
    if (CUresult refused = RefuseOnStream(stream)) return refused;
  }
  if (!Memory().MarkFreed(dptr)) return CUDA_ERROR_INVALID_VALUE;
  // No time of its own on the device, as an event has none.
  return Enqueue(stream, CommandKind::kEventRecord, OpKind::kFree,
                 [&](Op& op, Command&) { op.free = reinterpret_cast<void*>(dptr); });
}

SIM_API CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* poolProps) {
  if (CUresult status = Enter()) return status;
  if (pool == nullptr || poolProps == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (poolProps->allocType != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  if (poolProps->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
      poolProps->handleTypes != CU_MEM_HANDLE_TYPE_NONE) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (poolProps->location.id != 0) return CUDA_ERROR_INVALID_DEVICE;
  MemoryPool* made = Pools().New();
  if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *pool = reinterpret_cast<CUmemoryPool>(made);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuMemPoolDestroy(CUmemoryPool handle) {
  MemoryPool* pool;
  if (CUresult bad = EnterWithPool(handle, &pool)) return bad;
  if (pool == DefaultPool()) return CUDA_ERROR_INVALID_VALUE;
  if (pool == CurrentPool()) SetCurrentPool(nullptr);
  Pools().Close(pool);  // its slot stays: memory of it may live on
  return CUDA_SUCCESS;
}

SIM_API CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t) {
  MemoryPool* pool;
  return EnterWithPool(handle, &pool);  // nothing is kept
}

SIM_API CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attr, void* value) {
  MemoryPool* pool;
  if (CUresult bad = EnterWithPool(handle, &pool)) return bad;
  return value != nullptr ? SetWord(pool, attr, value) : CUDA_ERROR_INVALID_VALUE;
}
SIM_API CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attr, void* value) {
  MemoryPool* pool;
  if (CUresult bad = EnterWithPool(handle, &pool)) return bad;
  return value != nullptr ? GetWord(*pool, attr, value) : CUDA_ERROR_INVALID_VALUE;
}

SIM_API CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc* map, size_t count) {
  MemoryPool* pool;
  if (CUresult bad = EnterWithPool(handle, &pool)) return bad;
  if (map == nullptr && count > 0) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) {
    if (map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
    if (map[i].location.id != 0) return CUDA_ERROR_INVALID_DEVICE;
    // The device's own access can not be taken away.
    if (map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}
SIM_API CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool handle,
                                    CUmemLocation* location) {
  MemoryPool* pool;
  if (CUresult bad = EnterWithPool(handle, &pool)) return bad;
  if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const bool own = location->type == CU_MEM_LOCATION_TYPE_DEVICE && location->id == 0;
  *flags = own ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
  return CUDA_SUCCESS;
}
