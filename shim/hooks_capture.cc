// SPDX-License-Identifier: Apache-2.0
// Capture (facts/cuda.md 6.5). What belongs to a capture is the driver's at once: its calls answer
// with errors and node handles of the driver's own, and one that came late would be missing from
// the graph. Everything else is recorded and issued meanwhile as always, by threads in relaxed
// mode, and never touches a stream that captures.
#include "shim/hooks.h"
#include "shim/interpose/interpose.h"
#include "shim/issue/streams.h"
#include "shim/record/recorder.h"

namespace sgprs::shim {
namespace {

constexpr uint64_t kUnknownCapture = 1;  // of a stream that has no row

CUstream Named(CUstream stream, bool per_thread) {
  return stream == nullptr && per_thread ? CU_STREAM_PER_THREAD : stream;
}

// The row of a stream that is about to capture, with nothing of it held; nullptr: not scheduled.
VirtualStream* BeforeCapture(CUstream stream, bool per_thread) {
  CloseDirect();
  Session* s = TheSession();
  if (!Recording()) return nullptr;
  VirtualStream* row = FindStream(s, stream, per_thread);
  if (row != nullptr) WaitIssued(s, row->recorded_upto.load(std::memory_order_acquire));
  return row;
}

template <typename Call>
CUresult BeginCapture(CUstream stream, bool per_thread, Call call) {
  Session* s = TheSession();
  VirtualStream* row = BeforeCapture(stream, per_thread);
  s->captures.fetch_add(1, std::memory_order_relaxed);
  CUresult result;
  {
    // Against DrainAll() and the issuer, which use the application's streams that do not capture.
    FutexLock issue(&s->issue_lock);
    const uint64_t before = row != nullptr ? row->capture : 0;
    if (row != nullptr) EnterCapture(s, row, kUnknownCapture + ++s->captures_made);
    result = call();
    if (result != CUDA_SUCCESS && row != nullptr) row->capture = before;
  }
  if (result != CUDA_SUCCESS) s->captures.fetch_sub(1, std::memory_order_relaxed);
  return result;
}

// A capture that fails to end is over all the same (an invalidated one answers an error here).
template <typename Call>
CUresult EndCapture(CUstream stream, bool per_thread, Call call) {
  Session* s = TheSession();
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUstream named = Named(stream, per_thread);
  const bool was = SGPRS_REAL(cuStreamIsCapturing)(named, &status) == CUDA_SUCCESS &&
                   status != CU_STREAM_CAPTURE_STATUS_NONE;
  VirtualStream* row = was && Recording() ? FindStream(s, stream, per_thread) : nullptr;
  FutexLock issue(&s->issue_lock);
  const CUresult result = call();
  if (!was || result == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD ||
      result == CUDA_ERROR_STREAM_CAPTURE_UNMATCHED) {
    return result;
  }
  if (row != nullptr) LeaveCapture(s, row->capture);
  int32_t open = s->captures.load(std::memory_order_relaxed);
  while (open > 0 &&
         !s->captures.compare_exchange_weak(open, open - 1, std::memory_order_relaxed)) {
  }
  return result;
}

}  // namespace

bool AskCaptured(CUstream stream, bool per_thread_api) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  // An error (the NULL stream while a blocking stream captures, a bad handle) is the driver's to
  // tell.
  return SGPRS_REAL(cuStreamIsCapturing)(Named(stream, per_thread_api), &status) != CUDA_SUCCESS ||
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

RelaxedCapture::RelaxedCapture() {
  if (TheSession()->captures.load(std::memory_order_relaxed) == 0) return;
  active_ = SGPRS_REAL(cuThreadExchangeStreamCaptureMode)(&mode_) == CUDA_SUCCESS;
}
RelaxedCapture::~RelaxedCapture() {
  if (active_) SGPRS_REAL(cuThreadExchangeStreamCaptureMode)(&mode_);
}

void RecordInCapture(CUevent event, CUstream stream, bool per_thread) {
  Session* s = TheSession();
  CloseDirect();
  // A held record that came after this one would take the event out of the capture.
  WaitIssued(s, TheEventTable()->Upto(event));
  const VirtualStream* row = Recording() ? FindStream(s, stream, per_thread) : nullptr;
  FutexLock issue(&s->issue_lock);
  TheEventTable()->NoteCaptured(
      event, row != nullptr && row->capture != 0 ? row->capture : kUnknownCapture);
}

bool IsCapturedWait(CUstream stream, CUevent event, bool per_thread) {
  return TheSession()->captures.load(std::memory_order_relaxed) != 0 &&
         (AskCaptured(stream, per_thread) || TheEventTable()->CaptureOf(event) != 0);
}

CUresult WaitInCapture(CUstream stream, CUevent event, bool per_thread, CUresult (*wait)(void*),
                       void* arguments) {
  Session* s = TheSession();
  VirtualStream* row = BeforeCapture(stream, per_thread);
  WaitIssued(s, TheEventTable()->Upto(event));
  const uint64_t id = TheEventTable()->CaptureOf(event);
  FutexLock issue(&s->issue_lock);
  const bool joins = row != nullptr && row->capture == 0 && id != 0;
  if (joins) EnterCapture(s, row, id);
  const CUresult result = wait(arguments);
  if (joins && result != CUDA_SUCCESS) row->capture = 0;
  return result;
}

}  // namespace sgprs::shim

