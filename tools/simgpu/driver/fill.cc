// SPDX-License-Identifier: Apache-2.0
// cuMemset*.
#include "tools/simgpu/driver/enqueue.h"
#include "tools/simgpu/driver/process.h"
#include "tools/simgpu/driver/transfer.h"

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

namespace sgprs::simgpu::driver {

CUresult CheckFill(const FillOp& fill, const Context* root, Place* place) {
  const auto address = reinterpret_cast<CUdeviceptr>(fill.target);
  if (address % fill.element_bytes != 0 || fill.pitch % fill.element_bytes != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const uint64_t row = fill.width * fill.element_bytes;
  if (fill.height > 1 && fill.pitch < row) return CUDA_ERROR_INVALID_VALUE;
  return Locate(address, (fill.height - 1) * fill.pitch + row, Side::kDevice, root, place);
}

void WriteFill(const FillOp& fill, Op* op, Command* command) {
  op->fill = fill;
  command->bytes = fill.width * fill.height * fill.element_bytes;
}

}  // namespace sgprs::simgpu::driver

namespace {

CUresult Fill(const FillOp& fill, CUstream handle, bool synchronous) {
  Stream* stream;
  if (CUresult status = EnterWithStream(handle, &stream)) return status;
  if (synchronous && CaptureActive()) {
    if (CUresult refused = RefuseUnsafe()) return refused;
  }
  if (fill.width == 0 || fill.height == 0) return CUDA_SUCCESS;
  Place place;
  if (CUresult bad = CheckFill(fill, stream->view->root, &place)) return bad;
  uint64_t seq = 0;
  const CUresult result = Enqueue(
      stream, CommandKind::kFill, OpKind::kFill,
      [&](Op& op, Command& command) { WriteFill(fill, &op, &command); }, &seq);
  // Fills of device memory do not wait; of pinned host memory they do.
  if (result != CUDA_SUCCESS || !synchronous || place.device) return result;
  return TheProcess().queue.Wait(seq);
}

FillOp Flat(CUdeviceptr target, uint32_t value, uint32_t element_bytes, size_t count) {
  return FillOp{reinterpret_cast<void*>(target), 0, count, 1, value, element_bytes};
}
FillOp Rows(CUdeviceptr target, size_t pitch, uint32_t value, uint32_t element_bytes, size_t width,
            size_t height) {
  return FillOp{reinterpret_cast<void*>(target), pitch, width, height, value, element_bytes};
}

}  // namespace

SIM_API CUresult cuMemsetD8_v2(CUdeviceptr dstDevice, unsigned char uc, size_t N) {
  return Fill(Flat(dstDevice, uc, 1, N), nullptr, true);
}
SIM_API CUresult cuMemsetD16_v2(CUdeviceptr dstDevice, unsigned short us, size_t N) {
  return Fill(Flat(dstDevice, us, 2, N), nullptr, true);
}
SIM_API CUresult cuMemsetD32_v2(CUdeviceptr dstDevice, unsigned int ui, size_t N) {
  return Fill(Flat(dstDevice, ui, 4, N), nullptr, true);
}
SIM_API CUresult cuMemsetD2D8_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc,
                                 size_t Width, size_t Height) {
  return Fill(Rows(dstDevice, dstPitch, uc, 1, Width, Height), nullptr, true);
}
SIM_API CUresult cuMemsetD2D16_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us,
                                  size_t Width, size_t Height) {
  return Fill(Rows(dstDevice, dstPitch, us, 2, Width, Height), nullptr, true);
}
SIM_API CUresult cuMemsetD2D32_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui,
                                  size_t Width, size_t Height) {
  return Fill(Rows(dstDevice, dstPitch, ui, 4, Width, Height), nullptr, true);
}

SIM_API CUresult cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N,
                                 CUstream hStream) {
  return Fill(Flat(dstDevice, uc, 1, N), hStream, false);
}
SIM_API CUresult cuMemsetD16Async(CUdeviceptr dstDevice, unsigned short us, size_t N,
                                  CUstream hStream) {
  return Fill(Flat(dstDevice, us, 2, N), hStream, false);
}
SIM_API CUresult cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N,
                                  CUstream hStream) {
  return Fill(Flat(dstDevice, ui, 4, N), hStream, false);
}
SIM_API CUresult cuMemsetD2D8Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc,
                                   size_t Width, size_t Height, CUstream hStream) {
  return Fill(Rows(dstDevice, dstPitch, uc, 1, Width, Height), hStream, false);
}
SIM_API CUresult cuMemsetD2D16Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us,
                                    size_t Width, size_t Height, CUstream hStream) {
  return Fill(Rows(dstDevice, dstPitch, us, 2, Width, Height), hStream, false);
}
SIM_API CUresult cuMemsetD2D32Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui,
                                    size_t Width, size_t Height, CUstream hStream) {
  return Fill(Rows(dstDevice, dstPitch, ui, 4, Width, Height), hStream, false);
}
