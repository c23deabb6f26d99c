// SPDX-License-Identifier: Apache-2.0
// What the hooks of all families share.
#ifndef SGPRS_SHIM_HOOKS_H_
#define SGPRS_SHIM_HOOKS_H_

#include <cuda.h>

#include <cstdint>

#include "shim/issue/virtual_stream.h"
#include "shim/record/event_table.h"
#include "shim/session.h"

namespace sgprs::shim {

// True if a call on `stream` belongs to a capture, or is one that a capture makes the driver
// refuse: then it goes to the driver at once, and nothing is put before it. One relaxed load while
// nothing captures; a question to the driver else.
bool AskCaptured(CUstream stream, bool per_thread_api);
inline bool Captured(CUstream stream, bool per_thread_api) {
  // Relaxed: a stream that captures is used by threads that its capturing thread told of it.
  return __builtin_expect(TheSession()->captures.load(std::memory_order_relaxed) != 0, 0) &&
         AskCaptured(stream, per_thread_api);
}

// While a capture is open, the shim's own calls in the scope are not what breaks it.
class RelaxedCapture {
 public:
  RelaxedCapture();
  ~RelaxedCapture();
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  bool active_ = false;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

// A record of `event` is about to go into the capture of `stream`: waits for what is held of the
// event, and notes where it is.
void RecordInCapture(CUevent event, CUstream stream, bool per_thread_api);
// Is it a wait that a capture is concerned with (also one by which `stream` joins it)?
bool IsCapturedWait(CUstream stream, CUevent event, bool per_thread_api);
// Does it: `wait(arguments)` calls the driver.
CUresult WaitInCapture(CUstream stream, CUevent event, bool per_thread_api, CUresult (*wait)(void*),
                       void* arguments);

// Row of the stream that a recordable call goes to, or nullptr: then the call is the driver's.
// Registers the process at its first such call.
VirtualStream* RecordableStream(CUstream stream, bool per_thread_api);

// Before a call that goes to the driver on the application's own stream: drains, and opens the
// call. It counts as under way until the thread's next entry into the shim, or CloseDirect().
// `leaves_work` false: the call puts nothing on any stream.
void BeforeDirect(bool leaves_work = true);
// Opens such a call without draining: it puts work on the application's stream that nothing
// recorded so far is concerned with.
void OpenDirect();
// The thread's direct call, if one is open, is over.
void CloseDirect();
// The same for a launch. Not CUDA_SUCCESS: it may not run.
CUresult BeforeDirectLaunch();
// The driver's answer to it: one that was taken is counted.
inline CUresult AfterDirectLaunch(CUresult result, SgprsEscape why) {
  if (result == CUDA_SUCCESS) CountBypassed(why);
  return result;
}
// Why RecordableStream() gave none.
SgprsEscape WhyNoStream();

// Result of a synchronising call, or the first error of an item that was issued late.
CUresult WithDeferredError(CUresult result);

// True if the item before process index `upto` was handed to the driver.
inline bool IsIssued(uint64_t upto) {
  return TheSession()->issued.load(std::memory_order_acquire) >= upto;
}

}  // namespace sgprs::shim

#endif  // SGPRS_SHIM_HOOKS_H_
