// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies and fills. Recorded only if host memory is pinned: the driver reads or writes
// pageable memory during the call (facts/cuda.md 6.7), which a deferred call can not do.
#include "shim/hooks.h"
#include "shim/interpose/interpose.h"
#include "shim/record/recorder.h"

namespace sgprs::shim {
namespace {

// Memory that the device can reach at any later time: device, pinned or registered.
bool Reachable(CUdeviceptr pointer) {
  unsigned type = 0;
  if (SGPRS_REAL(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer) !=
      CUDA_SUCCESS) {
    return false;
  }
  unsigned managed = 0;
  SGPRS_REAL(cuPointerGetAttribute)(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, pointer);
  return managed == 0 && (type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_HOST);
}

bool TryCopy(EntryKind kind, CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream,
             bool per_thread) {
  if (bytes == 0 || to == 0 || from == 0) return false;
  VirtualStream* row = RecordableStream(stream, per_thread);
  if (row == nullptr || !Reachable(to) || !Reachable(from)) return false;
  RecordScope scope(row, kind, 0);
  if (!scope) return false;
  scope.entry()->copy = {to, from, bytes};
  scope.Commit(bytes);
  return true;
}

bool TryFill(CUdeviceptr to, uint32_t value, uint8_t width, size_t count, CUstream stream,
             bool per_thread) {
  if (count == 0 || to == 0 || to % width != 0) return false;
  VirtualStream* row = RecordableStream(stream, per_thread);
  if (row == nullptr || !Reachable(to)) return false;
  RecordScope scope(row, EntryKind::kFill, 0);
  if (!scope) return false;
  scope.entry()->fill = {to, count, value};
  scope.entry()->fill_bytes = width;
  scope.Commit(count * width);
  return true;
}

bool TryRows(CUdeviceptr to, size_t pitch, uint32_t value, uint8_t width_bytes, size_t width,
             size_t height, CUstream stream, bool per_thread) {
  if (width == 0 || height == 0 || to == 0 || to % width_bytes != 0 || pitch % width_bytes != 0 ||
      (height > 1 && pitch < width * width_bytes)) {
    return false;
  }
  VirtualStream* row = RecordableStream(stream, per_thread);
  if (row == nullptr || !Reachable(to)) return false;
  RecordScope scope(row, EntryKind::kFillRows, 0);
  if (!scope) return false;
  scope.entry()->rows = {to, pitch, width, height, value};
  scope.entry()->fill_bytes = width_bytes;
  scope.Commit(width * height * width_bytes);
  return true;
}

// One side of a shaped copy. Arrays are the device's; a host pointer has to be pinned.
bool SideReachable(CUmemorytype type, const void* host, CUdeviceptr device) {
  switch (type) {
    case CU_MEMORYTYPE_ARRAY:
      return true;
    case CU_MEMORYTYPE_HOST:
      return Reachable(reinterpret_cast<CUdeviceptr>(host));
    case CU_MEMORYTYPE_DEVICE:
    case CU_MEMORYTYPE_UNIFIED:
      return Reachable(device);
  }
  return false;
}

template <typename Shape>
bool TryShaped(EntryKind kind, const Shape* shape, uint64_t rows, CUstream stream,
               bool per_thread) {
  if (shape == nullptr || shape->WidthInBytes == 0 || rows == 0) return false;
  VirtualStream* row = RecordableStream(stream, per_thread);
  if (row == nullptr || !SideReachable(shape->srcMemoryType, shape->srcHost, shape->srcDevice) ||
      !SideReachable(shape->dstMemoryType, shape->dstHost, shape->dstDevice)) {
    return false;
  }
  RecordScope scope(row, kind, (sizeof(Shape) + 63) / 64 * 64);
  if (!scope) return false;
  *reinterpret_cast<Shape*>(scope.arena()) = *shape;
  scope.entry()->shaped = scope.arena();
  scope.Commit(shape->WidthInBytes * rows);
  return true;
}

// Managed memory only: anything else the driver refuses at once.
bool TryPrefetch(CUdeviceptr at, size_t bytes, CUmemLocation location, unsigned flags,
                 CUstream stream, bool per_thread) {
  unsigned managed = 0;
  if (bytes == 0 || at == 0 || flags != 0 ||
      (location.type != CU_MEM_LOCATION_TYPE_DEVICE &&
       location.type != CU_MEM_LOCATION_TYPE_HOST)) {
    return false;
  }
  VirtualStream* row = RecordableStream(stream, per_thread);
  if (row == nullptr || location.id < 0 ||
      (location.type == CU_MEM_LOCATION_TYPE_DEVICE && location.id != TheSession()->facts.device) ||
      SGPRS_REAL(cuPointerGetAttribute)(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, at) !=
          CUDA_SUCCESS ||
      managed == 0) {
    return false;
  }
  CUdeviceptr base = 0;
  size_t size = 0;
  if (SGPRS_REAL(cuMemGetAddressRange_v2)(&base, &size, at) != CUDA_SUCCESS ||
      bytes > base + size - at) {
    return false;
  }
  RecordScope scope(row, EntryKind::kPrefetch, 0);
  if (!scope) return false;
  scope.entry()->prefetch = {at, bytes, location, flags};
  scope.Commit(bytes);
  return true;
}

bool TryFree(CUdeviceptr pointer, CUstream stream, bool per_thread) {
  if (pointer == 0) return false;
  VirtualStream* row = RecordableStream(stream, per_thread);
  if (row == nullptr || !Reachable(pointer)) return false;
  RecordScope scope(row, EntryKind::kFreeAsync, 0);
  if (!scope) return false;
  scope.entry()->pointer = pointer;
  scope.Commit(0);
  return true;
}

CUdeviceptr Address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

}  // namespace
}  // namespace sgprs::shim

