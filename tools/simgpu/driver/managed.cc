// SPDX-License-Identifier: Apache-2.0
// Managed memory: allocation, advice, prefetch, discard. Advice is kept and given back, and means
// nothing else here; a prefetch takes the bus as a copy does.
#include <cstring>
#include <map>
#include <mutex>

#include "tools/simgpu/driver/enqueue.h"
#include "tools/simgpu/driver/memory_table.h"
#include "tools/simgpu/driver/process.h"
#include "tools/simgpu/driver/visible_devices.h"

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

namespace {

constexpr int kNowhere = CU_DEVICE_INVALID;
constexpr uintptr_t kPage = 4096;

struct Advice {
  uint64_t allocation = 0;  // Allocation::id: that of an older one at the same place is void
  bool read_mostly = false;
  CUmemLocation preferred{CU_MEM_LOCATION_TYPE_INVALID, kNowhere};
  CUmemLocation prefetched{CU_MEM_LOCATION_TYPE_INVALID, kNowhere};
  uint32_t accessed_by = 0;  // devices by bit; bit 31: the host
};

std::mutex g_mutex;
// Piecewise constant over addresses: from each key up to the next.
std::map<uintptr_t, Advice>& Table() {
  static auto* table = new std::map<uintptr_t, Advice>();
  return *table;
}

Advice At(uintptr_t address, uint64_t allocation) {
  auto it = Table().upper_bound(address);
  Advice advice;
  if (it != Table().begin() && std::prev(it)->second.allocation == allocation) {
    advice = std::prev(it)->second;
  }
  advice.allocation = allocation;
  return advice;
}

// Applies `change` to every piece of [begin, end), pages as a whole.
template <typename Change>
void Apply(const Allocation& found, uintptr_t begin, size_t bytes, Change change) {
  const uintptr_t first = begin / kPage * kPage;
  const uintptr_t last = (begin + bytes + kPage - 1) / kPage * kPage;
  std::lock_guard<std::mutex> lock(g_mutex);
  std::map<uintptr_t, Advice>& table = Table();
  for (uintptr_t border : {first, last}) table.emplace(border, At(border, found.id));
  for (auto it = table.find(first); it != table.end() && it->first < last; ++it) {
    it->second = At(it->first, found.id);
    change(&it->second);
  }
}

CUresult FindManaged(CUdeviceptr pointer, size_t count, Allocation* found) {
  if (count == 0 || !Memory().Find(pointer, found) || found->kind != MemoryKind::kManaged ||
      count > found->end() - pointer) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult CheckLocation(const CUmemLocation& location) {
  switch (location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      return DeviceExists(location.id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

uint32_t BitOf(const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? 1u << location.id : 1u << 31;
}

CUresult Advise(CUdeviceptr pointer, size_t count, CUmem_advise advice, CUmemLocation location) {
  if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Allocation found;
  if (CUresult bad = FindManaged(pointer, count, &found)) return bad;
  // cuda.h: READ_MOSTLY and unsetting the preferred location ignore the location.
  if (advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION || advice >= CU_MEM_ADVISE_SET_ACCESSED_BY) {
    if (CUresult bad = CheckLocation(location)) return bad;
  }
  Apply(found, pointer, count, [&](Advice* a) {
    if (advice <= CU_MEM_ADVISE_UNSET_READ_MOSTLY) {
      a->read_mostly = advice == CU_MEM_ADVISE_SET_READ_MOSTLY;
    } else if (advice <= CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION) {
      a->preferred = advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION ? location : Advice().preferred;
    } else if (advice == CU_MEM_ADVISE_SET_ACCESSED_BY) {
      a->accessed_by |= BitOf(location);
    } else {
      a->accessed_by &= ~BitOf(location);
    }
  });
  return CUDA_SUCCESS;
}

CUresult Prefetch(CUdeviceptr pointer, size_t count, CUmemLocation location, Stream* stream) {
  Allocation found;
  if (CUresult bad = FindManaged(pointer, count, &found)) return bad;
  if (CUresult bad = CheckLocation(location)) return bad;
  Apply(found, pointer, count, [&](Advice* a) { a->prefetched = location; });
  const bool to_device = location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  return Enqueue(stream, CommandKind::kCopy, OpKind::kNothing, [&](Op&, Command& command) {
    command.bytes = count;
    command.direction = static_cast<uint32_t>(to_device ? CopyDirection::kHostToDevice
                                                        : CopyDirection::kDeviceToHost);
  });
}

CUmemLocation OfDevice(CUdevice device) {
  if (device == CU_DEVICE_CPU) return {CU_MEM_LOCATION_TYPE_HOST, 0};
  return {CU_MEM_LOCATION_TYPE_DEVICE, device};
}

// Checks the lists of the batch calls: ranges are managed memory, locations cover all of them.
CUresult EnterBatch(const CUdeviceptr* pointers, const size_t* sizes, size_t count,
                    unsigned long long flags, CUstream handle, Stream** stream) {
  if (CUresult status = EnterWithStream(handle, stream)) return status;
  if (pointers == nullptr || sizes == nullptr || count == 0 || flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if ((*stream)->legacy) return CUDA_ERROR_INVALID_VALUE;  // cuda.h: not the legacy stream
  if (CaptureActive()) {
    if (CUresult refused = RefuseOnStream(*stream)) return refused;
  }
  for (size_t i = 0; i < count; ++i) {
    Allocation found;
    if (CUresult bad = FindManaged(pointers[i], sizes[i], &found)) return bad;
  }
  return CUDA_SUCCESS;
}

CUresult PrefetchBatch(const CUdeviceptr* pointers, const size_t* sizes, size_t count,
                       const CUmemLocation* locations, const size_t* indices, size_t location_count,
                       unsigned long long flags, CUstream handle) {
  Stream* stream;
  if (CUresult bad = EnterBatch(pointers, sizes, count, flags, handle, &stream)) return bad;
  if (locations == nullptr || indices == nullptr || location_count == 0 || location_count > count ||
      indices[0] != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (size_t i = 0; i < location_count; ++i) {
    if (i > 0 && (indices[i] <= indices[i - 1] || indices[i] >= count)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (CUresult bad = CheckLocation(locations[i])) return bad;
  }
  for (size_t i = 0, where = 0; i < count; ++i) {
    while (where + 1 < location_count && indices[where + 1] <= i) ++where;
    if (CUresult result = Prefetch(pointers[i], sizes[i], locations[where], stream)) return result;
  }
  return CUDA_SUCCESS;
}

template <typename T>
CUresult Put(void* data, size_t size, T value) {
  if (size != sizeof(value)) return CUDA_ERROR_INVALID_VALUE;
  memcpy(data, &value, sizeof(value));
  return CUDA_SUCCESS;
}

// The id that the older attributes give back.
int DeviceId(const CUmemLocation& location) {
  if (location.type == CU_MEM_LOCATION_TYPE_DEVICE) return location.id;
  return location.type == CU_MEM_LOCATION_TYPE_INVALID ? CU_DEVICE_INVALID : CU_DEVICE_CPU;
}

bool Same(const CUmemLocation& a, const CUmemLocation& b) {
  return a.type == b.type && a.id == b.id;
}

// What holds for the whole range; where parts differ, what an untouched one has.
Advice Common(const Allocation& found, uintptr_t begin, size_t bytes) {
  std::lock_guard<std::mutex> lock(g_mutex);
  Advice common = At(begin, found.id);
  for (auto it = Table().upper_bound(begin); it != Table().end() && it->first < begin + bytes;
       ++it) {
    const Advice piece = At(it->first, found.id);
    common.read_mostly = common.read_mostly && piece.read_mostly;
    common.accessed_by &= piece.accessed_by;
    if (!Same(common.preferred, piece.preferred)) common.preferred = Advice().preferred;
    if (!Same(common.prefetched, piece.prefetched)) common.prefetched = Advice().prefetched;
  }
  return common;
}

CUresult PutAccessedBy(const Advice& advice, void* data, size_t size) {
  if (size == 0 || size % sizeof(int) != 0) return CUDA_ERROR_INVALID_VALUE;
  size_t used = 0;
  const auto put = [&](int device) {
    if (used < size / sizeof(int))
      memcpy(static_cast<int*>(data) + used++, &device, sizeof(device));
  };
  for (int device = 0; device < DeviceCount(); ++device) {
    if ((advice.accessed_by >> device & 1) != 0) put(device);
  }
  if ((advice.accessed_by >> 31 & 1) != 0) put(CU_DEVICE_CPU);
  while (used < size / sizeof(int)) put(CU_DEVICE_INVALID);
  return CUDA_SUCCESS;
}

CUresult PutAttribute(const Advice& advice, CUmem_range_attribute attribute, void* data,
                      size_t size) {
  switch (attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
      return Put<int>(data, size, advice.read_mostly ? 1 : 0);
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
      return Put<int>(data, size, DeviceId(advice.preferred));
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
      return PutAccessedBy(advice, data, size);
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
      return Put<int>(data, size, DeviceId(advice.prefetched));
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
      return Put<CUmemLocationType>(data, size, advice.preferred.type);
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
      return Put<int>(data, size, advice.preferred.id);
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
      return Put<CUmemLocationType>(data, size, advice.prefetched.type);
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
      return Put<int>(data, size, advice.prefetched.id);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace

SIM_API CUresult cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise advice,
                                CUmemLocation location) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  return Advise(devPtr, count, advice, location);
}
SIM_API CUresult cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice,
                             CUdevice device) {
  return cuMemAdvise_v2(devPtr, count, advice, OfDevice(device));
}

SIM_API CUresult cuMemPrefetchAsync_v2(CUdeviceptr devPtr, size_t count, CUmemLocation location,
                                       unsigned int flags, CUstream hStream) {
  Stream* stream;
  if (CUresult status = EnterWithStream(hStream, &stream)) return status;
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return Prefetch(devPtr, count, location, stream);
}
SIM_API CUresult cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUdevice dstDevice,
                                    CUstream hStream) {
  return cuMemPrefetchAsync_v2(devPtr, count, OfDevice(dstDevice), 0, hStream);
}

SIM_API CUresult cuMemPrefetchBatchAsync(CUdeviceptr* dptrs, size_t* sizes, size_t count,
                                         CUmemLocation* prefetchLocs, size_t* prefetchLocIdxs,
                                         size_t numPrefetchLocs, unsigned long long flags,
                                         CUstream hStream) {
  return PrefetchBatch(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags,
                       hStream);
}
// Discarded contents are undefined until written again; here they stay.
SIM_API CUresult cuMemDiscardBatchAsync(CUdeviceptr* dptrs, size_t* sizes, size_t count,
                                        unsigned long long flags, CUstream hStream) {
  Stream* stream;
  return EnterBatch(dptrs, sizes, count, flags, hStream, &stream);
}
SIM_API CUresult cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr* dptrs, size_t* sizes, size_t count,
                                                   CUmemLocation* prefetchLocs,
                                                   size_t* prefetchLocIdxs, size_t numPrefetchLocs,
                                                   unsigned long long flags, CUstream hStream) {
  return PrefetchBatch(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags,
                       hStream);
}

SIM_API CUresult cuMemRangeGetAttribute(void* data, size_t dataSize,
                                        CUmem_range_attribute attribute, CUdeviceptr devPtr,
                                        size_t count) {
  return cuMemRangeGetAttributes(&data, &dataSize, &attribute, 1, devPtr, count);
}
SIM_API CUresult cuMemRangeGetAttributes(void** data, size_t* dataSizes,
                                         CUmem_range_attribute* attributes, size_t numAttributes,
                                         CUdeviceptr devPtr, size_t count) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  if (data == nullptr || dataSizes == nullptr || attributes == nullptr || numAttributes == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Allocation found;
  if (CUresult bad = FindManaged(devPtr, count, &found)) return bad;
  const Advice advice = Common(found, devPtr, count);
  for (size_t i = 0; i < numAttributes; ++i) {
    if (data[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (CUresult bad = PutAttribute(advice, attributes[i], data[i], dataSizes[i])) return bad;
  }
  return CUDA_SUCCESS;
}
