// SPDX-License-Identifier: Apache-2.0
// Stream-ordered memory and its pools. An allocation is there at once (earlier than a real pool
// would promise); a free takes effect in stream order.
#include "tools/simgpu/driver/memory_pool.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>

#include "tools/simgpu/driver/enqueue.h"
#include "tools/simgpu/driver/graph_memory.h"
#include "tools/simgpu/driver/memory_table.h"
#include "tools/simgpu/driver/objects.h"
#include "tools/simgpu/driver/process.h"
#include "tools/simgpu/driver/visible_devices.h"

namespace sgprs::simgpu::driver {
namespace {
std::atomic<MemoryPool*> g_default[kMaxDevices];
std::atomic<MemoryPool*> g_current[kMaxDevices];
std::mutex g_mutex;  // makes default pools; guards the list of all
std::set<MemoryPool*>& AllPools() {
  static auto* all = new std::set<MemoryPool*>();
  return *all;
}
}  // namespace

PoolArena& Pools() {
  static auto* arena = new PoolArena();
  return *arena;
}

MemoryPool* MakePool(int device) {
  std::lock_guard<std::mutex> lock(g_mutex);
  MemoryPool* pool = Pools().New();
  if (pool == nullptr) return nullptr;
  pool->device = device;
  AllPools().insert(pool);
  return pool;
}

MemoryPool* DefaultPool(int device) {
  MemoryPool* pool = g_default[device].load();
  if (pool != nullptr) return pool;
  MemoryPool* made = MakePool(device);
  if (g_default[device].compare_exchange_strong(pool, made)) return made;
  Pools().Close(made);  // another thread was first; its counters stay zero
  return pool;
}

MemoryPool* CurrentPool(int device) {
  MemoryPool* pool = g_current[device].load();
  return pool != nullptr ? pool : DefaultPool(device);
}

void SetCurrentPool(int device, MemoryPool* pool) { g_current[device].store(pool); }

uint64_t CachedBytes(int device) {
  std::lock_guard<std::mutex> lock(g_mutex);
  uint64_t cached = 0;
  for (const MemoryPool* pool : AllPools()) {
    if (pool->device != device) continue;
    const uint64_t reserved = pool->reserved;
    cached += reserved - std::min<uint64_t>(reserved, pool->used);
  }
  return cached;
}

}  // namespace sgprs::simgpu::driver

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

