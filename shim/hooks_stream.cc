// SPDX-License-Identifier: Apache-2.0
// Synchronising with streams and contexts: wait until what the call depends on is issued, then ask
// the driver about the stand-in streams that carry it.
#include "shim/hooks.h"
#include "shim/interpose/interpose.h"
#include "shim/issue/streams.h"
#include "shim/record/recorder.h"

namespace sgprs::shim {
namespace {

// Rows that a synchronisation with `stream` covers: itself, and for the NULL stream every blocking
// stream of its context. Writes at most `room` tails. Also the index they need.
constexpr uint32_t kMostTails = 256;
struct Scope {
  CUstream tails[kMostTails];
  uint32_t count = 0;
  uint64_t upto = 0;
  bool everything = false;  // more rows than room: wait for the context
};

// False: nothing of ours, the call is the driver's as it stands.
bool ScopeOf(CUstream stream, bool per_thread, VirtualStream** row) {
  if (!Recording()) return false;
  *row = FindStream(TheSession(), stream, per_thread);
  return *row != nullptr;
}

uint64_t UptoOf(Session* s, VirtualStream* row) {
  uint64_t upto = row->recorded_upto.load(std::memory_order_acquire);
  if (!row->legacy_null) return upto;
  FutexLock lock(&s->record_lock);
  for (VirtualStream* v = s->streams; v != nullptr; v = v->next) {
    if (v->dead || !v->blocking) continue;
    const uint64_t other = v->recorded_upto.load(std::memory_order_relaxed);
    if (other > upto) upto = other;
  }
  return upto;
}

void CollectTails(Session* s, VirtualStream* row, Scope* scope) {
  scope->tails[scope->count++] = TailOf(s, row);
  if (!row->legacy_null) return;
  FutexLock record(&s->record_lock);
  FutexLock issue(&s->issue_lock);
  for (VirtualStream* v = s->streams; v != nullptr; v = v->next) {
    // What is joined is covered by the driver's own NULL stream, as are streams never used.
    if (v == row || v->dead || !v->blocking || !v->used || v->joined) continue;
    if (scope->count == kMostTails - 1) {
      scope->everything = true;
      return;
    }
    scope->tails[scope->count++] = v->last;
  }
  if (scope->tails[0] != nullptr) scope->tails[scope->count++] = nullptr;
}

CUresult Synchronize(VirtualStream* row) {
  Session* s = TheSession();
  const uint64_t upto = UptoOf(s, row);
  NoteBlockingCall(s, upto);
  WaitIssued(s, upto);
  Scope scope;
  CollectTails(s, row, &scope);
  CUresult result = CUDA_SUCCESS;
  if (scope.everything) {
    result = SGPRS_REAL(cuCtxSynchronize)();
  } else {
    for (uint32_t i = 0; i < scope.count; ++i) {
      const CUresult one = SGPRS_REAL(cuStreamSynchronize)(scope.tails[i]);
      if (one != CUDA_SUCCESS) result = one;
    }
  }
  NoteBlockingCallEnd(s);
  return WithDeferredError(result);
}

CUresult Query(VirtualStream* row) {
  Session* s = TheSession();
  if (!IsIssued(UptoOf(s, row))) return CUDA_ERROR_NOT_READY;
  Scope scope;
  CollectTails(s, row, &scope);
  if (scope.everything) return CUDA_ERROR_NOT_READY;
  for (uint32_t i = 0; i < scope.count; ++i) {
    const CUresult one = SGPRS_REAL(cuStreamQuery)(scope.tails[i]);
    if (one != CUDA_SUCCESS) return one;
  }
  NoteBlockingCallEnd(s);
  return WithDeferredError(CUDA_SUCCESS);
}

void BeforeContextSync() {
  Session* s = TheSession();
  if (!Recording()) return;
  const uint64_t upto = s->recorded.load(std::memory_order_acquire);
  NoteBlockingCall(s, upto);
  DrainAll(s);
}

}  // namespace
}  // namespace sgprs::shim

using namespace sgprs::shim;  // NOLINT(google-build-using-namespace): hooks are outside it

#define SGPRS_SYNC_HOOK(symbol, per_thread)                         \
  extern "C" CUresult Hook_##symbol(CUstream stream) {              \
    VirtualStream* row = nullptr;                                   \
    if (ScopeOf(stream, per_thread, &row)) return Synchronize(row); \
    BeforeDirect();                                                 \
    return SGPRS_REAL(symbol)(stream);                              \
  }
SGPRS_SYNC_HOOK(cuStreamSynchronize, false)
SGPRS_SYNC_HOOK(cuStreamSynchronize_ptsz, true)

#define SGPRS_QUERY_HOOK(symbol, per_thread)                  \
  extern "C" CUresult Hook_##symbol(CUstream stream) {        \
    VirtualStream* row = nullptr;                             \
    if (ScopeOf(stream, per_thread, &row)) return Query(row); \
    return SGPRS_REAL(symbol)(stream);                        \
  }
SGPRS_QUERY_HOOK(cuStreamQuery, false)
SGPRS_QUERY_HOOK(cuStreamQuery_ptsz, true)

#define SGPRS_STREAM_DESTROY_HOOK(symbol)               \
  extern "C" CUresult Hook_##symbol(CUstream stream) {  \
    BeforeDirect();                                     \
    const CUresult result = SGPRS_REAL(symbol)(stream); \
    if (result == CUDA_SUCCESS && Recording()) {        \
      ForgetStream(TheSession(), stream);               \
    }                                                   \
    return result;                                      \
  }
SGPRS_STREAM_DESTROY_HOOK(cuStreamDestroy)
SGPRS_STREAM_DESTROY_HOOK(cuStreamDestroy_v2)

extern "C" CUresult Hook_cuCtxSynchronize() {
  BeforeContextSync();
  const CUresult result = SGPRS_REAL(cuCtxSynchronize)();
  NoteBlockingCallEnd(TheSession());
  return WithDeferredError(result);
}

extern "C" CUresult Hook_cuCtxSynchronize_v2(CUcontext context) {
  BeforeContextSync();
  const CUresult result = SGPRS_REAL(cuCtxSynchronize_v2)(context);
  NoteBlockingCallEnd(TheSession());
  return WithDeferredError(result);
}
