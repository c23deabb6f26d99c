// SPDX-License-Identifier: Apache-2.0
// Contexts that go away, code that is unloaded, capture.
#include "runtime/base/clock.h"
#include "shim/hooks.h"
#include "shim/interpose/interpose.h"
#include "shim/issue/streams.h"
#include "shim/record/recorder.h"

namespace sgprs::shim {
namespace {

// The scheduled context is about to end: nothing is deferred from here on.
void LeaveForGood(const char* why) {
  Session* s = TheSession();
  if (s->mode.load(std::memory_order_acquire) != Mode::kRecording) return;
  DrainAll(s);
  WaitCompleted(s, 500 * kNsPerMs);
  ForgetAllStreams(s);
  s->mode.store(Mode::kBypass, std::memory_order_release);
  ShimLog("bypass: %s", why);
}

bool IsOurs(CUcontext context) {
  Session* s = TheSession();
  return s->mode.load(std::memory_order_acquire) == Mode::kRecording && context == s->facts.context;
}

void BeforeUnload() {
  if (Recording()) DrainAll(TheSession());
  TheSession()->kernels.Forget();
}

// First nothing more is recorded, then what was is drained. A second capture finds that done, and a
// wait on the NULL stream would break the first.
void BeginCapture() {
  Session* s = TheSession();
  CloseDirect();
  FutexLock capture(&s->capture_lock);
  s->record_lock.lock();
  const int32_t before = s->captures.fetch_add(1, std::memory_order_relaxed);
  s->record_lock.unlock();
  if (before == 0 && s->mode.load(std::memory_order_acquire) == Mode::kRecording) DrainAll(s);
}

// What was launched meanwhile is on the application's streams: later items follow it.
void EndCapture() {
  Session* s = TheSession();
  s->direct_epoch.fetch_add(1, std::memory_order_release);
  int32_t open = s->captures.load(std::memory_order_relaxed);
  while (open > 0 &&
         !s->captures.compare_exchange_weak(open, open - 1, std::memory_order_relaxed)) {
  }
}

}  // namespace
}  // namespace sgprs::shim

using namespace sgprs::shim;  // NOLINT(google-build-using-namespace): hooks are outside it

// --- contexts ---

extern "C" CUresult Hook_cuDevicePrimaryCtxReset_v2(CUdevice device) {
  if (TheSession()->facts.primary && device == TheSession()->facts.device) LeaveForGood("reset");
  return SGPRS_REAL(cuDevicePrimaryCtxReset_v2)(device);
}
extern "C" CUresult Hook_cuDevicePrimaryCtxReset(CUdevice device) {
  if (TheSession()->facts.primary && device == TheSession()->facts.device) LeaveForGood("reset");
  return SGPRS_REAL(cuDevicePrimaryCtxReset)(device);
}

// A release ends the context only if it is the last one; then later launches would be the driver's
// to refuse. Draining keeps either way right.
#define SGPRS_RELEASE_HOOK(symbol)                                                                \
  extern "C" CUresult Hook_##symbol(CUdevice device) {                                            \
    BeforeDirect();                                                                               \
    const CUresult result = SGPRS_REAL(symbol)(device);                                           \
    unsigned flags = 0;                                                                           \
    int active = 1;                                                                               \
    const Session* s = TheSession();                                                              \
    if (result == CUDA_SUCCESS && Recording() && s->facts.primary && device == s->facts.device && \
        SGPRS_REAL(cuDevicePrimaryCtxGetState)(device, &flags, &active) == CUDA_SUCCESS &&        \
        active == 0) {                                                                            \
      TheSession()->mode.store(Mode::kBypass, std::memory_order_release);                         \
    }                                                                                             \
    return result;                                                                                \
  }
SGPRS_RELEASE_HOOK(cuDevicePrimaryCtxRelease)
SGPRS_RELEASE_HOOK(cuDevicePrimaryCtxRelease_v2)

