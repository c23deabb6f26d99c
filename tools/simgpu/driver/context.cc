// SPDX-License-Identifier: Apache-2.0
// cuCtx*: explicit contexts, the stack, and what a context says of itself.
#include <algorithm>
#include <cstring>

#include "tools/simgpu/driver/capture.h"
#include "tools/simgpu/driver/context_object.h"
#include "tools/simgpu/driver/objects.h"
#include "tools/simgpu/driver/process.h"
#include "tools/simgpu/driver/thread_state.h"
#include "tools/simgpu/driver/visible_devices.h"

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

namespace {

CUcontext Handle(Context* context) { return reinterpret_cast<CUcontext>(context); }

CUresult Create(CUcontext* out, unsigned int flags, CUdevice dev, uint32_t sm_limit,
                unsigned int api_version) {
  if (CUresult status = EnterWithDevice(dev)) return status;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!ContextFlagsValid(flags)) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard<std::mutex> lock(ObjectMutex());
  Context* context;
  if (CUresult result = NewContext(dev, Context::Kind::kExplicit, flags, sm_limit, &context)) {
    return result;
  }
  context->api_version = api_version;
  ThisThread()->stack.push_back(context);
  *out = Handle(context);
  return CUDA_SUCCESS;
}

CUresult CreateWithAffinity(CUcontext* out, const CUexecAffinityParam* params, int count,
                            unsigned int flags, CUdevice dev) {
  if (CUresult status = Enter()) return status;
  if (count < 0 || (count > 0 && params == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  if (count == 0) return Create(out, flags, dev, 0, 3020);
  if (count > 1) return CUDA_ERROR_INVALID_VALUE;
  if (params[0].type != CU_EXEC_AFFINITY_TYPE_SM_COUNT) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
  if (TheProcess().channel.welcome().mps == 0) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
  const unsigned int asked = params[0].param.smCount.val;
  if (asked == 0) return CUDA_ERROR_INVALID_VALUE;
  return Create(out, flags, dev, RoundSmLimit(asked), 3020);
}

// The handle as a context that may be made current: usable, or the primary one being inactive is
// refused as the driver does.
CUresult Bindable(CUcontext handle, Context** context) {
  *context = Contexts().Find(handle);
  if (*context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return (*context)->usable.load() ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

}  // namespace

SIM_API CUresult cuCtxCreate(CUcontext* pctx, unsigned int flags, CUdevice dev) {
  return Create(pctx, flags, dev, 0, 3010);
}
SIM_API CUresult cuCtxCreate_v2(CUcontext* pctx, unsigned int flags, CUdevice dev) {
  return Create(pctx, flags, dev, 0, 3020);
}
SIM_API CUresult cuCtxCreate_v3(CUcontext* pctx, CUexecAffinityParam* paramsArray, int numParams,
                                unsigned int flags, CUdevice dev) {
  return CreateWithAffinity(pctx, paramsArray, numParams, flags, dev);
}
SIM_API CUresult cuCtxCreate_v4(CUcontext* pctx, CUctxCreateParams* ctxCreateParams,
                                unsigned int flags, CUdevice dev) {
  if (ctxCreateParams == nullptr) return Create(pctx, flags, dev, 0, 3020);
  if (CUresult status = Enter()) return status;
  if (ctxCreateParams->cigParams != nullptr) {
    return ctxCreateParams->execAffinityParams != nullptr ? CUDA_ERROR_INVALID_VALUE
                                                          : CUDA_ERROR_NOT_SUPPORTED;
  }
  if (ctxCreateParams->execAffinityParams == nullptr) return Create(pctx, flags, dev, 0, 3020);
  return CreateWithAffinity(pctx, ctxCreateParams->execAffinityParams,
                            ctxCreateParams->numExecAffinityParams, flags, dev);
}

SIM_API CUresult cuCtxDestroy_v2(CUcontext ctx) {
  if (CUresult status = Enter()) return status;
  std::lock_guard<std::mutex> lock(ObjectMutex());
  Context* context = Contexts().Find(ctx);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  // The primary context and green ones have their own ends.
  if (context->kind != Context::Kind::kExplicit) return CUDA_ERROR_INVALID_CONTEXT;
  if (!context->usable.load()) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  ThreadState* thread = ThisThread();
  if (!thread->stack.empty() && thread->stack.back() == context) thread->stack.pop_back();
  return CloseContext(context);
}
// Deprecated: one more, one less use of the current context, which ends with the last.
SIM_API CUresult cuCtxAttach(CUcontext* pctx, unsigned int flags) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  if (pctx == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard<std::mutex> lock(ObjectMutex());
  ++context->attached;
  *pctx = Handle(context);
  return CUDA_SUCCESS;
}
SIM_API CUresult cuCtxDetach(CUcontext ctx) {
  {
    Context* context;
    if (CUresult status = EnterWithContext(&context)) return status;
    if (Handle(context) != ctx) return CUDA_ERROR_INVALID_CONTEXT;
    std::lock_guard<std::mutex> lock(ObjectMutex());
    if (context->attached > 0) return --context->attached, CUDA_SUCCESS;
  }
  return cuCtxDestroy_v2(ctx);
}
SIM_API CUresult cuCtxDestroy(CUcontext ctx) { return cuCtxDestroy_v2(ctx); }

SIM_API CUresult cuCtxPushCurrent_v2(CUcontext ctx) {
  if (CUresult status = Enter()) return status;
  Context* context;
  if (CUresult status = Bindable(ctx, &context)) return status;
  ThisThread()->stack.push_back(context);
  return CUDA_SUCCESS;
}
SIM_API CUresult cuCtxPushCurrent(CUcontext ctx) { return cuCtxPushCurrent_v2(ctx); }

SIM_API CUresult cuCtxPopCurrent_v2(CUcontext* pctx) {
  if (CUresult status = Enter()) return status;
  ThreadState* thread = ThisThread();
  if (thread->stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (pctx != nullptr) *pctx = Handle(thread->stack.back());
  thread->stack.pop_back();
  return CUDA_SUCCESS;
}
SIM_API CUresult cuCtxPopCurrent(CUcontext* pctx) { return cuCtxPopCurrent_v2(pctx); }

SIM_API CUresult cuCtxSetCurrent(CUcontext ctx) {
  if (CUresult status = Enter()) return status;
  ThreadState* thread = ThisThread();
  if (ctx == nullptr) {  // pops, as cuda.h says
    if (!thread->stack.empty()) thread->stack.pop_back();
    return CUDA_SUCCESS;
  }
  Context* context;
  if (CUresult status = Bindable(ctx, &context)) return status;
  if (thread->stack.empty()) {
    thread->stack.push_back(context);
  } else {
    thread->stack.back() = context;
  }
  return CUDA_SUCCESS;
}

SIM_API CUresult cuCtxGetCurrent(CUcontext* pctx) {
  if (CUresult status = Enter()) return status;
  if (pctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const ThreadState* thread = ThisThreadOrNull();
  *pctx = thread == nullptr || thread->stack.empty() ? nullptr : Handle(thread->stack.back());
  return CUDA_SUCCESS;
}

SIM_API CUresult cuCtxGetDevice(CUdevice* device) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = context->device;
  return CUDA_SUCCESS;
}
SIM_API CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext ctx) {
  if (CUresult status = Enter()) return status;
  Context* context;
  if (CUresult status = FindContext(ctx, true, &context)) return status;
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = context->device;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuCtxGetFlags(unsigned int* flags) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = context->flags;
  return CUDA_SUCCESS;
}
SIM_API CUresult cuCtxSetFlags(unsigned int flags) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  if (!ContextFlagsValid(flags)) return CUDA_ERROR_INVALID_VALUE;
  context->flags = flags;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuCtxGetId(CUcontext ctx, unsigned long long* ctxId) {
  if (CUresult status = Enter()) return status;
  if (ctxId == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Context* context;
  if (CUresult status = FindContext(ctx, true, &context)) return status;
  *ctxId = context->unique_id;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuCtxSynchronize(void) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  if (CaptureActive()) {
    if (CUresult refused = RefuseOnContext(context)) return refused;
  }
  return WaitForContext(context);
}
SIM_API CUresult cuCtxSynchronize_v2(CUcontext ctx) {
  if (CUresult status = Enter()) return status;
  Context* context;
  if (CUresult status = FindContext(ctx, true, &context)) return status;
  if (CaptureActive()) {
    if (CUresult refused = RefuseOnContext(context)) return refused;
  }
  return WaitForContext(context);
}

SIM_API CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  if (limit < 0 || limit >= CU_LIMIT_MAX) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  if (limit == CU_LIMIT_SHMEM_SIZE || limit >= CU_LIMIT_CIG_ENABLED) {
    return CUDA_ERROR_UNSUPPORTED_LIMIT;
  }
  if (limit == CU_LIMIT_MAX_L2_FETCH_GRANULARITY && value > 128) return CUDA_ERROR_INVALID_VALUE;
  context->limits[limit] = value;
  return CUDA_SUCCESS;
}
SIM_API CUresult cuCtxGetLimit(size_t* pvalue, CUlimit limit) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  if (pvalue == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (limit < 0 || limit >= CU_LIMIT_MAX) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  *pvalue = context->limits[limit];
  return CUDA_SUCCESS;
}

SIM_API CUresult cuCtxGetCacheConfig(CUfunc_cache* pconfig) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  if (pconfig == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pconfig = context->cache;
  return CUDA_SUCCESS;
}
SIM_API CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  if (config > CU_FUNC_CACHE_PREFER_EQUAL) return CUDA_ERROR_INVALID_VALUE;
  context->cache = config;
  return CUDA_SUCCESS;
}
SIM_API CUresult cuCtxGetSharedMemConfig(CUsharedconfig* pConfig) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  if (pConfig == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pConfig = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
  return CUDA_SUCCESS;
}
SIM_API CUresult cuCtxSetSharedMemConfig(CUsharedconfig config) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  return config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE ? CUDA_SUCCESS
                                                             : CUDA_ERROR_INVALID_VALUE;
}

SIM_API CUresult cuCtxGetApiVersion(CUcontext ctx, unsigned int* version) {
  if (CUresult status = Enter()) return status;
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Context* context;
  if (CUresult status = FindContext(ctx, true, &context)) return status;
  *version = context->api_version;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuCtxGetStreamPriorityRange(int* leastPriority, int* greatestPriority) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  const auto& welcome = TheProcess().channel.welcome();
  if (leastPriority != nullptr) *leastPriority = welcome.priority_least;
  if (greatestPriority != nullptr) *greatestPriority = welcome.priority_greatest;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuCtxResetPersistingL2Cache(void) {
  Context* context;
  return EnterWithContext(&context);
}

SIM_API CUresult cuCtxGetExecAffinity(CUexecAffinityParam* pExecAffinity, CUexecAffinityType type) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  if (pExecAffinity == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto& welcome = TheProcess().channel.welcome();
  if (type != CU_EXEC_AFFINITY_TYPE_SM_COUNT || welcome.mps == 0) {
    return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
  }
  memset(pExecAffinity, 0, sizeof(*pExecAffinity));
  pExecAffinity->type = type;
  const uint32_t limit = context->root->sm_limit;
  pExecAffinity->param.smCount.val = limit != 0 ? limit : welcome.sm_count;
  return CUDA_SUCCESS;
}
