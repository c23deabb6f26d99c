// SPDX-License-Identifier: Apache-2.0
// Synchronising with streams and contexts: wait until what the call depends on is issued, then ask
// the driver about the stand-in streams that carry it.
#include <string.h>

#include "shim/graph/context_calls.h"
#include "shim/hooks.h"
#include "shim/interpose/interpose.h"
#include "shim/issue/streams.h"
#include "shim/record/recorder.h"

namespace sgprs::shim {
namespace {

constexpr uint32_t kMostTails = 256;

// The row of `stream`; nullptr: nothing of ours, the call is the driver's as it stands.
VirtualStream* RowOf(CUstream stream, bool per_thread) {
  CloseDirect();
  Session* s = TheSession();
  if (s->mode.load(std::memory_order_relaxed) == Mode::kFlushing) DrainAll(s);
  return Recording() ? FindStream(s, stream, per_thread) : nullptr;
}

uint64_t UptoOf(Session* s, VirtualStream* row) {
  uint64_t upto = row->recorded_upto.load(std::memory_order_acquire);
  if (!row->legacy_null) return upto;
  FutexLock lock(&s->record_lock);
  for (VirtualStream* v = s->streams; v != nullptr; v = v->next) {
    if (!v->blocking) continue;
    const uint64_t other = v->recorded_upto.load(std::memory_order_relaxed);
    if (other > upto) upto = other;
  }
  return upto;
}

// Asks `ask` (synchronise or query) about all stand-ins, then about the application's own stream:
// what is recorded may be on either.
CUresult AskAll(VirtualStream* row, CUresult (*ask)(CUstream)) {
  Session* s = TheSession();
  CUstream tails[kMostTails];
  uint32_t count = TailsOf(s, row, tails, kMostTails);
  if (count > kMostTails) {  // more streams than room: let the driver's NULL stream follow them all
    DrainAll(s);
    count = 0;
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (const CUresult one = ask(tails[i]); one != CUDA_SUCCESS) return one;
  }
  return ask(row->anchor);
}

CUresult Synchronize(VirtualStream* row) {
  Session* s = TheSession();
  const uint64_t upto = UptoOf(s, row);
  NoteBlockingCall(s, upto);
  WaitIssued(s, upto);
  const CUresult result = AskAll(row, SGPRS_REAL(cuStreamSynchronize));
  NoteBlockingCallEnd(s);
  return WithDeferredError(result);
}

CUresult Query(VirtualStream* row) {
  Session* s = TheSession();
  if (!IsIssued(UptoOf(s, row))) return CUDA_ERROR_NOT_READY;
  const CUresult result = AskAll(row, SGPRS_REAL(cuStreamQuery));
  if (result == CUDA_SUCCESS) NoteBlockingCallEnd(s);
  return WithDeferredError(result);
}

void BeforeContextSync() {
  CloseDirect();
  Session* s = TheSession();
  if (!Recording()) return;
  const uint64_t upto = s->recorded.load(std::memory_order_acquire);
  NoteBlockingCall(s, upto);
  DrainAll(s);
}

}  // namespace
}  // namespace sgprs::shim

using namespace sgprs::shim;  // NOLINT(google-build-using-namespace): hooks are outside it

#define SGPRS_SYNC_HOOK(symbol, per_thread)                                      \
  extern "C" CUresult Hook_##symbol(CUstream stream) {                           \
    if (Captured(stream, per_thread)) return SGPRS_REAL(symbol)(stream);         \
    if (VirtualStream* row = RowOf(stream, per_thread)) return Synchronize(row); \
    BeforeDirect();                                                              \
    return SGPRS_REAL(symbol)(stream);                                           \
  }
SGPRS_SYNC_HOOK(cuStreamSynchronize, false)
SGPRS_SYNC_HOOK(cuStreamSynchronize_ptsz, true)

#define SGPRS_QUERY_HOOK(symbol, per_thread)                               \
  extern "C" CUresult Hook_##symbol(CUstream stream) {                     \
    if (Captured(stream, per_thread)) return SGPRS_REAL(symbol)(stream);   \
    if (VirtualStream* row = RowOf(stream, per_thread)) return Query(row); \
    return SGPRS_REAL(symbol)(stream);                                     \
  }