#define SGPRS_CTX_DESTROY_HOOK(symbol)                   \
  extern "C" CUresult Hook_##symbol(CUcontext context) { \
    if (IsOurs(context))                                 \
      LeaveForGood("its context is destroyed");          \
    else                                                 \
      BeforeDirect();                                    \
    return SGPRS_REAL(symbol)(context);                  \
  }
SGPRS_CTX_DESTROY_HOOK(cuCtxDestroy)
SGPRS_CTX_DESTROY_HOOK(cuCtxDestroy_v2)

// --- code ---

extern "C" CUresult Hook_cuModuleUnload(CUmodule module) {
  BeforeUnload();
  return SGPRS_REAL(cuModuleUnload)(module);
}
extern "C" CUresult Hook_cuLibraryUnload(CUlibrary library) {
  BeforeUnload();
  return SGPRS_REAL(cuLibraryUnload)(library);
}
extern "C" CUresult Hook_cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  const CUresult result = SGPRS_REAL(cuLibraryGetKernel)(kernel, library, name);
  if (result == CUDA_SUCCESS) TheSession()->kernels.NoteKernel(*kernel);
  return result;
}

// --- capture: nothing is deferred while any stream captures (facts/cuda.md 6.5) ---

#define SGPRS_BEGIN_CAPTURE_HOOK(symbol, parameters, arguments) \
  extern "C" CUresult Hook_##symbol parameters {                \
    BeginCapture();                                             \
    const CUresult result = SGPRS_REAL(symbol) arguments;       \
    if (result != CUDA_SUCCESS) EndCapture();                   \
    return result;                                              \
  }
SGPRS_BEGIN_CAPTURE_HOOK(cuStreamBeginCapture, (CUstream stream), (stream))
SGPRS_BEGIN_CAPTURE_HOOK(cuStreamBeginCapture_ptsz, (CUstream stream), (stream))
SGPRS_BEGIN_CAPTURE_HOOK(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode),
                         (stream, mode))
SGPRS_BEGIN_CAPTURE_HOOK(cuStreamBeginCapture_v2_ptsz, (CUstream stream, CUstreamCaptureMode mode),
                         (stream, mode))
#define SGPRS_TO_GRAPH_PARAMETERS                                                          \
  (CUstream stream, CUgraph graph, const CUgraphNode* nodes, const CUgraphEdgeData* edges, \
   size_t count, CUstreamCaptureMode mode)
SGPRS_BEGIN_CAPTURE_HOOK(cuStreamBeginCaptureToGraph, SGPRS_TO_GRAPH_PARAMETERS,
                         (stream, graph, nodes, edges, count, mode))
SGPRS_BEGIN_CAPTURE_HOOK(cuStreamBeginCaptureToGraph_ptsz, SGPRS_TO_GRAPH_PARAMETERS,
                         (stream, graph, nodes, edges, count, mode))

// A capture that fails to end is over all the same (an invalidated one answers an error here).
#define SGPRS_END_CAPTURE_HOOK(symbol, default_stream)                                  \
  extern "C" CUresult Hook_##symbol(CUstream stream, CUgraph* graph) {                  \
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;                       \
    const CUstream asked = stream == nullptr ? default_stream : stream;                 \
    const bool was = SGPRS_REAL(cuStreamIsCapturing)(asked, &status) == CUDA_SUCCESS && \
                     status != CU_STREAM_CAPTURE_STATUS_NONE;                           \
    const CUresult result = SGPRS_REAL(symbol)(stream, graph);                          \
    if (was && result != CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD &&                      \
        result != CUDA_ERROR_STREAM_CAPTURE_UNMATCHED) {                                \
      EndCapture();                                                                     \
    }                                                                                   \
    return result;                                                                      \
  }
SGPRS_END_CAPTURE_HOOK(cuStreamEndCapture, nullptr)
SGPRS_END_CAPTURE_HOOK(cuStreamEndCapture_ptsz, CU_STREAM_PER_THREAD)
