// SPDX-License-Identifier: Apache-2.0
// 2D and 3D copies of linear memory. Arrays are not simulated: NOT_SUPPORTED.
#include "tools/simgpu/driver/transfer.h"

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

namespace {

// One side of a CUDA_MEMCPY3D.
struct Face {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  size_t x_bytes, y, z;
  size_t pitch, rows;  // bytes of a row, rows of a plane
};

struct Shape {
  size_t width_bytes, height, depth;
};

// First byte and extent of a face.
CUresult Resolve(const Face& face, const Shape& shape, const Context* root, CUdeviceptr* first,
                 size_t* pitch, size_t* slice, Place* place) {
  if (face.type == CU_MEMORYTYPE_ARRAY) return CUDA_ERROR_NOT_SUPPORTED;
  if (face.type < CU_MEMORYTYPE_HOST || face.type > CU_MEMORYTYPE_UNIFIED) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *pitch = face.pitch != 0 ? face.pitch : face.x_bytes + shape.width_bytes;
  *slice = *pitch * (face.rows != 0 ? face.rows : face.y + shape.height);
  if (*pitch < face.x_bytes + shape.width_bytes) return CUDA_ERROR_INVALID_VALUE;
  const bool host = face.type == CU_MEMORYTYPE_HOST;
  const CUdeviceptr base = host ? reinterpret_cast<CUdeviceptr>(face.host) : face.device;
  if (base == 0) return CUDA_ERROR_INVALID_VALUE;
  *first = base + face.z * *slice + face.y * *pitch + face.x_bytes;
  const size_t extent =
      (shape.depth - 1) * *slice + (shape.height - 1) * *pitch + shape.width_bytes;
  const Side side = host                                ? Side::kHost
                    : face.type == CU_MEMORYTYPE_DEVICE ? Side::kDevice
                                                        : Side::kAny;
  return Locate(*first, extent, side, root, place);
}

CUresult Plan(const Face& target, const Face& source, const Shape& shape, const Context* root,
              Transfer* transfer) {
  transfer->bytes = shape.width_bytes * shape.height * shape.depth;
  if (transfer->bytes == 0) return CUDA_SUCCESS;
  CopyOp& copy = transfer->copy;
  CUdeviceptr to;
  CUdeviceptr from;
  if (CUresult bad = Resolve(target, shape, root, &to, &copy.target_pitch, &copy.target_slice,
                             &transfer->target)) {
    return bad;
  }
  if (CUresult bad = Resolve(source, shape, root, &from, &copy.source_pitch, &copy.source_slice,
                             &transfer->source)) {
    return bad;
  }
  copy.target = reinterpret_cast<void*>(to);
  copy.source = reinterpret_cast<const void*>(from);
  copy.width_bytes = shape.width_bytes;
  copy.height = shape.height;
  copy.depth = shape.depth;
  return CUDA_SUCCESS;
}

CUresult Plan2D(const CUDA_MEMCPY2D* c, const Context* root, Transfer* transfer) {
  if (c == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Face target{c->dstMemoryType, c->dstHost, c->dstDevice, c->dstXInBytes,
                    c->dstY,          0,          c->dstPitch,  0};
  const Face source{c->srcMemoryType, c->srcHost, c->srcDevice, c->srcXInBytes,
                    c->srcY,          0,          c->srcPitch,  0};
  return Plan(target, source, {c->WidthInBytes, c->Height, 1}, root, transfer);
}

CUresult Plan3D(const CUDA_MEMCPY3D* c, const Context* root, Transfer* transfer) {
  if (c == nullptr || c->srcLOD != 0 || c->dstLOD != 0) return CUDA_ERROR_INVALID_VALUE;
  const Face target{c->dstMemoryType, c->dstHost, c->dstDevice, c->dstXInBytes,
                    c->dstY,          c->dstZ,    c->dstPitch,  c->dstHeight};
  const Face source{c->srcMemoryType, c->srcHost, c->srcDevice, c->srcXInBytes,
                    c->srcY,          c->srcZ,    c->srcPitch,  c->srcHeight};
  return Plan(target, source, {c->WidthInBytes, c->Height, c->Depth}, root, transfer);
}

template <typename Descriptor>
CUresult Run(const Descriptor* descriptor,
             CUresult (*plan)(const Descriptor*, const Context*, Transfer*),
             CUresult (*send)(Stream*, const Transfer&), CUstream handle) {
  Stream* stream;
  if (CUresult status = EnterWithStream(handle, &stream)) return status;
  Transfer transfer;
  if (CUresult bad = plan(descriptor, stream->view->root, &transfer)) return bad;
  return send(stream, transfer);
}

}  // namespace

SIM_API CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* pCopy) {
  return Run(pCopy, Plan2D, CopySync, nullptr);
}
SIM_API CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* pCopy) {
  return Run(pCopy, Plan2D, CopySync, nullptr);
}
SIM_API CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* pCopy) {
  return Run(pCopy, Plan3D, CopySync, nullptr);
}
SIM_API CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* pCopy, CUstream hStream) {
  return Run(pCopy, Plan2D, CopyAsync, hStream);
}
SIM_API CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* pCopy, CUstream hStream) {
  return Run(pCopy, Plan3D, CopyAsync, hStream);
}
