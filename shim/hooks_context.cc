// SPDX-License-Identifier: Apache-2.0
// Contexts that go away, code that is unloaded.
#include "runtime/base/clock.h"
#include "shim/graph/context_calls.h"
#include "shim/graph/graph_table.h"
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
  TheGraphTable()->ForgetWishes();
  TheSession()->kernels.Forget();
}

}  // namespace
}  // namespace sgprs::shim

using namespace sgprs::shim;  // NOLINT(google-build-using-namespace): hooks are outside it

// --- contexts ---

extern "C" CUresult Hook_cuDevicePrimaryCtxReset_v2(CUdevice device) {
  if (TheSession()->facts.primary && device == TheSession()->facts.device) LeaveForGood("reset");
  const ContextWide call;
  return SGPRS_REAL(cuDevicePrimaryCtxReset_v2)(device);
}
extern "C" CUresult Hook_cuDevicePrimaryCtxReset(CUdevice device) {
  if (TheSession()->facts.primary && device == TheSession()->facts.device) LeaveForGood("reset");
  const ContextWide call;
  return SGPRS_REAL(cuDevicePrimaryCtxReset)(device);
}

// A release ends the context only if it is the last one; then later launches would be the driver's
// to refuse. Draining keeps either way right.
#define SGPRS_RELEASE_HOOK(symbol)                                                                \
  extern "C" CUresult Hook_##symbol(CUdevice device) {                                            \
    BeforeDirect();                                                                               \
    const ContextWide call;                                                                       \
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
    const ContextWide call;                              \
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
// Setters act on later launches: earlier ones are issued first.
extern "C" CUresult Hook_cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute,
                                            int value) {
  BeforeDirect(false);
  const CUresult result = SGPRS_REAL(cuFuncSetAttribute)(function, attribute, value);
  TheSession()->kernels.AttributesChanged();
  return result;
}
extern "C" CUresult Hook_cuKernelSetAttribute(CUfunction_attribute attribute, int value,
                                              CUkernel kernel, CUdevice device) {
  BeforeDirect(false);
  const CUresult result = SGPRS_REAL(cuKernelSetAttribute)(attribute, value, kernel, device);
  TheSession()->kernels.AttributesChanged();
  return result;
}
