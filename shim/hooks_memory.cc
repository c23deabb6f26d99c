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
