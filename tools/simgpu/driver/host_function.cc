// SPDX-License-Identifier: Apache-2.0
// Host functions in streams.
#include "tools/simgpu/driver/enqueue.h"
#include "tools/simgpu/driver/objects.h"

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

namespace {

CUresult Send(Stream* stream, const HostOp& host) {
  return Enqueue(stream, CommandKind::kHostFunction, OpKind::kHost, [&](Op& op, Command&) {
    op.host = host;
    op.host.stream = stream->id;
  });
}

}  // namespace

SIM_API CUresult cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void* userData) {
  Stream* stream;
  if (CUresult status = EnterWithStream(hStream, &stream)) return status;
  if (fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Send(stream, HostOp{fn, nullptr, userData, hStream, 0});
}

SIM_API CUresult cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void* userData,
                                     unsigned int flags) {
  Stream* stream;
  if (CUresult status = EnterWithStream(hStream, &stream)) return status;
  if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (CaptureActive()) {
    if (CUresult refused = RefuseOnStream(stream)) return refused;
  }
  return Send(stream, HostOp{nullptr, callback, userData, hStream, 0});
}
