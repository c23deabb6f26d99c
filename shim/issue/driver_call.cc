// SPDX-License-Identifier: Apache-2.0
#include "shim/issue/driver_call.h"

#include <stdlib.h>

#include "shim/graph/graph_table.h"
#include "shim/interpose/interpose.h"

namespace sgprs::shim {
namespace {

CUresult Launch(Session* s, const Entry& e, CUstream target, uint32_t partition) {
  const KernelInfo& info = *e.launch.info;
  void* params[256];
  void** pointers = params;
  if (info.param_count > 256)
    pointers = static_cast<void**>(__builtin_alloca(info.param_count * sizeof(void*)));
  for (uint32_t i = 0; i < info.param_count; ++i) {
    pointers[i] = e.launch.params + info.params[i].offset_bytes;
  }
  const CUfunction function = partition == kAnchorPartition
                                  ? e.launch.function
                                  : s->backend->FunctionFor(e.launch.function, partition);
  if ((e.flags & kEntryAttributes) != 0) {
    CUlaunchConfig config = {};
    config.gridDimX = e.grid[0], config.gridDimY = e.grid[1], config.gridDimZ = e.grid[2];
    config.blockDimX = e.block[0], config.blockDimY = e.block[1], config.blockDimZ = e.block[2];
    config.sharedMemBytes = e.shared_bytes;
    config.hStream = target;
    config.attrs = e.launch.attributes;
    config.numAttrs = e.attribute_count;
    return SGPRS_REAL(cuLaunchKernelEx)(&config, function, pointers, nullptr);
  }
  if ((e.flags & kEntryCooperative) != 0) {
    return SGPRS_REAL(cuLaunchCooperativeKernel)(function, e.grid[0], e.grid[1], e.grid[2],
                                                 e.block[0], e.block[1], e.block[2], e.shared_bytes,
                                                 target, pointers);
  }
  return SGPRS_REAL(cuLaunchKernel)(function, e.grid[0], e.grid[1], e.grid[2], e.block[0],
                                    e.block[1], e.block[2], e.shared_bytes, target, pointers,
                                    nullptr);
}

CUresult Fill(const Entry& e, CUstream target) {
  const auto& f = e.fill;
  if (e.fill_bytes == 1) {
    return SGPRS_REAL(cuMemsetD8Async)(f.to, static_cast<uint8_t>(f.value), f.count, target);
  }
  if (e.fill_bytes == 2) {
    return SGPRS_REAL(cuMemsetD16Async)(f.to, static_cast<uint16_t>(f.value), f.count, target);
  }
  return SGPRS_REAL(cuMemsetD32Async)(f.to, f.value, f.count, target);
}

CUresult FillRows(const Entry& e, CUstream target) {
  const auto& r = e.rows;
  if (e.fill_bytes == 1) {
    return SGPRS_REAL(cuMemsetD2D8Async)(r.to, r.pitch, static_cast<uint8_t>(r.value), r.width,
                                         r.height, target);
  }
  if (e.fill_bytes == 2) {
    return SGPRS_REAL(cuMemsetD2D16Async)(r.to, r.pitch, static_cast<uint16_t>(r.value), r.width,
                                          r.height, target);
  }
  return SGPRS_REAL(cuMemsetD2D32Async)(r.to, r.pitch, r.value, r.width, r.height, target);
}

CUresult Copy(const Entry& e, CUstream target) {
  const auto& c = e.copy;
  switch (e.kind) {
    case EntryKind::kCopyHostToDevice:
      return SGPRS_REAL(cuMemcpyHtoDAsync_v2)(c.to, reinterpret_cast<const void*>(c.from), c.bytes,
                                              target);
    case EntryKind::kCopyDeviceToHost:
      return SGPRS_REAL(cuMemcpyDtoHAsync_v2)(reinterpret_cast<void*>(c.to), c.from, c.bytes,
                                              target);
    case EntryKind::kCopyDeviceToDevice:
      return SGPRS_REAL(cuMemcpyDtoDAsync_v2)(c.to, c.from, c.bytes, target);
    default:
      return SGPRS_REAL(cuMemcpyAsync)(c.to, c.from, c.bytes, target);
  }
}

// A callback is told its stream: the application's, not the one that it runs on.
struct Callback {
  CUstreamCallback function;
  void* data;
  CUstream stream;
};
void CUDA_CB RunCallback(CUstream, CUresult status, void* data) {
  const Callback callback = *static_cast<Callback*>(data);
  free(data);
  callback.function(callback.stream, status, callback.data);
}

CUresult AddCallback(const Entry& e, CUstream target) {
  auto* callback = static_cast<Callback*>(malloc(sizeof(Callback)));
  if (callback == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *callback = {e.callback.function, e.callback.data, e.callback.stream};
  const CUresult result = SGPRS_REAL(cuStreamAddCallback)(target, RunCallback, callback, 0);
  if (result != CUDA_SUCCESS) free(callback);
  return result;
}

}  // namespace

CUresult IssueToDriver(Session* s, const Entry& e, CUstream target, uint32_t partition,
                       uint32_t granted) {
  switch (e.kind) {
    case EntryKind::kKernel:
      return Launch(s, e, target, partition);
    case EntryKind::kGraph:
      return SGPRS_REAL(cuGraphLaunch)(TheGraphTable()->ExecFor(e.graph.row, granted), target);
    case EntryKind::kCopyHostToDevice:
    case EntryKind::kCopyDeviceToHost:
    case EntryKind::kCopyDeviceToDevice:
    case EntryKind::kCopyAny:
      return Copy(e, target);
    case EntryKind::kCopyShaped2D:
      return SGPRS_REAL(cuMemcpy2DAsync_v2)(static_cast<CUDA_MEMCPY2D*>(e.shaped), target);
    case EntryKind::kCopyShaped3D:
      return SGPRS_REAL(cuMemcpy3DAsync_v2)(static_cast<CUDA_MEMCPY3D*>(e.shaped), target);
    case EntryKind::kFill:
      return Fill(e, target);
    case EntryKind::kFillRows:
      return FillRows(e, target);
    case EntryKind::kPrefetch:
      return SGPRS_REAL(cuMemPrefetchAsync_v2)(e.prefetch.at, e.prefetch.bytes, e.prefetch.location,
                                               e.prefetch.flags, target);
    case EntryKind::kEventRecord:
      return SGPRS_REAL(cuEventRecord)(e.event.handle, target);
    case EntryKind::kEventWait:
      return SGPRS_REAL(cuStreamWaitEvent)(target, e.event.handle, e.event.flags);
    case EntryKind::kEventDestroy:
      return SGPRS_REAL(cuEventDestroy_v2)(e.event.handle);
    case EntryKind::kHostFunction:
      return SGPRS_REAL(cuLaunchHostFunc)(target, e.host.function, e.host.data);
    case EntryKind::kCallback:
      return AddCallback(e, target);
    case EntryKind::kFreeAsync:
      return SGPRS_REAL(cuMemFreeAsync)(e.pointer, target);
  }
  return CUDA_ERROR_UNKNOWN;
}

}  // namespace sgprs::shim