namespace {

CUresult AllocateFrom(MemoryPool* pool, CUdeviceptr* dptr, size_t bytes, Stream* stream) {
  if (dptr == nullptr || bytes == 0 || pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (CaptureActive()) {
    bool captured;
    const CUresult result = CaptureAllocation(stream, pool->device, bytes, dptr, &captured);
    if (captured || result != CUDA_SUCCESS) return result;
  }
  Allocation what;
  what.kind = MemoryKind::kDevice;
  what.bytes = bytes;
  what.device = pool->device;
  what.pool = pool;
  return Memory().Allocate(what, dptr);
}

CUresult EnterWithPool(CUmemoryPool handle, MemoryPool** pool) {
  if (CUresult status = Enter()) return status;
  *pool = handle != nullptr ? Pools().Find(handle) : nullptr;
  return *pool != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// Pools of pinned device memory are all that is simulated.
CUresult CheckPlace(const CUmemLocation* location, CUmemAllocationType type) {
  if (location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_MEM_ALLOCATION_TYPE_PINNED && type != CU_MEM_ALLOCATION_TYPE_MANAGED) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (type != CU_MEM_ALLOCATION_TYPE_PINNED || location->type != CU_MEM_LOCATION_TYPE_DEVICE) {
    const bool known = location->type == CU_MEM_LOCATION_TYPE_DEVICE ||
                       location->type == CU_MEM_LOCATION_TYPE_HOST ||
                       location->type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
    return known ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
  }
  return DeviceExists(location->id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
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
  if (attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH) pool->used_high = pool->used.load();
  if (attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) pool->reserved_high = pool->reserved.load();
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
      return *static_cast<cuuint64_t*>(value) = pool.reserved, CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      return *static_cast<cuuint64_t*>(value) = pool.reserved_high, CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      return *static_cast<cuuint64_t*>(value) = pool.used, CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      return *static_cast<cuuint64_t*>(value) = pool.used_high, CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace

SIM_API CUresult cuMemAllocAsync(CUdeviceptr* dptr, size_t bytesize, CUstream hStream) {
  Stream* stream;
  if (CUresult status = EnterWithStream(hStream, &stream)) return status;
  return AllocateFrom(CurrentPool(stream->view->device), dptr, bytesize, stream);
}

SIM_API CUresult cuMemAllocFromPoolAsync(CUdeviceptr* dptr, size_t bytesize, CUmemoryPool pool,
                                         CUstream hStream) {
  Stream* stream;
  if (CUresult status = EnterWithStream(hStream, &stream)) return status;
  return AllocateFrom(Pools().Find(pool), dptr, bytesize, stream);
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
    bool captured;
    const CUresult result = CaptureFree(stream, dptr, &captured);
    if (captured || result != CUDA_SUCCESS) return result;
  }
  if (const std::shared_ptr<GraphMemory> memory = FindGraphMemory(dptr)) {
    if (!memory->live()) return CUDA_ERROR_INVALID_VALUE;
    memory->set_live(false);  // the graph keeps the address
    return CUDA_SUCCESS;
  }
  if (!Memory().MarkFreed(dptr)) return CUDA_ERROR_INVALID_VALUE;
  // No time of its own on the device, as an event has none.
  return Enqueue(stream, CommandKind::kEventRecord, OpKind::kFree,
                 [&](Op& op, Command&) { op.free = reinterpret_cast<void*>(dptr); });
}

SIM_API CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* poolProps) {
  if (CUresult status = Enter()) return status;
  if (pool == nullptr || poolProps == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult bad = CheckPlace(&poolProps->location, poolProps->allocType)) return bad;
  if (poolProps->handleTypes != CU_MEM_HANDLE_TYPE_NONE) return CUDA_ERROR_NOT_SUPPORTED;
  for (unsigned char byte : poolProps->reserved) {
    if (byte != 0) return CUDA_ERROR_INVALID_VALUE;
  }
  MemoryPool* made = MakePool(poolProps->location.id);
  if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  made->most = poolProps->maxSize;
  *pool = reinterpret_cast<CUmemoryPool>(made);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuMemPoolDestroy(CUmemoryPool handle) {
  MemoryPool* pool;
  if (CUresult bad = EnterWithPool(handle, &pool)) return bad;
  if (pool == DefaultPool(pool->device)) return CUDA_ERROR_INVALID_VALUE;
  if (pool == CurrentPool(pool->device)) SetCurrentPool(pool->device, nullptr);
  pool->closed = true;
  pool->TrimTo(0);
  Pools().Close(pool);  // its slot stays: memory of it may live on
  return CUDA_SUCCESS;
}

SIM_API CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t minBytesToKeep) {
  MemoryPool* pool;
  if (CUresult bad = EnterWithPool(handle, &pool)) return bad;
  pool->TrimTo(minBytesToKeep);
  return CUDA_SUCCESS;
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
  uint32_t accessible = pool->accessible;
  for (size_t i = 0; i < count; ++i) {
    if (map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
    if (!DeviceExists(map[i].location.id)) return CUDA_ERROR_INVALID_DEVICE;
    const bool readwrite = map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    if (!readwrite && map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    // The device's own access can not be taken away.
    if (map[i].location.id == pool->device && !readwrite) return CUDA_ERROR_INVALID_VALUE;
    const uint32_t bit = 1u << map[i].location.id;
    accessible = readwrite ? accessible | bit : accessible & ~bit;
  }
  pool->accessible = accessible;
  return CUDA_SUCCESS;
}
SIM_API CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool handle,
                                    CUmemLocation* location) {
  MemoryPool* pool;
  if (CUresult bad = EnterWithPool(handle, &pool)) return bad;
  if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (location->type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
  if (!DeviceExists(location->id)) return CUDA_ERROR_INVALID_DEVICE;
  const bool open = location->id == pool->device || (pool->accessible >> location->id & 1) != 0;
  *flags = open ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuMemGetDefaultMemPool(CUmemoryPool* pool_out, CUmemLocation* location,
                                        CUmemAllocationType type) {
  if (CUresult status = Enter()) return status;
  if (pool_out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult bad = CheckPlace(location, type)) return bad;
  *pool_out = reinterpret_cast<CUmemoryPool>(DefaultPool(location->id));
  return CUDA_SUCCESS;
}
SIM_API CUresult cuMemGetMemPool(CUmemoryPool* pool, CUmemLocation* location,
                                 CUmemAllocationType type) {
  if (CUresult status = Enter()) return status;
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult bad = CheckPlace(location, type)) return bad;
  *pool = reinterpret_cast<CUmemoryPool>(CurrentPool(location->id));
  return CUDA_SUCCESS;
}
SIM_API CUresult cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type,
                                 CUmemoryPool pool) {
  if (CUresult status = Enter()) return status;
  if (CUresult bad = CheckPlace(location, type)) return bad;
  MemoryPool* found = Pools().Find(pool);
  if (found == nullptr || found->device != location->id) return CUDA_ERROR_INVALID_VALUE;
  SetCurrentPool(location->id, found);
  return CUDA_SUCCESS;
}

// Pools are never made shareable here (handleTypes), so there is nothing to share.
SIM_API CUresult cuMemPoolExportToShareableHandle(void* handle_out, CUmemoryPool pool_handle,
                                                  CUmemAllocationHandleType, unsigned long long) {
  MemoryPool* pool;
  if (CUresult bad = EnterWithPool(pool_handle, &pool)) return bad;
  return handle_out == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED;
}
SIM_API CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData* shareData_out, CUdeviceptr ptr) {
  if (CUresult status = Enter()) return status;
  Allocation found;
  if (shareData_out == nullptr || !Memory().Find(ptr, &found) || found.pool == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_ERROR_NOT_SUPPORTED;
}
