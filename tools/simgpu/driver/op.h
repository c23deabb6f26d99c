// SPDX-License-Identifier: Apache-2.0
// The client's half of a command: what to do in this process when the device reports its end.
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_OP_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_OP_H_

#include <atomic>
#include <cstdint>

#include "tools/simgpu/driver/api.h"

namespace sgprs::simgpu::driver {

struct Context;
struct Event;
struct KernelInfo;
struct Function;

enum class OpKind : uint8_t {
  kNothing,  // waits, context joins
  kKernel,
  kCopy,
  kFill,
  kEvent,
  kHost,
  kFree,       // cuMemFreeAsync
  kWrite,      // cuStreamWriteValue
  kWaitValue,  // cuStreamWaitValue
  kEventWait,  // in graphs only: waits for the event's newest record
};

struct CopyOp {
  void* target;
  const void* source;
  uint64_t target_pitch;
  uint64_t source_pitch;
  uint64_t width_bytes;
  uint64_t height;
  uint64_t depth;
  uint64_t target_slice;  // bytes from plane to plane
  uint64_t source_slice;
  void* staging;  // malloc'd copy of a pageable source, freed after; or nullptr
};

struct FillOp {
  void* target;
  uint64_t pitch;
  uint64_t width;  // elements
  uint64_t height;
  uint32_t value;
  uint32_t element_bytes;  // 1, 2, 4
};

struct KernelOp {
  static constexpr uint32_t kInlineBytes = 160;
  const KernelInfo* info;
  const Function* function;
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t shared_bytes;
  uint32_t param_bytes;
  void* large;  // malloc'd parameters when they do not fit below, else nullptr
  alignas(16) unsigned char params[kInlineBytes];
};

struct HostOp {
  CUhostFn function;  // one of these two
  CUstreamCallback callback;
  void* data;
  CUstream handle;  // as the program gave it
  uint32_t stream;  // device id
};

struct WriteOp {
  void* target;
  uint64_t value;
  uint32_t bytes;
};

struct WaitOp {
  void* target;
  uint64_t value;
  uint32_t bytes;
  uint32_t flags;   // CUstreamWaitValue_flags
  uint32_t stream;  // device id
};

// One slot of the table that Queue keeps; used again after kCommandCount further commands.
struct Op {
  // Bits 0-1: OpState; bits 2-31: seq / table size, so that a waiter knows a reused slot. The futex
  // that waiters of this command sleep on.
  std::atomic<uint32_t> word{0};
  OpKind kind = OpKind::kNothing;
  uint64_t seq = 0;
  Context* context = nullptr;  // root context, for sticky errors
  union {
    CopyOp copy;
    FillOp fill;
    KernelOp kernel;
    Event* event;
    HostOp host;
    void* free;
    WriteOp write;
    WaitOp wait;
  };
};

static_assert(sizeof(Op) == 256, "four cache lines");

enum OpState : uint32_t { kOpPending = 0, kOpWaited = 1, kOpDone = 2 };

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_OP_H_
