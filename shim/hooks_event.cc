// SPDX-License-Identifier: Apache-2.0
// Events. The application's event stays the driver's; its record and the waits on it are recorded
// in program order, so a wait always meets the record that it met without us.
#include "shim/hooks.h"
#include "shim/interpose/interpose.h"
#include "shim/record/recorder.h"

namespace sgprs::shim {
namespace {

bool TryEvent(EntryKind kind, CUevent event, unsigned flags, CUstream stream, bool per_thread) {
  // What the driver has not made, or shares with other processes, it has to judge at once.
  if (!TheEventTable()->Deferrable(event)) return false;
  // An event of a capture is told to the driver, which refuses most uses of it.
  if (kind == EntryKind::kEventWait && TheEventTable()->CaptureOf(event) != 0) return false;
  VirtualStream* row = RecordableStream(stream, per_thread);
  if (row == nullptr) return false;
  // A record wants an event of the stream's context (facts/cuda.md 3).
  if (kind == EntryKind::kEventRecord && TheEventTable()->ContextOf(event) != row->context) {
    return false;
  }
  uint64_t upto = 0;
  {
    RecordScope scope(row, kind, 0);
    if (!scope) return false;
    scope.entry()->event = {event, flags};
    upto = scope.index() + 1;
    // Before Commit(): whoever learns of the record from this thread finds it noted.
    TheEventTable()->Note(event, upto);
    scope.Commit(0);
  }
  return true;
}

// A destroy is deferred behind the recorded items that use the event; it belongs to no stream.
bool TryDestroy(CUevent event) {
  if (event == nullptr || !Recording() || IsIssued(TheEventTable()->Upto(event))) return false;
  RecordScope scope(nullptr, EntryKind::kEventDestroy, 0);
  if (!scope) return false;
  TheEventTable()->Gone(event);
  scope.entry()->event = {event, 0};
  scope.Commit(0);
  return true;
}

}  // namespace
}  // namespace sgprs::shim

using namespace sgprs::shim;  // NOLINT(google-build-using-namespace): hooks are outside it

#define SGPRS_RECORD_HOOK(symbol, per_thread)                              \
  extern "C" CUresult Hook_##symbol(CUevent event, CUstream stream) {      \
    if (Captured(stream, per_thread)) {                                    \
      RecordInCapture(event, stream, per_thread);                          \
      return SGPRS_REAL(symbol)(event, stream);                            \
    }                                                                      \
    if (TryEvent(EntryKind::kEventRecord, event, 0, stream, per_thread)) { \
      return CUDA_SUCCESS;                                                 \
    }                                                                      \
    BeforeDirect();                                                        \
    return SGPRS_REAL(symbol)(event, stream);                              \
  }
SGPRS_RECORD_HOOK(cuEventRecord, false)
SGPRS_RECORD_HOOK(cuEventRecord_ptsz, true)

// CU_EVENT_RECORD_EXTERNAL makes a node that records the event whenever the graph runs: the event
// is of no capture then.
#define SGPRS_RECORD_FLAGS_HOOK(symbol, per_thread)                                      \
  extern "C" CUresult Hook_##symbol(CUevent event, CUstream stream, unsigned flags) {    \
    if (Captured(stream, per_thread)) {                                                  \
      if (flags == 0) RecordInCapture(event, stream, per_thread);                        \
      return SGPRS_REAL(symbol)(event, stream, flags);                                   \
    }                                                                                    \
    if (flags == 0 && TryEvent(EntryKind::kEventRecord, event, 0, stream, per_thread)) { \
      return CUDA_SUCCESS;                                                               \
    }                                                                                    \
    BeforeDirect();                                                                      \
    return SGPRS_REAL(symbol)(event, stream, flags);                                     \
  }
SGPRS_RECORD_FLAGS_HOOK(cuEventRecordWithFlags, false)
SGPRS_RECORD_FLAGS_HOOK(cuEventRecordWithFlags_ptsz, true)