using namespace sgprs::shim;  // NOLINT(google-build-using-namespace): hooks are outside it

#define SGPRS_BEGIN_CAPTURE_HOOK(symbol, per_thread, parameters, arguments)                \
  extern "C" CUresult Hook_##symbol parameters {                                           \
    return BeginCapture(stream, per_thread, [&] { return SGPRS_REAL(symbol) arguments; }); \
  }
SGPRS_BEGIN_CAPTURE_HOOK(cuStreamBeginCapture, false, (CUstream stream), (stream))
SGPRS_BEGIN_CAPTURE_HOOK(cuStreamBeginCapture_ptsz, true, (CUstream stream), (stream))
#define SGPRS_MODE_PARAMETERS (CUstream stream, CUstreamCaptureMode mode)
SGPRS_BEGIN_CAPTURE_HOOK(cuStreamBeginCapture_v2, false, SGPRS_MODE_PARAMETERS, (stream, mode))
SGPRS_BEGIN_CAPTURE_HOOK(cuStreamBeginCapture_v2_ptsz, true, SGPRS_MODE_PARAMETERS, (stream, mode))
#define SGPRS_TO_GRAPH_PARAMETERS                                                          \
  (CUstream stream, CUgraph graph, const CUgraphNode* nodes, const CUgraphEdgeData* edges, \
   size_t count, CUstreamCaptureMode mode)
#define SGPRS_TO_GRAPH_ARGUMENTS (stream, graph, nodes, edges, count, mode)
SGPRS_BEGIN_CAPTURE_HOOK(cuStreamBeginCaptureToGraph, false, SGPRS_TO_GRAPH_PARAMETERS,
                         SGPRS_TO_GRAPH_ARGUMENTS)
SGPRS_BEGIN_CAPTURE_HOOK(cuStreamBeginCaptureToGraph_ptsz, true, SGPRS_TO_GRAPH_PARAMETERS,
                         SGPRS_TO_GRAPH_ARGUMENTS)

#define SGPRS_END_CAPTURE_HOOK(symbol, per_thread)                                            \
  extern "C" CUresult Hook_##symbol(CUstream stream, CUgraph* graph) {                        \
    return EndCapture(stream, per_thread, [&] { return SGPRS_REAL(symbol)(stream, graph); }); \
  }
SGPRS_END_CAPTURE_HOOK(cuStreamEndCapture, false)
SGPRS_END_CAPTURE_HOOK(cuStreamEndCapture_ptsz, true)