SGPRS_QUERY_HOOK(cuStreamQuery, false)
SGPRS_QUERY_HOOK(cuStreamQuery_ptsz, true)

// The row goes before the handle does, since another thread may get the handle again at once.
#define SGPRS_STREAM_DESTROY_HOOK(symbol)               \
  extern "C" CUresult Hook_##symbol(CUstream stream) {  \
    BeforeDirect();                                     \
    ForgetStream(TheSession(), stream);                 \
    const CUresult result = SGPRS_REAL(symbol)(stream); \
    CloseDirect();                                      \
    return result;                                      \
  }
SGPRS_STREAM_DESTROY_HOOK(cuStreamDestroy)
SGPRS_STREAM_DESTROY_HOOK(cuStreamDestroy_v2)

extern "C" CUresult Hook_cuCtxSynchronize() {
  BeforeContextSync();
  const CUresult result = [] {
    const ContextWide call;
    return SGPRS_REAL(cuCtxSynchronize)();
  }();
  NoteBlockingCallEnd(TheSession());
  return WithDeferredError(result);
}

extern "C" CUresult Hook_cuCtxSynchronize_v2(CUcontext context) {
  BeforeContextSync();
  const CUresult result = [context] {
    const ContextWide call;
    return SGPRS_REAL(cuCtxSynchronize_v2)(context);
  }();
  NoteBlockingCallEnd(TheSession());
  return WithDeferredError(result);
}

#define SGPRS_CONTEXT_EVENT_HOOK(symbol)                                \
  extern "C" CUresult Hook_##symbol(CUcontext context, CUevent event) { \
    BeforeDirect();                                                     \
    const ContextWide call;                                             \
    return SGPRS_REAL(symbol)(context, event);                          \
  }
SGPRS_CONTEXT_EVENT_HOOK(cuCtxRecordEvent)
SGPRS_CONTEXT_EVENT_HOOK(cuCtxWaitEvent)

// --- attributes: they act on later work, and the stand-ins have them too ---

namespace {

VirtualStream* BeforeAttributes(CUstream stream, bool per_thread) {
  VirtualStream* row = RowOf(stream, per_thread);
  if (row != nullptr) {
    WaitIssued(TheSession(), row->recorded_upto.load(std::memory_order_acquire));
  } else {
    BeforeDirect(false);
  }
  return row;
}

}  // namespace

#define SGPRS_SET_ATTRIBUTE_HOOK(symbol, per_thread)                                           \
  extern "C" CUresult Hook_##symbol(CUstream stream, CUstreamAttrID id,                        \
                                    const CUstreamAttrValue* value) {                          \
    VirtualStream* row = BeforeAttributes(stream, per_thread);                                 \
    const CUresult result = SGPRS_REAL(symbol)(stream, id, value);                             \
    if (result == CUDA_SUCCESS && row != nullptr) SetAttribute(TheSession(), row, id, *value); \
    return result;                                                                             \
  }
SGPRS_SET_ATTRIBUTE_HOOK(cuStreamSetAttribute, false)
SGPRS_SET_ATTRIBUTE_HOOK(cuStreamSetAttribute_ptsz, true)

#define SGPRS_COPY_ATTRIBUTES_HOOK(symbol, get, per_thread)       \
  extern "C" CUresult Hook_##symbol(CUstream to, CUstream from) { \
    VirtualStream* row = BeforeAttributes(to, per_thread);        \
    const CUresult result = SGPRS_REAL(symbol)(to, from);         \
    if (result != CUDA_SUCCESS || row == nullptr) return result;  \
    for (const CUstreamAttrID id : kKeptAttributes) {             \
      CUstreamAttrValue value;                                    \
      memset(&value, 0, sizeof(value));                           \
      if (SGPRS_REAL(get)(to, id, &value) == CUDA_SUCCESS) {      \
        SetAttribute(TheSession(), row, id, value);               \
      }                                                           \
    }                                                             \
    return result;                                                \
  }
SGPRS_COPY_ATTRIBUTES_HOOK(cuStreamCopyAttributes, cuStreamGetAttribute, false)
SGPRS_COPY_ATTRIBUTES_HOOK(cuStreamCopyAttributes_ptsz, cuStreamGetAttribute_ptsz, true)
