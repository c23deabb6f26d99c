// SPDX-License-Identifier: Apache-2.0
// cuEvent*, and events of whole contexts.
#include "tools/simgpu/driver/capture.h"
#include "tools/simgpu/driver/enqueue.h"
#include "tools/simgpu/driver/event_object.h"
#include "tools/simgpu/driver/objects.h"
#include "tools/simgpu/driver/process.h"

namespace sgprs::simgpu::driver {

CUresult RecordEvent(Event* event, Stream* stream) {
  // The event's own lock: none. The record's number and the reference are set under the queue's.
  return Enqueue(stream, CommandKind::kEventRecord, OpKind::kEvent, [&](Op& op, Command& command) {
    op.event = event;
    // relaxed: seen by others through the program's own order of calls, or not at all.
    event->references.fetch_add(1, std::memory_order_relaxed);
    event->record.store(command.seq, std::memory_order_relaxed);
  });
}

CUresult RecordOrCapture(Event* event, Stream* stream) {
  if (!CaptureActive()) return RecordEvent(event, stream);
  bool captured;
  const CUresult result = CaptureRecord(stream, event, &captured);
  return captured || result != CUDA_SUCCESS ? result : RecordEvent(event, stream);
}

CUresult RecordContextEvent(Event* event, Context* view) {
  if (event->root != view->root) return CUDA_ERROR_INVALID_HANDLE;
  if (CaptureActive()) {
    if (CUresult refused = RefuseOnContext(view)) return refused;
  }
  Stream* stream;  // of its own: waits for all, holds up nobody
  if (CUresult result = MakeStream(view, CU_STREAM_NON_BLOCKING, 0, &stream)) return result;
  const std::vector<uint64_t> work = LastCommands(view);
  {
    Submission submission(stream);
    for (uint64_t seq : work) submission.WaitFor(seq);
  }
  const CUresult result = RecordEvent(event, stream);
  DropStream(stream);
  return result;
}

CUresult WaitContextEvent(Context* view, Event* event) {
  if (CaptureActive()) {
    if (CUresult refused = RefuseOnContext(view)) return refused;
    if (CUresult refused = RefuseOnEvent(event)) return refused;
  }
  // relaxed: the commands themselves order.
  const uint64_t record = event->record.load(std::memory_order_relaxed);
  Queue& queue = TheProcess().queue;
  if (queue.IsDone(record)) return CUDA_SUCCESS;
  std::vector<Stream*> streams;
  {
    std::lock_guard<std::mutex> lock(queue.mutex());
    std::vector<Context*> views = view->views;
    views.push_back(view);
    for (Context* one : views) {
      std::erase_if(one->gates, [&](uint64_t gate) { return queue.IsDone(gate); });
      one->gates.push_back(record);
      streams.insert(streams.end(), one->streams.begin(), one->streams.end());
      if (Stream* legacy = one->legacy) streams.push_back(legacy);
    }
  }
  for (Stream* stream : streams) {
    Submission submission(stream);
    submission.WaitFor(record);
    if (CUresult result = submission.Publish()) return result;
  }
  return CUDA_SUCCESS;
}

}  // namespace sgprs::simgpu::driver

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

namespace {

CUresult EnterWithEvent(CUevent handle, Event** event) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  if (CUresult bad = FindEvent(handle, event)) return bad;
  return ContextStatus((*event)->root);
}

CUresult Record(CUevent handle, CUstream stream_handle, bool external) {
  Stream* stream;
  if (CUresult status = EnterWithStream(stream_handle, &stream)) return status;
  Event* event;
  if (CUresult bad = FindEvent(handle, &event)) return bad;
  if (event->root != stream->view->root) return CUDA_ERROR_INVALID_HANDLE;
  if (external) {
    return stream->capture.load() != nullptr ? CaptureExternalEvent(stream, event, true)
                                             : CUDA_ERROR_INVALID_VALUE;
  }
  return RecordOrCapture(event, stream);
}

