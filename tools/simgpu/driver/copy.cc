// SPDX-License-Identifier: Apache-2.0
// Flat copies.
#include "tools/simgpu/driver/transfer.h"

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

namespace {

CUresult Synchronous(CUdeviceptr target, Side target_side, CUdeviceptr source, Side source_side,
                     size_t bytes) {
  Stream* stream;
  if (CUresult status = EnterWithStream(nullptr, &stream)) return status;
  Transfer transfer;
  if (CUresult bad = PlanFlat(target, target_side, source, source_side, bytes, stream->view->root,
                              &transfer)) {
    return bad;
  }
  return CopySync(stream, transfer);
}

CUresult Asynchronous(CUdeviceptr target, Side target_side, CUdeviceptr source, Side source_side,
                      size_t bytes, CUstream handle) {
  Stream* stream;
  if (CUresult status = EnterWithStream(handle, &stream)) return status;
  Transfer transfer;
  if (CUresult bad = PlanFlat(target, target_side, source, source_side, bytes, stream->view->root,
                              &transfer)) {
    return bad;
  }
  return CopyAsync(stream, transfer);
}

CUdeviceptr Address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

}  // namespace

SIM_API CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount) {
  return Synchronous(dst, Side::kAny, src, Side::kAny, ByteCount);
}
SIM_API CUresult cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount) {
  return Synchronous(dstDevice, Side::kDevice, Address(srcHost), Side::kHost, ByteCount);
}
SIM_API CUresult cuMemcpyDtoH_v2(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount) {
  return Synchronous(Address(dstHost), Side::kHost, srcDevice, Side::kDevice, ByteCount);
}
SIM_API CUresult cuMemcpyDtoD_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount) {
  return Synchronous(dstDevice, Side::kDevice, srcDevice, Side::kDevice, ByteCount);
}

SIM_API CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount,
                               CUstream hStream) {
  return Asynchronous(dst, Side::kAny, src, Side::kAny, ByteCount, hStream);
}
SIM_API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount,
                                      CUstream hStream) {
  return Asynchronous(dstDevice, Side::kDevice, Address(srcHost), Side::kHost, ByteCount, hStream);
}
SIM_API CUresult cuMemcpyDtoHAsync_v2(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount,
                                      CUstream hStream) {
  return Asynchronous(Address(dstHost), Side::kHost, srcDevice, Side::kDevice, ByteCount, hStream);
}
SIM_API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice,
                                      size_t ByteCount, CUstream hStream) {
  return Asynchronous(dstDevice, Side::kDevice, srcDevice, Side::kDevice, ByteCount, hStream);
}
