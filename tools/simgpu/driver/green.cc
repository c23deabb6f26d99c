// SPDX-License-Identifier: Apache-2.0
// Green contexts.
#include <cstring>

#include "tools/simgpu/driver/context_object.h"
#include "tools/simgpu/driver/event_object.h"
#include "tools/simgpu/driver/green_resource.h"
#include "tools/simgpu/driver/objects.h"
#include "tools/simgpu/driver/process.h"
#include "tools/simgpu/driver/visible_devices.h"

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

namespace {

CUresult EnterWithGreen(CUgreenCtx handle, GreenContext** green) {
  if (CUresult status = Enter()) return status;
  *green = handle != nullptr ? Greens().Find(handle) : nullptr;
  if (*green == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return ContextStatus((*green)->view);
}

CUresult EnterWithGreenAndEvent(CUgreenCtx handle, CUevent event_handle, GreenContext** green,
                                Event** event) {
  if (CUresult bad = EnterWithGreen(handle, green)) return bad;
  return FindEvent(event_handle, event);
}

// SMs that a context can use.
void SmsOfContext(const Context& context, uint64_t* sm_set) {
  if (context.green != nullptr) {
    memcpy(sm_set, context.green->sm_set, sizeof(context.green->sm_set));
    return;
  }
  const uint32_t limit = context.root->sm_limit;
  AllSms(limit != 0 ? limit : TheProcess().channel.welcome().sm_count, sm_set);
}

}  // namespace

SIM_API CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource* resource,
                                        CUdevResourceType type) {
  if (CUresult status = EnterWithDevice(device)) return status;
  uint64_t sm_set[sgprs::simgpu::kSmWords];
  AllSms(TheProcess().channel.welcome().sm_count, sm_set);
  return MakeResource(sm_set, type, resource);
}

SIM_API CUresult cuCtxGetDevResource(CUcontext hCtx, CUdevResource* resource,
                                     CUdevResourceType type) {
  if (CUresult status = Enter()) return status;
  Context* context;
  if (CUresult status = FindContext(hCtx, true, &context)) return status;
  uint64_t sm_set[sgprs::simgpu::kSmWords];
  SmsOfContext(*context, sm_set);
  return MakeResource(sm_set, type, resource);
}

SIM_API CUresult cuGreenCtxGetDevResource(CUgreenCtx hCtx, CUdevResource* resource,
                                          CUdevResourceType type) {
  GreenContext* green;
  if (CUresult bad = EnterWithGreen(hCtx, &green)) return bad;
  return MakeResource(green->sm_set, type, resource);
}

SIM_API CUresult cuDevSmResourceSplitByCount(CUdevResource* result, unsigned int* nbGroups,
                                             const CUdevResource* input, CUdevResource* remaining,
                                             unsigned int useFlags, unsigned int minCount) {
  if (CUresult status = Enter()) return status;
  return SplitByCount(result, nbGroups, input, remaining, useFlags, minCount);
}

SIM_API CUresult cuDevResourceGenerateDesc(CUdevResourceDesc* phDesc, CUdevResource* resources,
                                           unsigned int nbResources) {
  if (CUresult status = Enter()) return status;
  return GenerateDesc(phDesc, resources, nbResources);
}

SIM_API CUresult cuGreenCtxCreate(CUgreenCtx* phCtx, CUdevResourceDesc desc, CUdevice dev,
                                  unsigned int flags) {
  if (CUresult status = EnterWithDevice(dev)) return status;
  const ResourceDesc* resources = FindDesc(desc);
  if (phCtx == nullptr || resources == nullptr || flags != CU_GREEN_CTX_DEFAULT_STREAM) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::lock_guard<std::mutex> lock(ObjectMutex());
  Context* primary;
  if (CUresult result = RetainPrimary(dev, &primary)) return result;
  GreenContext* green = Greens().New();
  CUresult result = green != nullptr ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
  if (result == CUDA_SUCCESS) {
    memcpy(green->sm_set, resources->sm_set, sizeof(green->sm_set));
    green->sm_count = CountSms(green->sm_set);
    result = NewGreenView(dev, green, &green->view);
  }
  if (result != CUDA_SUCCESS) {
    ReleasePrimary(dev);
    return result;
  }
  *phCtx = reinterpret_cast<CUgreenCtx>(green);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuGreenCtxDestroy(CUgreenCtx hCtx) {
  GreenContext* green;
  if (CUresult bad = EnterWithGreen(hCtx, &green)) return bad;
  std::lock_guard<std::mutex> lock(ObjectMutex());
  // The slot stays: streams of it live on, and their handles say CONTEXT_IS_DESTROYED.
  if (!Greens().Close(green)) return CUDA_ERROR_INVALID_CONTEXT;
  if (CUresult result = CloseContext(green->view)) return result;
  return ReleasePrimary(green->view->device);
}

SIM_API CUresult cuCtxFromGreenCtx(CUcontext* pContext, CUgreenCtx hCtx) {
  GreenContext* green;
  if (CUresult bad = EnterWithGreen(hCtx, &green)) return bad;
  if (pContext == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pContext = reinterpret_cast<CUcontext>(green->view);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuGreenCtxStreamCreate(CUstream* phStream, CUgreenCtx greenCtx, unsigned int flags,
                                        int priority) {
  GreenContext* green;
  if (CUresult bad = EnterWithGreen(greenCtx, &green)) return bad;
  if (phStream == nullptr || flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  Stream* stream;
  if (CUresult result = MakeStream(green->view, flags, priority, &stream)) return result;
  *phStream = reinterpret_cast<CUstream>(stream);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuGreenCtxRecordEvent(CUgreenCtx hCtx, CUevent hEvent) {
  GreenContext* green;
  Event* event;
  if (CUresult bad = EnterWithGreenAndEvent(hCtx, hEvent, &green, &event)) return bad;
  return RecordContextEvent(event, green->view);
}

SIM_API CUresult cuGreenCtxWaitEvent(CUgreenCtx hCtx, CUevent hEvent) {
  GreenContext* green;
  Event* event;
  if (CUresult bad = EnterWithGreenAndEvent(hCtx, hEvent, &green, &event)) return bad;
  return WaitContextEvent(green->view, event);
}

SIM_API CUresult cuGreenCtxGetId(CUgreenCtx greenCtx, unsigned long long* greenCtxId) {
  if (CUresult status = Enter()) return status;
  if (greenCtxId == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (greenCtx == nullptr) {
    Context* context;
    if (CUresult status = CurrentContext(&context)) return status;
    if (context->green == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    *greenCtxId = context->unique_id;
    return CUDA_SUCCESS;
  }
  GreenContext* green;
  if (CUresult bad = EnterWithGreen(greenCtx, &green)) return bad;
  *greenCtxId = green->view->unique_id;
  return CUDA_SUCCESS;
}