CUresult Elapsed(float* milliseconds, CUevent start_handle, CUevent end_handle) {
  Event* start;
  Event* end;
  if (CUresult bad = EnterWithEvent(start_handle, &start)) return bad;
  if (CUresult bad = EnterWithEvent(end_handle, &end)) return bad;
  if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (start->root != end->root) return CUDA_ERROR_INVALID_HANDLE;
  if (((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) != 0) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  const uint64_t records[2] = {start->record.load(), end->record.load()};
  if (records[0] == 0 || records[1] == 0) return CUDA_ERROR_INVALID_HANDLE;
  for (uint64_t record : records) {
    if (!TheProcess().queue.Poll(record)) return CUDA_ERROR_NOT_READY;
  }
  const auto ns = static_cast<int64_t>(end->stamp_ns.load() - start->stamp_ns.load());
  *milliseconds = static_cast<float>(static_cast<double>(ns) / 1e6);
  return CUDA_SUCCESS;
}

}  // namespace

SIM_API CUresult cuEventCreate(CUevent* phEvent, unsigned int Flags) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  constexpr unsigned int kKnown =
      CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
  if (phEvent == nullptr || (Flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  if ((Flags & CU_EVENT_INTERPROCESS) != 0 && (Flags & CU_EVENT_DISABLE_TIMING) == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Event* event = Events().New();
  if (event == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  event->root = context->root;
  event->generation = context->root->generation.load();
  event->flags = Flags;
  *phEvent = reinterpret_cast<CUevent>(event);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuEventDestroy_v2(CUevent hEvent) {
  Event* event;
  if (CUresult bad = EnterWithEvent(hEvent, &event)) return bad;
  if (!Events().Close(event)) return CUDA_ERROR_INVALID_HANDLE;
  ReleaseEvent(event);
  return CUDA_SUCCESS;
}
SIM_API CUresult cuEventDestroy(CUevent hEvent) { return cuEventDestroy_v2(hEvent); }

SIM_API CUresult cuEventRecord(CUevent hEvent, CUstream hStream) {
  return Record(hEvent, hStream, false);
}
SIM_API CUresult cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags) {
  if (CUresult status = Enter()) return status;
  if (flags > CU_EVENT_RECORD_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
  // cuda.h: external records are for capturing streams only.
  const bool external = flags == CU_EVENT_RECORD_EXTERNAL;
  if (external && !CaptureActive()) return CUDA_ERROR_INVALID_VALUE;
  return Record(hEvent, hStream, external);
}

SIM_API CUresult cuEventQuery(CUevent hEvent) {
  Event* event;
  if (CUresult bad = EnterWithEvent(hEvent, &event)) return bad;
  if (CaptureActive()) {
    if (CUresult refused = RefuseOnEvent(event)) return refused;
    if (CUresult refused = RefuseUnsafe()) return refused;  // as programs have found out
  }
  if (!TheProcess().queue.IsDone(event->record.load())) return CUDA_ERROR_NOT_READY;
  return ContextStatus(event->root);
}

SIM_API CUresult cuEventSynchronize(CUevent hEvent) {
  Event* event;
  if (CUresult bad = EnterWithEvent(hEvent, &event)) return bad;
  if (CaptureActive()) {
    if (CUresult refused = RefuseOnEvent(event)) return refused;
  }
  Context* root = event->root;
  const bool spin = (event->flags & CU_EVENT_BLOCKING_SYNC) == 0;
  if (CUresult result = TheProcess().queue.Wait(event->record.load(), spin)) return result;
  return ContextStatus(root);
}

SIM_API CUresult cuEventElapsedTime(float* pMilliseconds, CUevent hStart, CUevent hEnd) {
  return Elapsed(pMilliseconds, hStart, hEnd);
}
SIM_API CUresult cuEventElapsedTime_v2(float* pMilliseconds, CUevent hStart, CUevent hEnd) {
  return Elapsed(pMilliseconds, hStart, hEnd);
}

SIM_API CUresult cuCtxRecordEvent(CUcontext hCtx, CUevent hEvent) {
  if (CUresult status = Enter()) return status;
  Context* context;
  if (CUresult status = FindContext(hCtx, true, &context)) return status;
  Event* event;
  if (CUresult bad = FindEvent(hEvent, &event)) return bad;
  return RecordContextEvent(event, context);
}
SIM_API CUresult cuCtxWaitEvent(CUcontext hCtx, CUevent hEvent) {
  if (CUresult status = Enter()) return status;
  Context* context;
  if (CUresult status = FindContext(hCtx, true, &context)) return status;
  Event* event;
  if (CUresult bad = FindEvent(hEvent, &event)) return bad;
  return WaitContextEvent(context, event);
}
