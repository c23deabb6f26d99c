// SPDX-License-Identifier: Apache-2.0
// Waits of the device for values and semaphores: on the application's own stream, behind all that
// is held (shim/issue/value_waits.h).
#include "shim/hooks.h"
#include "shim/interpose/interpose.h"
#include "shim/issue/value_waits.h"

namespace sgprs::shim {
namespace {

template <typename Call>
CUresult DeviceWait(CUstream stream, bool per_thread, Call call) {
  if (Captured(stream, per_thread)) return call();
  BeforeDirect();
  const CUresult result = call();
  if (result == CUDA_SUCCESS && Recording()) {
    TheValueWaits()->Note(stream == nullptr && per_thread ? CU_STREAM_PER_THREAD : stream);
  }
  return result;
}

}  // namespace
}  // namespace sgprs::shim

using namespace sgprs::shim;  // NOLINT(google-build-using-namespace): hooks are outside it

#define SGPRS_WAIT_VALUE_HOOK(symbol, type, per_thread)                                            \
  extern "C" CUresult Hook_##symbol(CUstream stream, CUdeviceptr at, type value, unsigned flags) { \
    return DeviceWait(stream, per_thread,                                                          \
                      [&] { return SGPRS_REAL(symbol)(stream, at, value, flags); });               \
  }
SGPRS_WAIT_VALUE_HOOK(cuStreamWaitValue32, cuuint32_t, false)
SGPRS_WAIT_VALUE_HOOK(cuStreamWaitValue32_ptsz, cuuint32_t, true)
SGPRS_WAIT_VALUE_HOOK(cuStreamWaitValue32_v2, cuuint32_t, false)
SGPRS_WAIT_VALUE_HOOK(cuStreamWaitValue32_v2_ptsz, cuuint32_t, true)
SGPRS_WAIT_VALUE_HOOK(cuStreamWaitValue64, cuuint64_t, false)
SGPRS_WAIT_VALUE_HOOK(cuStreamWaitValue64_ptsz, cuuint64_t, true)
SGPRS_WAIT_VALUE_HOOK(cuStreamWaitValue64_v2, cuuint64_t, false)
SGPRS_WAIT_VALUE_HOOK(cuStreamWaitValue64_v2_ptsz, cuuint64_t, true)

#define SGPRS_BATCH_HOOK(symbol, per_thread)                                             \
  extern "C" CUresult Hook_##symbol(CUstream stream, unsigned count,                     \
                                    CUstreamBatchMemOpParams* params, unsigned flags) {  \
    return DeviceWait(stream, per_thread,                                                \
                      [&] { return SGPRS_REAL(symbol)(stream, count, params, flags); }); \
  }
SGPRS_BATCH_HOOK(cuStreamBatchMemOp, false)
SGPRS_BATCH_HOOK(cuStreamBatchMemOp_ptsz, true)
SGPRS_BATCH_HOOK(cuStreamBatchMemOp_v2, false)
SGPRS_BATCH_HOOK(cuStreamBatchMemOp_v2_ptsz, true)

#define SGPRS_SEMAPHORE_HOOK(symbol, per_thread)                                              \
  extern "C" CUresult Hook_##symbol(const CUexternalSemaphore* semaphores,                    \
                                    const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS* params,        \
                                    unsigned count, CUstream stream) {                        \
    return DeviceWait(stream, per_thread,                                                     \
                      [&] { return SGPRS_REAL(symbol)(semaphores, params, count, stream); }); \
  }
SGPRS_SEMAPHORE_HOOK(cuWaitExternalSemaphoresAsync, false)
SGPRS_SEMAPHORE_HOOK(cuWaitExternalSemaphoresAsync_ptsz, true)