namespace {
struct WaitCall {
  CUstream stream;
  CUevent event;
  unsigned flags;
};
}  // namespace

#define SGPRS_WAIT_HOOK(symbol, per_thread)                                            \
  extern "C" CUresult Hook_##symbol(CUstream stream, CUevent event, unsigned flags) {  \
    if (IsCapturedWait(stream, event, per_thread)) {                                   \
      WaitCall call = {stream, event, flags};                                          \
      const auto wait = [](void* data) {                                               \
        const auto* c = static_cast<WaitCall*>(data);                                  \
        return SGPRS_REAL(symbol)(c->stream, c->event, c->flags);                      \
      };                                                                               \
      return WaitInCapture(stream, event, per_thread, wait, &call);                    \
    }                                                                                  \
    if (flags == 0 && TryEvent(EntryKind::kEventWait, event, 0, stream, per_thread)) { \
      return CUDA_SUCCESS;                                                             \
    }                                                                                  \
    BeforeDirect();                                                                    \
    return SGPRS_REAL(symbol)(stream, event, flags);                                   \
  }
SGPRS_WAIT_HOOK(cuStreamWaitEvent, false)
SGPRS_WAIT_HOOK(cuStreamWaitEvent_ptsz, true)

extern "C" CUresult Hook_cuEventCreate(CUevent* event, unsigned flags) {
  const CUresult result = SGPRS_REAL(cuEventCreate)(event, flags);
  CUcontext context = nullptr;
  if (result == CUDA_SUCCESS && SGPRS_REAL(cuCtxGetCurrent)(&context) == CUDA_SUCCESS) {
    TheEventTable()->Made(*event, context);
    if ((flags & CU_EVENT_INTERPROCESS) != 0) TheEventTable()->NeverDefer(*event);
  }
  return result;
}

extern "C" CUresult Hook_cuEventQuery(CUevent event) {
  CloseDirect();
  if (!IsIssued(TheEventTable()->Upto(event))) return CUDA_ERROR_NOT_READY;
  const CUresult result = SGPRS_REAL(cuEventQuery)(event);
  if (result == CUDA_SUCCESS) NoteBlockingCallEnd(TheSession());
  return WithDeferredError(result);
}

extern "C" CUresult Hook_cuEventSynchronize(CUevent event) {
  CloseDirect();
  Session* s = TheSession();
  const uint64_t upto = TheEventTable()->Upto(event);
  NoteBlockingCall(s, upto);
  WaitIssued(s, upto);
  const CUresult result = SGPRS_REAL(cuEventSynchronize)(event);
  NoteBlockingCallEnd(s);
  return WithDeferredError(result);
}

#define SGPRS_ELAPSED_HOOK(symbol)                                                          \
  extern "C" CUresult Hook_##symbol(float* ms, CUevent start, CUevent end) {                \
    if (!IsIssued(TheEventTable()->Upto(start)) || !IsIssued(TheEventTable()->Upto(end))) { \
      return CUDA_ERROR_NOT_READY;                                                          \
    }                                                                                       \
    return SGPRS_REAL(symbol)(ms, start, end);                                              \
  }
SGPRS_ELAPSED_HOOK(cuEventElapsedTime)
SGPRS_ELAPSED_HOOK(cuEventElapsedTime_v2)

#define SGPRS_EVENT_DESTROY_HOOK(symbol)                    \
  extern "C" CUresult Hook_##symbol(CUevent event) {        \
    if (TryDestroy(event)) return CUDA_SUCCESS;             \
    WaitIssued(TheSession(), TheEventTable()->Upto(event)); \
    TheEventTable()->Gone(event);                           \
    return SGPRS_REAL(symbol)(event);                       \
  }
SGPRS_EVENT_DESTROY_HOOK(cuEventDestroy)
SGPRS_EVENT_DESTROY_HOOK(cuEventDestroy_v2)
