// SPDX-License-Identifier: Apache-2.0
// Draining, and what the other hooks share.
#include <string.h>

#include "shim/hooks.h"
#include "shim/interpose/call_counts.h"
#include "shim/interpose/interpose.h"
#include "shim/issue/streams.h"
#include "shim/record/recorder.h"

namespace sgprs::shim {
namespace {

thread_local bool t_direct_open = false;  // this thread has a direct call under way

// Can the call leave work on a stream that later items must follow? In doubt yes.
bool LeavesWork(const char* name) {
  static constexpr const char* kNever[] = {"cuMemFree_",   "cuMemFreeHost", "cuMemHostUnregister",
                                           "cuFuncSet",    "cuKernelSet",   "cuParamSet",
                                           "cuCtxSet",     "cuMemRelease",  "cuMemUnmap",
                                           "cuMemAddress", "cuArrayDestroy"};
  for (const char* prefix : kNever) {
    if (strncmp(name, prefix, strlen(prefix)) == 0) return false;
  }
  return strcmp(name, "cuMemFree") != 0;
}

void CountDrain(Session* s) {
  CountDrained();
  FutexLock lock(&s->record_lock);  // the issuer may swap the lane
  if (s->lane == nullptr) return;
  std::atomic_ref<uint64_t> drains(s->lane->counters.drains);
  drains.store(drains.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  std::atomic_ref<uint64_t>(s->lane->counters.unknown_calls)
      .store(UnknownCalls(), std::memory_order_relaxed);
}

}  // namespace

void OpenDirect() {
  t_direct_open = true;
  NoteThreadState();
  TheSession()->direct_open.fetch_add(1, std::memory_order_seq_cst);
}

VirtualStream* RecordableStream(CUstream stream, bool per_thread_api) {
  CloseDirect();
  if (!Recording() && !AttachOnce()) return nullptr;
  Session* s = TheSession();
  VirtualStream* row = FindStream(s, stream, per_thread_api);
  // Where some items must run on the anchor, the issuer can not name another thread's own stream.
  if (row != nullptr && row->thread != 0 && s->backend->KernelsOnly()) return nullptr;
  return row;
}

SgprsEscape WhyNoStream() {
  if (!Recording()) return SGPRS_ESCAPE_UNSCHEDULED;
  return TheSession()->backend->KernelsOnly() ? SGPRS_ESCAPE_STREAM : SGPRS_ESCAPE_CONTEXT;
}

void BeforeDirect(bool leaves_work) {
  CloseDirect();
  Session* s = TheSession();
  const Mode mode = s->mode.load(std::memory_order_relaxed);
  if (mode == Mode::kFlushing) DrainAll(s);
  if (mode != Mode::kRecording && mode != Mode::kAttaching && mode != Mode::kUnattached) return;
  if (leaves_work) OpenDirect();
  if (!Recording()) return;
  DrainAll(s);
  CountDrain(s);
}

void CloseDirect() {
  if (!t_direct_open) return;
  t_direct_open = false;
  Session* s = TheSession();
  // Release pairs with FollowAnchor(): first the epoch, so that no gap opens between the two.
  s->direct_epoch.fetch_add(1, std::memory_order_release);
  uint32_t open = s->direct_open.load(std::memory_order_relaxed);
  while (open != 0 &&
         !s->direct_open.compare_exchange_weak(open, open - 1, std::memory_order_release)) {
  }
}

CUresult BeforeDirectLaunch() {
  if (const CUresult refused = RefusedError(); refused != CUDA_SUCCESS) return refused;
  BeforeDirect();
  return CUDA_SUCCESS;
}

namespace {

// Errors after which the driver answers nothing else in this context.
bool IsSticky(CUresult result) {
  switch (result) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_MPS_CLIENT_TERMINATED:
      return true;
    default:
      return false;
  }
}

// From here on every call gets that answer from the driver, at once.
void LeaveToTheDriver(Session* s) {
  Mode recording = Mode::kRecording;
  s->mode.compare_exchange_strong(recording, Mode::kBypass, std::memory_order_acq_rel);
}

}  // namespace

CUresult WithDeferredError(CUresult result) {
  Session* s = TheSession();
  if (IsSticky(result)) LeaveToTheDriver(s);
  if (result != CUDA_SUCCESS || s->deferred_error.load(std::memory_order_relaxed) == CUDA_SUCCESS) {
    return result;
  }
  const CUresult late = s->deferred_error.exchange(CUDA_SUCCESS, std::memory_order_relaxed);
  if (IsSticky(late)) LeaveToTheDriver(s);
  return late;
}

}  // namespace sgprs::shim

extern "C" void SgprsDrainForCall(sgprs::shim::CallIndex index) {
  using namespace sgprs::shim;
  const char* name = CallName(index);
  BeforeDirect(LeavesWork(name));
  if (strncmp(name, "cuLaunch", 8) == 0 && strncmp(name, "cuLaunchHost", 12) != 0) {
    CountBypassed(SGPRS_ESCAPE_LEGACY);  // also a newer driver's
  }
  NoteBlockingCallEnd(TheSession());
}