using namespace sgprs::shim;  // NOLINT(google-build-using-namespace): hooks are outside it

#define SGPRS_COPY_HOOK(symbol, kind, to_type, from_type, to_address, from_address, per_thread)  \
  extern "C" CUresult Hook_##symbol(to_type to, from_type from, size_t bytes, CUstream stream) { \
    if (Captured(stream, per_thread)) return SGPRS_REAL(symbol)(to, from, bytes, stream);        \
    if (TryCopy(EntryKind::kind, to_address, from_address, bytes, stream, per_thread)) {         \
      return CUDA_SUCCESS;                                                                       \
    }                                                                                            \
    BeforeDirect();                                                                              \
    const CUresult result = SGPRS_REAL(symbol)(to, from, bytes, stream);                         \
    CloseDirect();                                                                               \
    NoteBlockingCallEnd(TheSession());                                                           \
    return result;                                                                               \
  }
#define SGPRS_COPY_HOOKS(symbol, kind, to_type, from_type, to_address, from_address) \
  SGPRS_COPY_HOOK(symbol, kind, to_type, from_type, to_address, from_address, false) \
  SGPRS_COPY_HOOK(symbol##_ptsz, kind, to_type, from_type, to_address, from_address, true)
SGPRS_COPY_HOOKS(cuMemcpyHtoDAsync_v2, kCopyHostToDevice, CUdeviceptr, const void*, to,
                 Address(from))
SGPRS_COPY_HOOKS(cuMemcpyDtoHAsync_v2, kCopyDeviceToHost, void*, CUdeviceptr, Address(to), from)
SGPRS_COPY_HOOKS(cuMemcpyDtoDAsync_v2, kCopyDeviceToDevice, CUdeviceptr, CUdeviceptr, to, from)
SGPRS_COPY_HOOKS(cuMemcpyAsync, kCopyAny, CUdeviceptr, CUdeviceptr, to, from)

#define SGPRS_FILL_HOOK(symbol, value_type, width, per_thread)                             \
  extern "C" CUresult Hook_##symbol(CUdeviceptr to, value_type value, size_t count,        \
                                    CUstream stream) {                                     \
    if (Captured(stream, per_thread)) return SGPRS_REAL(symbol)(to, value, count, stream); \
    if (TryFill(to, value, width, count, stream, per_thread)) return CUDA_SUCCESS;         \
    BeforeDirect();                                                                        \
    return SGPRS_REAL(symbol)(to, value, count, stream);                                   \
  }
