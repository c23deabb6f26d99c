// SPDX-License-Identifier: Apache-2.0
// Copies of one row to, from and between arrays.
#include "tools/simgpu/driver/array.h"
#include "tools/simgpu/driver/transfer.h"

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

namespace {

// One end of the copy: an array from `offset` bytes on, or an address.
struct End {
  CUarray array = nullptr;
  size_t offset = 0;
  CUdeviceptr address = 0;
  Side side = Side::kDevice;
};

End Of(CUarray array, size_t offset) { return {array, offset, 0, Side::kDevice}; }
End OfDevice(CUdeviceptr address) { return {nullptr, 0, address, Side::kDevice}; }
End OfHost(const void* address) {
  return {nullptr, 0, reinterpret_cast<CUdeviceptr>(address), Side::kHost};
}

// cuda.h: arrays here are one-dimensional; more rows follow in memory.
CUresult Resolve(const End& end, size_t bytes, const Context* root, CUdeviceptr* address,
                 Place* place) {
  if (end.array == nullptr) {
    *address = end.address;
    return Locate(end.address, bytes, end.side, root, place);
  }
  Array* array;
  if (CUresult bad = FindArray(end.array, &array)) return bad;
  const size_t all = array->slice_bytes() * array->slices;
  if (array->root != root || end.offset > all || bytes > all - end.offset ||
      end.offset % array->element_bytes != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *address = array->memory + end.offset;
  *place = Place{};
  place->device = true;
  place->ordinal = root->device;
  return CUDA_SUCCESS;
}

CUresult Run(const End& target, const End& source, size_t bytes, CUstream handle,
             CUresult (*send)(Stream*, const Transfer&)) {
  Stream* stream;
  if (CUresult status = EnterWithStream(handle, &stream)) return status;
  Transfer transfer;
  transfer.bytes = bytes;
  const Context* root = stream->view->root;
  CUdeviceptr to;
  CUdeviceptr from;
  if (CUresult bad = Resolve(target, bytes, root, &to, &transfer.target)) return bad;
  if (CUresult bad = Resolve(source, bytes, root, &from, &transfer.source)) return bad;
  transfer.copy.target = reinterpret_cast<void*>(to);
  transfer.copy.source = reinterpret_cast<const void*>(from);
  transfer.copy.width_bytes = bytes;
  transfer.copy.height = 1;
  transfer.copy.depth = 1;
  return send(stream, transfer);
}

}  // namespace

SIM_API CUresult cuMemcpyDtoA_v2(CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice,
                                 size_t ByteCount) {
  return Run(Of(dstArray, dstOffset), OfDevice(srcDevice), ByteCount, nullptr, CopySync);
}
SIM_API CUresult cuMemcpyAtoD_v2(CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset,
                                 size_t ByteCount) {
  return Run(OfDevice(dstDevice), Of(srcArray, srcOffset), ByteCount, nullptr, CopySync);
}
SIM_API CUresult cuMemcpyHtoA_v2(CUarray dstArray, size_t dstOffset, const void* srcHost,
                                 size_t ByteCount) {
  return Run(Of(dstArray, dstOffset), OfHost(srcHost), ByteCount, nullptr, CopySync);
}
SIM_API CUresult cuMemcpyAtoH_v2(void* dstHost, CUarray srcArray, size_t srcOffset,
                                 size_t ByteCount) {
  return Run(OfHost(dstHost), Of(srcArray, srcOffset), ByteCount, nullptr, CopySync);
}
SIM_API CUresult cuMemcpyAtoA_v2(CUarray dstArray, size_t dstOffset, CUarray srcArray,
                                 size_t srcOffset, size_t ByteCount) {
  return Run(Of(dstArray, dstOffset), Of(srcArray, srcOffset), ByteCount, nullptr, CopySync);
}
SIM_API CUresult cuMemcpyHtoAAsync_v2(CUarray dstArray, size_t dstOffset, const void* srcHost,
                                      size_t ByteCount, CUstream hStream) {
  return Run(Of(dstArray, dstOffset), OfHost(srcHost), ByteCount, hStream, CopyAsync);
}
SIM_API CUresult cuMemcpyAtoHAsync_v2(void* dstHost, CUarray srcArray, size_t srcOffset,
                                      size_t ByteCount, CUstream hStream) {
  return Run(OfHost(dstHost), Of(srcArray, srcOffset), ByteCount, hStream, CopyAsync);
}
