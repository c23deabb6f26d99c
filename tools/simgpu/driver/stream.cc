// SPDX-License-Identifier: Apache-2.0
// cuStream*.
#include "tools/simgpu/driver/capture.h"
#include "tools/simgpu/driver/enqueue.h"
#include "tools/simgpu/driver/objects.h"
#include "tools/simgpu/driver/process.h"

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

namespace {

CUresult Create(CUstream* out, unsigned int flags, int priority) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  if (out == nullptr || (flags & ~static_cast<unsigned int>(CU_STREAM_NON_BLOCKING)) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Stream* stream;
  if (CUresult result = MakeStream(context, flags, priority, &stream)) return result;
  *out = reinterpret_cast<CUstream>(stream);
  return CUDA_SUCCESS;
}

// What a wait for the stream waits for: its work, and for the default stream that of every stream
// that orders itself with it.
std::vector<uint64_t> WorkOf(Stream* stream) {
  std::vector<uint64_t> work;
  std::lock_guard<std::mutex> lock(TheProcess().queue.mutex());
  work.push_back(stream->last);
  if (!stream->legacy) return work;
  for (const Stream* other : stream->view->streams) {
    if (other->blocking()) work.push_back(other->last);
  }
  for (const Context::Orphan& orphan : stream->view->orphans) {
    if (orphan.blocking) work.push_back(orphan.last);
  }
  return work;
}

CUresult EnterWithRealStream(CUstream handle, Stream** stream) {
  if (handle == nullptr || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  return EnterWithStream(handle, stream);
}

}  // namespace

SIM_API CUresult cuStreamCreate(CUstream* phStream, unsigned int Flags) {
  return Create(phStream, Flags, 0);
}
SIM_API CUresult cuStreamCreateWithPriority(CUstream* phStream, unsigned int flags, int priority) {
  return Create(phStream, flags, priority);
}

SIM_API CUresult cuStreamDestroy_v2(CUstream hStream) {
  Stream* stream;
  if (CUresult status = Enter()) return status;
  if (CUresult bad = EnterWithRealStream(hStream, &stream)) return bad;
  if (CaptureActive()) {
    if (CUresult refused = RefuseOnStream(stream)) return refused;
  }
  DropStream(stream);
  return CUDA_SUCCESS;
}
SIM_API CUresult cuStreamDestroy(CUstream hStream) { return cuStreamDestroy_v2(hStream); }

SIM_API CUresult cuStreamQuery(CUstream hStream) {
  Stream* stream;
  if (CUresult status = EnterWithStream(hStream, &stream)) return status;
  if (CaptureActive()) {
    if (CUresult refused = RefuseOnStream(stream)) return refused;
  }
  for (uint64_t seq : WorkOf(stream)) {
    if (!TheProcess().queue.Poll(seq)) return CUDA_ERROR_NOT_READY;
  }
  return ContextStatus(stream->view);
}

SIM_API CUresult cuStreamSynchronize(CUstream hStream) {
  Stream* stream;
  if (CUresult status = EnterWithStream(hStream, &stream)) return status;
  if (CaptureActive()) {
    if (CUresult refused = RefuseOnStream(stream)) return refused;
  }
  Context* view = stream->view;
  const bool spin = (view->root->flags & CU_CTX_SCHED_BLOCKING_SYNC) == 0;
  for (uint64_t seq : WorkOf(stream)) {
    if (CUresult result = TheProcess().queue.Wait(seq, spin)) return result;
  }
  return ContextStatus(view);
}

SIM_API CUresult cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags) {
  Stream* stream;
  if (CUresult status = EnterWithStream(hStream, &stream)) return status;
  if (Flags > CU_EVENT_WAIT_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
  Event* event;
  if (CUresult bad = FindEvent(hEvent, &event)) return bad;
  if (Flags == CU_EVENT_WAIT_EXTERNAL) {
    // cuda.h: for capturing streams only.
    return stream->capture.load() != nullptr ? CaptureExternalEvent(stream, event, false)
                                             : CUDA_ERROR_INVALID_VALUE;
  }
  if (CaptureActive()) {
    bool captured;
    const CUresult result = CaptureWait(stream, event, &captured);
    if (captured || result != CUDA_SUCCESS) return result;
  }
  // relaxed: the command itself orders. Never recorded: nothing to wait for.
  const uint64_t record = event->record.load(std::memory_order_relaxed);
  // On the NULL stream and on blocking ones the wait is an action that orders the two, whatever the
  // event is worth.
  const bool orders = stream->legacy || stream->blocking();
  if (!orders && TheProcess().queue.IsDone(record)) return CUDA_SUCCESS;
  Submission submission(stream);
  submission.WaitFor(record);
  return submission.Publish();
}

SIM_API CUresult cuStreamGetPriority(CUstream hStream, int* priority) {
  Stream* stream;
  if (CUresult status = EnterWithStream(hStream, &stream)) return status;
  if (priority == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *priority = stream->priority;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuStreamGetFlags(CUstream hStream, unsigned int* flags) {
  Stream* stream;
  if (CUresult status = EnterWithStream(hStream, &stream)) return status;
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = stream->flags;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuStreamGetId(CUstream hStream, unsigned long long* streamId) {
  Stream* stream;
  if (CUresult status = EnterWithStream(hStream, &stream)) return status;
  if (streamId == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *streamId = stream->unique_id;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuStreamGetDevice(CUstream hStream, CUdevice* device) {
  Stream* stream;
  if (CUresult status = EnterWithStream(hStream, &stream)) return status;
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = stream->view->device;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuStreamGetCtx(CUstream hStream, CUcontext* pctx) {
  Stream* stream;
  if (CUresult status = EnterWithStream(hStream, &stream)) return status;
  if (pctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  // cuda.h: of a green context's stream, the primary context.
  *pctx = reinterpret_cast<CUcontext>(stream->view->root);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuStreamGetCtx_v2(CUstream hStream, CUcontext* pCtx, CUgreenCtx* pGreenCtx) {
  Stream* stream;
  if (CUresult status = EnterWithStream(hStream, &stream)) return status;
  if (pCtx == nullptr && pGreenCtx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const bool green = stream->view->green != nullptr;
  if (pCtx != nullptr) *pCtx = green ? nullptr : reinterpret_cast<CUcontext>(stream->view);
  if (pGreenCtx != nullptr) *pGreenCtx = reinterpret_cast<CUgreenCtx>(stream->view->green);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuStreamGetGreenCtx(CUstream hStream, CUgreenCtx* phCtx) {
  Stream* stream;
  if (CUresult status = EnterWithStream(hStream, &stream)) return status;
  if (phCtx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *phCtx = reinterpret_cast<CUgreenCtx>(stream->view->green);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuStreamAttachMemAsync(CUstream hStream, CUdeviceptr dptr, size_t,
                                        unsigned int flags) {
  Stream* stream;
  if (CUresult status = EnterWithStream(hStream, &stream)) return status;
  if (dptr == 0 || flags == 0 || flags > CU_MEM_ATTACH_SINGLE) return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;  // managed memory is always visible to everybody here
}