SGPRS_FILL_HOOK(cuMemsetD8Async, unsigned char, 1, false)
SGPRS_FILL_HOOK(cuMemsetD8Async_ptsz, unsigned char, 1, true)
SGPRS_FILL_HOOK(cuMemsetD16Async, unsigned short, 2, false)
SGPRS_FILL_HOOK(cuMemsetD16Async_ptsz, unsigned short, 2, true)
SGPRS_FILL_HOOK(cuMemsetD32Async, unsigned int, 4, false)
SGPRS_FILL_HOOK(cuMemsetD32Async_ptsz, unsigned int, 4, true)

#define SGPRS_FREE_HOOK(symbol, per_thread)                                       \
  extern "C" CUresult Hook_##symbol(CUdeviceptr pointer, CUstream stream) {       \
    if (Captured(stream, per_thread)) return SGPRS_REAL(symbol)(pointer, stream); \
    if (TryFree(pointer, stream, per_thread)) return CUDA_SUCCESS;                \
    BeforeDirect();                                                               \
    return SGPRS_REAL(symbol)(pointer, stream);                                   \
  }
SGPRS_FREE_HOOK(cuMemFreeAsync, false)
SGPRS_FREE_HOOK(cuMemFreeAsync_ptsz, true)

#define SGPRS_ROWS_HOOK(symbol, value_type, width_bytes, per_thread)                              \
  extern "C" CUresult Hook_##symbol(CUdeviceptr to, size_t pitch, value_type value, size_t width, \
                                    size_t height, CUstream stream) {                             \
    if (Captured(stream, per_thread)) {                                                           \
      return SGPRS_REAL(symbol)(to, pitch, value, width, height, stream);                         \
    }                                                                                             \
    if (TryRows(to, pitch, value, width_bytes, width, height, stream, per_thread)) {              \
      return CUDA_SUCCESS;                                                                        \
    }                                                                                             \
    BeforeDirect();                                                                               \
    return SGPRS_REAL(symbol)(to, pitch, value, width, height, stream);                           \
  }
SGPRS_ROWS_HOOK(cuMemsetD2D8Async, unsigned char, 1, false)
SGPRS_ROWS_HOOK(cuMemsetD2D8Async_ptsz, unsigned char, 1, true)
SGPRS_ROWS_HOOK(cuMemsetD2D16Async, unsigned short, 2, false)
SGPRS_ROWS_HOOK(cuMemsetD2D16Async_ptsz, unsigned short, 2, true)
SGPRS_ROWS_HOOK(cuMemsetD2D32Async, unsigned int, 4, false)
SGPRS_ROWS_HOOK(cuMemsetD2D32Async_ptsz, unsigned int, 4, true)

#define SGPRS_SHAPED_HOOK(symbol, type, kind, rows, per_thread)                               \
  extern "C" CUresult Hook_##symbol(const type* shape, CUstream stream) {                     \
    if (Captured(stream, per_thread)) return SGPRS_REAL(symbol)(shape, stream);               \
    if (TryShaped(EntryKind::kind, shape, shape != nullptr ? rows : 0, stream, per_thread)) { \
      return CUDA_SUCCESS;                                                                    \
    }                                                                                         \
    BeforeDirect();                                                                           \
    const CUresult result = SGPRS_REAL(symbol)(shape, stream);                                \
    CloseDirect();                                                                            \
    NoteBlockingCallEnd(TheSession());                                                        \
    return result;                                                                            \
  }
SGPRS_SHAPED_HOOK(cuMemcpy2DAsync_v2, CUDA_MEMCPY2D, kCopyShaped2D, shape->Height, false)
SGPRS_SHAPED_HOOK(cuMemcpy2DAsync_v2_ptsz, CUDA_MEMCPY2D, kCopyShaped2D, shape->Height, true)
SGPRS_SHAPED_HOOK(cuMemcpy3DAsync_v2, CUDA_MEMCPY3D, kCopyShaped3D, shape->Height * shape->Depth,
                  false)
SGPRS_SHAPED_HOOK(cuMemcpy3DAsync_v2_ptsz, CUDA_MEMCPY3D, kCopyShaped3D,
                  shape->Height * shape->Depth, true)

