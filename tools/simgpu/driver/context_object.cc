// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/driver/context_object.h"

#include <algorithm>

#include "tools/simgpu/driver/memory_table.h"
#include "tools/simgpu/driver/module.h"
#include "tools/simgpu/driver/process.h"

namespace sgprs::simgpu::driver {
namespace {

uint32_t g_next_context = kMaxDevices + 1;  // under ObjectMutex()
uint64_t g_next_unique = 1;                     // under ObjectMutex()
Context* g_primary = nullptr;                   // under ObjectMutex()
int g_primary_count = 0;                        // under ObjectMutex()
unsigned int g_primary_flags = 0;               // under ObjectMutex()

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

CUresult NewContext(Context::Kind kind, unsigned int flags, uint32_t sm_limit, Context** out) {
  if (CUresult result = TheProcess().executor.EnsureStarted()) return result;
  Context* context = Contexts().New();
  if (context == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  context->kind = kind;
  context->id = kind == Context::Kind::kPrimary ? kPrimaryContext : g_next_context++;
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

CUresult NewGreenView(GreenContext* green, Context** out) {
  Context* view = Contexts().New();
  if (view == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  view->kind = Context::Kind::kGreenView;
  view->unique_id = g_next_unique++;
  view->root = g_primary;
  view->green = green;
  view->flags = g_primary->flags;
  SetDefaults(view);
  {
    std::lock_guard<std::mutex> lock(TheProcess().queue.mutex());
    g_primary->views.push_back(view);
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
  Memory().FreeAllOf(context);
  if (context->kind == Context::Kind::kExplicit)
    return Tell(CommandKind::kContextDestroy, *context);
  std::lock_guard<std::mutex> lock(TheProcess().queue.mutex());
  context->views.clear();
  context->sticky = 0;
  return CUDA_SUCCESS;
}

Context* PrimaryContext() {
  std::lock_guard<std::mutex> lock(ObjectMutex());
  return g_primary;
}

CUresult RetainPrimaryLocked(Context** context) {
  if (g_primary == nullptr) {
    if (CUresult result = NewContext(Context::Kind::kPrimary, g_primary_flags, 0, &g_primary)) {
      return result;
    }
  } else if (g_primary_count == 0) {
    SetDefaults(g_primary);
    g_primary->flags = g_primary_flags;
    g_primary->usable.store(true, std::memory_order_release);  // pairs with ContextStatus
  }
  ++g_primary_count;
  *context = g_primary;
  return CUDA_SUCCESS;
}

CUresult ReleasePrimaryLocked() {
  if (g_primary_count == 0) return CUDA_ERROR_INVALID_CONTEXT;
  return --g_primary_count == 0 ? CloseContext(g_primary) : CUDA_SUCCESS;
}

}  // namespace sgprs::simgpu::driver

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

SIM_API CUresult cuDevicePrimaryCtxRetain(CUcontext* pctx, CUdevice dev) {
  if (CUresult status = Enter()) return status;
  if (dev != 0) return CUDA_ERROR_INVALID_DEVICE;
  if (pctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard<std::mutex> lock(ObjectMutex());
  Context* context;
  if (CUresult result = RetainPrimaryLocked(&context)) return result;
  *pctx = reinterpret_cast<CUcontext>(context);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev) {
  if (CUresult status = Enter()) return status;
  if (dev != 0) return CUDA_ERROR_INVALID_DEVICE;
  std::lock_guard<std::mutex> lock(ObjectMutex());
  return ReleasePrimaryLocked();
}

SIM_API CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev) {
  if (CUresult status = Enter()) return status;
  if (dev != 0) return CUDA_ERROR_INVALID_DEVICE;
  std::lock_guard<std::mutex> lock(ObjectMutex());
  if (g_primary_count == 0) return CUDA_SUCCESS;
  // Torn down; it is active again, and empty, for those who still hold it.
  if (CUresult result = CloseContext(g_primary)) return result;
  SetDefaults(g_primary);
  g_primary->usable.store(true, std::memory_order_release);  // pairs with ContextStatus
  return CUDA_SUCCESS;
}

SIM_API CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags) {
  if (CUresult status = Enter()) return status;
  if (dev != 0) return CUDA_ERROR_INVALID_DEVICE;
  if (!ContextFlagsValid(flags)) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard<std::mutex> lock(ObjectMutex());
  g_primary_flags = flags;
  if (g_primary != nullptr) g_primary->flags = flags;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int* flags, int* active) {
  if (CUresult status = Enter()) return status;
  if (dev != 0) return CUDA_ERROR_INVALID_DEVICE;
  if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard<std::mutex> lock(ObjectMutex());
  *flags = g_primary_flags;
  *active = g_primary_count > 0 ? 1 : 0;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuDevicePrimaryCtxRelease(CUdevice dev) {
  return cuDevicePrimaryCtxRelease_v2(dev);
}
SIM_API CUresult cuDevicePrimaryCtxReset(CUdevice dev) { return cuDevicePrimaryCtxReset_v2(dev); }
SIM_API CUresult cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags) {
  return cuDevicePrimaryCtxSetFlags_v2(dev, flags);
}
