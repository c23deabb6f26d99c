// SPDX-License-Identifier: Apache-2.0
// 2D and 3D copies between linear memory and arrays.
#include "tools/simgpu/driver/array.h"
#include "tools/simgpu/driver/transfer.h"

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

namespace {

// One side of a CUDA_MEMCPY3D.
struct Face {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  CUarray array;
  size_t x_bytes, y, z;
  size_t pitch, rows;  // bytes of a row, rows of a plane
};

struct Shape {
  size_t width_bytes, height, depth;
};

// Where a face's bytes are.
struct Layout {
  CUdeviceptr first;
  size_t pitch;
  size_t slice;
};

CUresult ResolveArray(const Face& face, const Shape& shape, const Context* root, Side side,
                      Layout* layout, Place* place) {
  Array* array;
  if (CUresult bad = FindArray(face.array, &array)) return bad;
  if (array->root != root && side != Side::kPeer) return CUDA_ERROR_INVALID_VALUE;
  const size_t element = array->element_bytes;
  if (face.x_bytes % element != 0 || shape.width_bytes % element != 0 ||
      face.x_bytes + shape.width_bytes > array->row_bytes || face.y + shape.height > array->rows ||
      face.z + shape.depth > array->slices) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  layout->pitch = array->row_bytes;
  layout->slice = array->slice_bytes();
  layout->first = array->memory + face.z * layout->slice + face.y * layout->pitch + face.x_bytes;
  *place = Place{};
  place->device = true;
  place->ordinal = array->root->device;
  return CUDA_SUCCESS;
}

CUresult Resolve(const Face& face, const Shape& shape, const Context* root, bool peer,
                 Layout* layout, Place* place) {
  if (face.type == CU_MEMORYTYPE_ARRAY) {
    return ResolveArray(face, shape, root, peer ? Side::kPeer : Side::kDevice, layout, place);
  }
  if (face.type < CU_MEMORYTYPE_HOST || face.type > CU_MEMORYTYPE_UNIFIED) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  layout->pitch = face.pitch != 0 ? face.pitch : face.x_bytes + shape.width_bytes;
  layout->slice = layout->pitch * (face.rows != 0 ? face.rows : face.y + shape.height);
  if (layout->pitch < face.x_bytes + shape.width_bytes) return CUDA_ERROR_INVALID_VALUE;
  if (shape.depth > 1 && face.rows != 0 && face.rows < face.y + shape.height) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const bool host = face.type == CU_MEMORYTYPE_HOST;
  const CUdeviceptr base = host ? reinterpret_cast<CUdeviceptr>(face.host) : face.device;
  if (base == 0) return CUDA_ERROR_INVALID_VALUE;
  layout->first = base + face.z * layout->slice + face.y * layout->pitch + face.x_bytes;
  const size_t extent =
      (shape.depth - 1) * layout->slice + (shape.height - 1) * layout->pitch + shape.width_bytes;
  const Side side = host                                ? Side::kHost
                    : peer                              ? Side::kPeer
                    : face.type == CU_MEMORYTYPE_DEVICE ? Side::kDevice
                                                        : Side::kAny;
  return Locate(layout->first, extent, side, root, place);
}

CUresult Plan(const Face& target, const Face& source, const Shape& shape, const Context* to_root,
              const Context* from_root, Transfer* transfer) {
  transfer->bytes = shape.width_bytes * shape.height * shape.depth;
  if (transfer->bytes == 0) return CUDA_SUCCESS;
  const bool peer = to_root != from_root;
  CopyOp& copy = transfer->copy;
  Layout to;
  Layout from;
  if (CUresult bad = Resolve(target, shape, to_root, peer, &to, &transfer->target)) return bad;
  if (CUresult bad = Resolve(source, shape, from_root, peer, &from, &transfer->source)) return bad;
  copy.target = reinterpret_cast<void*>(to.first);
  copy.source = reinterpret_cast<const void*>(from.first);
  copy.target_pitch = to.pitch;
  copy.target_slice = to.slice;
  copy.source_pitch = from.pitch;
  copy.source_slice = from.slice;
  copy.width_bytes = shape.width_bytes;
  copy.height = shape.height;
  copy.depth = shape.depth;
  return CUDA_SUCCESS;
}

// CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER name these alike.
template <typename Descriptor>
CUresult PlanBoth(const Descriptor& c, const Context* to_root, const Context* from_root,
                  Transfer* transfer) {
  if (c.srcLOD != 0 || c.dstLOD != 0) return CUDA_ERROR_INVALID_VALUE;
  const Face target{c.dstMemoryType, c.dstHost, c.dstDevice, c.dstArray, c.dstXInBytes,
                    c.dstY,          c.dstZ,    c.dstPitch,  c.dstHeight};
  const Face source{c.srcMemoryType, c.srcHost, c.srcDevice, c.srcArray, c.srcXInBytes,
                    c.srcY,          c.srcZ,    c.srcPitch,  c.srcHeight};
  return Plan(target, source, {c.WidthInBytes, c.Height, c.Depth}, to_root, from_root, transfer);
}

using SendFunction = CUresult (*)(Stream*, const Transfer&);

CUresult Run2D(const CUDA_MEMCPY2D* c, SendFunction send, CUstream handle) {
  Stream* stream;
  if (CUresult status = EnterWithStream(handle, &stream)) return status;
  if (c == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Face target{
      c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray, c->dstXInBytes, c->dstY, 0,
      c->dstPitch,      0};
  const Face source{
      c->srcMemoryType, c->srcHost, c->srcDevice, c->srcArray, c->srcXInBytes, c->srcY, 0,
      c->srcPitch,      0};
  const Context* root = stream->view->root;
  Transfer transfer;
  if (CUresult bad = Plan(target, source, {c->WidthInBytes, c->Height, 1}, root, root, &transfer)) {
    return bad;
  }
  return send(stream, transfer);
}

CUresult Run3D(const CUDA_MEMCPY3D* c, SendFunction send, CUstream handle) {
  Stream* stream;
  if (CUresult status = EnterWithStream(handle, &stream)) return status;
  if (c == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Transfer transfer;
  if (CUresult bad = PlanShaped(*c, stream->view->root, &transfer)) return bad;
  return send(stream, transfer);
}

CUresult RunPeer(const CUDA_MEMCPY3D_PEER* c, SendFunction send, CUstream handle) {
  Stream* stream;
  if (CUresult status = EnterWithStream(handle, &stream)) return status;
  if (c == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Context* to;
  Context* from;
  if (CUresult bad = FindContext(c->dstContext, true, &to)) return bad;
  if (CUresult bad = FindContext(c->srcContext, true, &from)) return bad;
  Transfer transfer;
  if (CUresult bad = PlanBoth(*c, to->root, from->root, &transfer)) return bad;
  return send(stream, transfer);
}

}  // namespace

namespace sgprs::simgpu::driver {

CUresult PlanShaped(const CUDA_MEMCPY3D& copy, const Context* root, Transfer* transfer) {
  return PlanBoth(copy, root, root, transfer);
}

}  // namespace sgprs::simgpu::driver

SIM_API CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* pCopy) {
  return Run2D(pCopy, CopySync, nullptr);
}
SIM_API CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* pCopy) {
  return Run2D(pCopy, CopySync, nullptr);
}
SIM_API CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* pCopy) {
  return Run3D(pCopy, CopySync, nullptr);
}
SIM_API CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* pCopy) {
  return RunPeer(pCopy, CopySync, nullptr);
}
SIM_API CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* pCopy, CUstream hStream) {
  return Run2D(pCopy, CopyAsync, hStream);
}
SIM_API CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* pCopy, CUstream hStream) {
  return Run3D(pCopy, CopyAsync, hStream);
}
SIM_API CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* pCopy, CUstream hStream) {
  return RunPeer(pCopy, CopyAsync, hStream);
}