#define SGPRS_PREFETCH_HOOK(symbol, per_thread)                                           \
  extern "C" CUresult Hook_##symbol(CUdeviceptr at, size_t bytes, CUmemLocation location, \
                                    unsigned flags, CUstream stream) {                    \
    if (Captured(stream, per_thread))                                                     \
      return SGPRS_REAL(symbol)(at, bytes, location, flags, stream);                      \
    if (TryPrefetch(at, bytes, location, flags, stream, per_thread)) return CUDA_SUCCESS; \
    BeforeDirect();                                                                       \
    return SGPRS_REAL(symbol)(at, bytes, location, flags, stream);                        \
  }
SGPRS_PREFETCH_HOOK(cuMemPrefetchAsync_v2, false)
SGPRS_PREFETCH_HOOK(cuMemPrefetchAsync_v2_ptsz, true)

// An allocation answers with its pointer, so it is made at once, on the application's stream.
// Nothing that is held can be using the memory: frees that are held have not given any back yet.
// Later items of the stream follow it. Out of memory: what is held may give some back.
namespace {
template <typename Allocate>
CUresult AllocateAtOnce(CUstream stream, bool per_thread, Allocate allocate) {
  if (Captured(stream, per_thread)) return allocate();
  if (RecordableStream(stream, per_thread) == nullptr) {
    BeforeDirect();
    return allocate();
  }
  OpenDirect();
  CUresult result = allocate();
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    BeforeDirect();
    result = allocate();
  }
  CloseDirect();
  return result;
}
}  // namespace

#define SGPRS_ALLOCATE_HOOK(symbol, per_thread)                                       \
  extern "C" CUresult Hook_##symbol(CUdeviceptr* at, size_t bytes, CUstream stream) { \
    return AllocateAtOnce(stream, per_thread,                                         \
                          [&] { return SGPRS_REAL(symbol)(at, bytes, stream); });     \
  }
SGPRS_ALLOCATE_HOOK(cuMemAllocAsync, false)
SGPRS_ALLOCATE_HOOK(cuMemAllocAsync_ptsz, true)
#define SGPRS_ALLOCATE_POOL_HOOK(symbol, per_thread)                                    \
  extern "C" CUresult Hook_##symbol(CUdeviceptr* at, size_t bytes, CUmemoryPool pool,   \
                                    CUstream stream) {                                  \
    return AllocateAtOnce(stream, per_thread,                                           \
                          [&] { return SGPRS_REAL(symbol)(at, bytes, pool, stream); }); \
  }
SGPRS_ALLOCATE_POOL_HOOK(cuMemAllocFromPoolAsync, false)
SGPRS_ALLOCATE_POOL_HOOK(cuMemAllocFromPoolAsync_ptsz, true)

// Synchronous copies: the driver's, after a drain; the place where programs without any other
// synchronisation learn of an error.
#define SGPRS_SYNC_COPY_HOOK(symbol, to_type, from_type)                        \
  extern "C" CUresult Hook_##symbol(to_type to, from_type from, size_t bytes) { \
    BeforeDirect();                                                             \
    const CUresult result = SGPRS_REAL(symbol)(to, from, bytes);                \
    CloseDirect();                                                              \
    NoteBlockingCallEnd(TheSession());                                          \
    return WithDeferredError(result);                                           \
  }
SGPRS_SYNC_COPY_HOOK(cuMemcpy, CUdeviceptr, CUdeviceptr)
SGPRS_SYNC_COPY_HOOK(cuMemcpy_ptds, CUdeviceptr, CUdeviceptr)
SGPRS_SYNC_COPY_HOOK(cuMemcpyHtoD_v2, CUdeviceptr, const void*)
SGPRS_SYNC_COPY_HOOK(cuMemcpyHtoD_v2_ptds, CUdeviceptr, const void*)
SGPRS_SYNC_COPY_HOOK(cuMemcpyDtoH_v2, void*, CUdeviceptr)
SGPRS_SYNC_COPY_HOOK(cuMemcpyDtoH_v2_ptds, void*, CUdeviceptr)
