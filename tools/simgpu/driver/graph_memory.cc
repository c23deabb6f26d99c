// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/driver/graph_memory.h"

#include <map>
#include <mutex>

#include "tools/simgpu/driver/memory_pool.h"
#include "tools/simgpu/driver/memory_table.h"
#include "tools/simgpu/driver/visible_devices.h"

namespace sgprs::simgpu::driver {
namespace {

std::mutex g_mutex;
std::map<CUdeviceptr, std::weak_ptr<GraphMemory>>& All() {  // under g_mutex
  static auto* all = new std::map<CUdeviceptr, std::weak_ptr<GraphMemory>>();
  return *all;
}

}  // namespace

MemoryPool* GraphPool(int device) {
  static std::atomic<MemoryPool*> pools[kMaxDevices];
  std::lock_guard<std::mutex> lock(g_mutex);
  if (pools[device] == nullptr) pools[device] = MakePool(device);
  return pools[device];
}

CUresult GraphMemory::Make(const CUDA_MEM_ALLOC_NODE_PARAMS_v2& params,
                           std::shared_ptr<GraphMemory>* memory) {
  const CUmemPoolProps& props = params.poolProps;
  if (props.allocType != CU_MEM_ALLOCATION_TYPE_PINNED || params.bytesize == 0 ||
      props.handleTypes != CU_MEM_HANDLE_TYPE_NONE ||
      (params.accessDescs == nullptr && params.accessDescCount > 0)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (props.location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
  if (!DeviceExists(props.location.id)) return CUDA_ERROR_INVALID_DEVICE;
  Allocation what;
  what.kind = MemoryKind::kDevice;
  what.bytes = params.bytesize;
  what.device = props.location.id;
  what.pool = GraphPool(what.device);
  CUdeviceptr address;
  if (CUresult result = Memory().Allocate(what, &address)) return result;
  memory->reset(new GraphMemory());
  (*memory)->params_ = params;
  (*memory)->params_.dptr = address;
  (*memory)->params_.accessDescs = nullptr;  // the program's
  (*memory)->params_.accessDescCount = 0;
  std::lock_guard<std::mutex> lock(g_mutex);
  All()[address] = *memory;
  return CUDA_SUCCESS;
}

GraphMemory::~GraphMemory() {
  {
    std::lock_guard<std::mutex> lock(g_mutex);
    All().erase(address());
  }
  // Live: from now on an allocation like any other, for the program to free.
  if (!live_) Memory().Free(address());
}

std::shared_ptr<GraphMemory> FindGraphMemory(CUdeviceptr address) {
  std::lock_guard<std::mutex> lock(g_mutex);
  const auto found = All().find(address);
  return found != All().end() ? found->second.lock() : nullptr;
}

}  // namespace sgprs::simgpu::driver

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

SIM_API CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr,
                                              void* value) {
  if (CUresult status = EnterWithDevice(device)) return status;
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const MemoryPool& pool = *GraphPool(device);
  auto* word = static_cast<cuuint64_t*>(value);
  switch (attr) {
    case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
      return *word = pool.used, CUDA_SUCCESS;
    case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
      return *word = pool.used_high, CUDA_SUCCESS;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
      return *word = pool.reserved, CUDA_SUCCESS;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
      return *word = pool.reserved_high, CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}
SIM_API CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr,
                                              void* value) {
  if (CUresult status = EnterWithDevice(device)) return status;
  if (value == nullptr || *static_cast<cuuint64_t*>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
  MemoryPool& pool = *GraphPool(device);
  if (attr == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) {
    pool.used_high = pool.used.load();
  } else if (attr == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) {
    pool.reserved_high = pool.reserved.load();
  } else {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}
SIM_API CUresult cuDeviceGraphMemTrim(CUdevice device) {
  if (CUresult status = EnterWithDevice(device)) return status;
  GraphPool(device)->TrimTo(0);
  return CUDA_SUCCESS;
}
