// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/driver/context_object.h"

#include <algorithm>

#include "tools/simgpu/driver/memory_table.h"
#include "tools/simgpu/driver/module.h"
#include "tools/simgpu/driver/process.h"
#include "tools/simgpu/driver/visible_devices.h"

namespace sgprs::simgpu::driver {
namespace {

// All under ObjectMutex().
uint32_t g_next_context = kPrimaryContext + kMaxDevices;
uint64_t g_next_unique = 1;
struct Primary {
  Context* context = nullptr;
  int count = 0;
  unsigned int flags = 0;
};
Primary g_primaries[kMaxDevices];  // by ordinal

void SetDefaults(Context* context) {
  context->limits[CU_LIMIT_STACK_SIZE] = 1024;
  context->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20;
  context->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
  context->limits[CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2;
  context->limits[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048;
  context->limits[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64;
}

CUresult Tell(CommandKind kind, const Context& context) {
  Command command{};
  command.kind = static_cast<uint32_t>(kind);
  command.context = context.id;
  command.sm_limit = context.sm_limit;
  command.device = PhysicalIndex(context.device);
  return TheProcess().queue.SendControl(command);
}

void DropStreamsOf(Context* view) {
  std::vector<Stream*> streams;
  {
    std::lock_guard<std::mutex> lock(TheProcess().queue.mutex());
    streams = view->streams;
    if (Stream* legacy = view->legacy) streams.push_back(legacy);
  }
  for (Stream* stream : streams) DropStream(stream);
  std::lock_guard<std::mutex> lock(TheProcess().queue.mutex());
  view->gates.clear();
}

}  // namespace

bool ContextFlagsValid(unsigned int flags) {
  const unsigned int mode = flags & CU_CTX_SCHED_MASK;
  return (flags & ~static_cast<unsigned int>(CU_CTX_FLAGS_MASK)) == 0 && (mode & (mode - 1)) == 0;
}

uint32_t RoundSmLimit(uint32_t asked) {
  const uint32_t all = TheProcess().channel.welcome().sm_count;
  return std::min((std::min(asked, all) + 1) / 2 * 2, all);
}

CUresult NewContext(CUdevice device, Context::Kind kind, unsigned int flags, uint32_t sm_limit,
                    Context** out) {
  if (CUresult result = TheProcess().executor.EnsureStarted()) return result;
  Context* context = Contexts().New();
  if (context == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  context->kind = kind;
  context->id =
      kind == Context::Kind::kPrimary ? kPrimaryContext + PhysicalIndex(device) : g_next_context++;
  context->device = device;
  context->unique_id = g_next_unique++;
  context->root = context;
  context->flags = flags;
  context->sm_limit = sm_limit;
  SetDefaults(context);
  if (CUresult result = Tell(CommandKind::kContextCreate, *context)) {
    Contexts().Close(context);
    return result;
  }
  context->usable.store(true, std::memory_order_release);  // pairs with ContextStatus
  *out = context;
  return CUDA_SUCCESS;
}

CUresult NewGreenView(CUdevice device, GreenContext* green, Context** out) {
  Context* primary = g_primaries[device].context;
  Context* view = Contexts().New();
  if (view == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  view->device = device;
  view->kind = Context::Kind::kGreenView;
  view->unique_id = g_next_unique++;
  view->root = primary;
  view->green = green;
  view->flags = primary->flags;
  SetDefaults(view);
  {
    std::lock_guard<std::mutex> lock(TheProcess().queue.mutex());
    primary->views.push_back(view);
  }
  view->usable.store(true, std::memory_order_release);  // pairs with ContextStatus
  *out = view;
  return CUDA_SUCCESS;
}

CUresult CloseContext(Context* context) {
  context->usable.store(false, std::memory_order_release);
  const CUresult result = WaitForContext(context);
  if (result == CUDA_ERROR_DEVICE_UNAVAILABLE) return result;
  if (context->kind == Context::Kind::kGreenView) {
    // cuda.h: the streams are not destroyed; their handles answer CONTEXT_IS_DESTROYED.
    if (Stream* legacy = context->legacy) DropStream(legacy);
    return CUDA_SUCCESS;
  }
  DropStreamsOf(context);
  for (Context* view : context->views) {
    view->usable.store(false, std::memory_order_release);
    DropStreamsOf(view);
  }
  DropModulesOf(context);
  ++context->generation;  // its events and graph nodes die
  Memory().FreeAllOf(context);
  if (context->kind == Context::Kind::kExplicit)
    return Tell(CommandKind::kContextDestroy, *context);
  std::lock_guard<std::mutex> lock(TheProcess().queue.mutex());
  context->views.clear();
  context->sticky = 0;
  return CUDA_SUCCESS;
}

CUresult RetainPrimary(CUdevice device, Context** context) {
  Primary& primary = g_primaries[device];
  if (primary.context == nullptr) {
    if (CUresult result =
            NewContext(device, Context::Kind::kPrimary, primary.flags, 0, &primary.context)) {
      return result;
    }
  } else if (primary.count == 0) {
    SetDefaults(primary.context);
    primary.context->flags = primary.flags;
    primary.context->usable.store(true, std::memory_order_release);  // pairs with ContextStatus
  }
  ++primary.count;
  *context = primary.context;
  return CUDA_SUCCESS;
}

CUresult ReleasePrimary(CUdevice device) {
  Primary& primary = g_primaries[device];
  if (primary.count == 0) return CUDA_ERROR_INVALID_CONTEXT;
  return --primary.count == 0 ? CloseContext(primary.context) : CUDA_SUCCESS;
}

}  // namespace sgprs::simgpu::driver

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

SIM_API CUresult cuDevicePrimaryCtxRetain(CUcontext* pctx, CUdevice dev) {
  if (CUresult status = EnterWithDevice(dev)) return status;
  if (pctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard<std::mutex> lock(ObjectMutex());
  Context* context;
  if (CUresult result = RetainPrimary(dev, &context)) return result;
  *pctx = reinterpret_cast<CUcontext>(context);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev) {
  if (CUresult status = EnterWithDevice(dev)) return status;
  std::lock_guard<std::mutex> lock(ObjectMutex());
  return ReleasePrimary(dev);
}

SIM_API CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev) {
  if (CUresult status = EnterWithDevice(dev)) return status;
  std::lock_guard<std::mutex> lock(ObjectMutex());
  Primary& primary = g_primaries[dev];
  if (primary.count == 0) return CUDA_SUCCESS;
  // Torn down; it is active again, and empty, for those who still hold it.
  if (CUresult result = CloseContext(primary.context)) return result;
  SetDefaults(primary.context);
  primary.context->usable.store(true, std::memory_order_release);  // pairs with ContextStatus
  return CUDA_SUCCESS;
}

SIM_API CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags) {
  if (CUresult status = EnterWithDevice(dev)) return status;
  if (!ContextFlagsValid(flags)) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard<std::mutex> lock(ObjectMutex());
  Primary& primary = g_primaries[dev];
  primary.flags = flags;
  if (primary.context != nullptr) primary.context->flags = flags;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int* flags, int* active) {
  if (CUresult status = EnterWithDevice(dev)) return status;
  if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard<std::mutex> lock(ObjectMutex());
  *flags = g_primaries[dev].flags;
  *active = g_primaries[dev].count > 0 ? 1 : 0;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuDevicePrimaryCtxRelease(CUdevice dev) {
  return cuDevicePrimaryCtxRelease_v2(dev);
}
SIM_API CUresult cuDevicePrimaryCtxReset(CUdevice dev) { return cuDevicePrimaryCtxReset_v2(dev); }
SIM_API CUresult cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags) {
  return cuDevicePrimaryCtxSetFlags_v2(dev, flags);
}
