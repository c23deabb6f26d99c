// SPDX-License-Identifier: Apache-2.0
// What the issuer needs of a recorded call and no other process may see: handles, pointers, copied
// arguments. Entry i belongs to slot i of the lane.
#ifndef SGPRS_SHIM_RECORD_ENTRY_H_
#define SGPRS_SHIM_RECORD_ENTRY_H_

#include <cuda.h>

#include <cstdint>

#include "shim/record/kernel_table.h"

namespace sgprs::shim {

struct GraphRow;
struct VirtualStream;

enum class EntryKind : uint8_t {
  kKernel,
  kCopyHostToDevice,
  kCopyDeviceToHost,
  kCopyDeviceToDevice,
  kCopyAny,  // cuMemcpyAsync: unified addressing
  kCopyShaped2D,
  kCopyShaped3D,
  kFill,
  kFillRows,
  kPrefetch,
  kEventRecord,
  kEventWait,
  kEventDestroy,
  kHostFunction,
  kCallback,
  kFreeAsync,
  kGraph,
};

enum EntryFlag : uint8_t {
  kEntryWaitAnchor = 1,   // the application's own stream got work of its own before this
  kEntryCooperative = 2,  // needs all blocks resident
  kEntryAttributes = 4,   // launch with attributes (cuLaunchKernelEx)
  kEntryJobFirst = 8,
  kEntryEvents = 16,  // a launch that records events of the application
};

struct Entry {
  VirtualStream* stream;
  uint64_t arena_end;  // the arena is free up to here once this entry is issued
  uint32_t job;
  EntryKind kind;
  uint8_t flags;       // EntryFlag bits
  uint8_t fill_bytes;  // 1, 2 or 4
  uint8_t reserved;
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t shared_bytes;
  uint32_t attribute_count;
  union {
    struct {
      CUfunction function;
      KernelInfo* info;
      unsigned char* params;  // param_bytes, in the arena
      CUlaunchAttribute* attributes;
    } launch;
    struct {
      CUdeviceptr to;
      CUdeviceptr from;  // host addresses as integers
      uint64_t bytes;
    } copy;
    struct {
      CUdeviceptr to;
      uint64_t count;
      uint32_t value;
    } fill;
    struct {
      CUdeviceptr to;
      uint64_t pitch;
      uint64_t width;
      uint64_t height;
      uint32_t value;
    } rows;
    void* shaped;  // CUDA_MEMCPY2D or CUDA_MEMCPY3D, in the arena
    struct {
      CUdeviceptr at;
      uint64_t bytes;
      CUmemLocation location;
      uint32_t flags;
    } prefetch;
    struct {
      CUevent handle;
      uint32_t flags;
    } event;
    struct {
      CUhostFn function;
      void* data;
    } host;
    struct {
      CUstreamCallback function;
      void* data;
      CUstream stream;  // as the application named it
    } callback;
    struct {
      GraphRow* row;
      KernelInfo* info;
      uint32_t kernels;
    } graph;
    CUdeviceptr pointer;
  };
};
static_assert(sizeof(Entry) <= 96);

}  // namespace sgprs::shim

#endif  // SGPRS_SHIM_RECORD_ENTRY_H_
