// SPDX-License-Identifier: Apache-2.0
// Batches of copies: one call, one place in the stream's order, and a say in when sources are read.
#include <cstdlib>
#include <cstring>

#include "tools/simgpu/driver/array.h"
#include "tools/simgpu/driver/enqueue.h"
#include "tools/simgpu/driver/process.h"
#include "tools/simgpu/driver/transfer.h"

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

namespace {

struct Planned {
  Transfer transfer;
  bool now = false;  // the source is read before the call returns
};

CUresult CheckOrder(CUmemcpySrcAccessOrder order, unsigned int flags, bool* now) {
  if (flags > CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE) return CUDA_ERROR_INVALID_VALUE;
  if (order < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM || order > CU_MEMCPY_SRC_ACCESS_ORDER_ANY) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *now = order == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
  return CUDA_SUCCESS;
}

// A copy of the source, rows without gaps. nullptr: no memory.
void* Stage(Transfer* transfer) {
  CopyOp& copy = transfer->copy;
  auto* staging = static_cast<unsigned char*>(malloc(transfer->bytes));
  if (staging == nullptr) return nullptr;
  const auto* source = static_cast<const unsigned char*>(copy.source);
  unsigned char* next = staging;
  for (uint64_t z = 0; z < copy.depth; ++z) {
    for (uint64_t y = 0; y < copy.height; ++y, next += copy.width_bytes) {
      memcpy(next, source + z * copy.source_slice + y * copy.source_pitch, copy.width_bytes);
    }
  }
  copy.source_pitch = copy.width_bytes;
  copy.source_slice = copy.width_bytes * copy.height;
  return staging;
}

CUresult SendAll(Stream* stream, std::vector<Planned>* batch) {
  if (CaptureActive()) {
    if (CUresult refused = RefuseOnStream(stream)) return refused;
  }
  for (Planned& planned : *batch) {
    if (planned.transfer.bytes == 0) continue;
    void* staging = planned.now ? Stage(&planned.transfer) : nullptr;
    if (planned.now && staging == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    const CUresult result = Enqueue(
        stream, CommandKind::kCopy, OpKind::kCopy,
        [&](Op& op, Command& command) { WriteTransfer(planned.transfer, staging, &op, &command); });
    if (result != CUDA_SUCCESS) {
      free(staging);
      return result;
    }
  }
  return CUDA_SUCCESS;
}

CUresult EnterBatch(CUstream handle, Stream** stream) {
  if (CUresult status = EnterWithStream(handle, stream)) return status;
  // cuda.h: not the legacy default stream.
  return (*stream)->legacy ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

struct Batch {
  const CUdeviceptr* targets;
  const CUdeviceptr* sources;
  const size_t* sizes;
  size_t count;
  const CUmemcpyAttributes* attributes;
  const size_t* indices;
  size_t attribute_count;
};

CUresult Run(const Batch& b, size_t* fail, CUstream handle) {
  if (fail != nullptr) *fail = SIZE_MAX;
  Stream* stream;
  if (CUresult bad = EnterBatch(handle, &stream)) return bad;
  if (b.targets == nullptr || b.sources == nullptr || b.sizes == nullptr || b.count == 0 ||
      b.attributes == nullptr || b.indices == nullptr || b.attribute_count == 0 ||
      b.attribute_count > b.count || b.indices[0] != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (size_t i = 1; i < b.attribute_count; ++i) {
    if (b.indices[i] <= b.indices[i - 1] || b.indices[i] >= b.count) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  std::vector<Planned> batch(b.count);
  for (size_t i = 0, which = 0; i < b.count; ++i) {
    while (which + 1 < b.attribute_count && b.indices[which + 1] <= i) ++which;
    const CUmemcpyAttributes& how = b.attributes[which];
    CUresult bad = CheckOrder(how.srcAccessOrder, how.flags, &batch[i].now);
    if (bad == CUDA_SUCCESS) {
      bad = PlanFlat(b.targets[i], Side::kAny, b.sources[i], Side::kAny, b.sizes[i],
                     stream->view->root, &batch[i].transfer);
    }
    if (bad == CUDA_SUCCESS) continue;
    if (fail != nullptr) *fail = i;
    return bad;
  }
  return SendAll(stream, &batch);
}

// One operand of a 3D batch as one side of a CUDA_MEMCPY3D; sizes are in elements there.
struct Side3D {
  CUmemorytype type;
  CUdeviceptr address;
  CUarray array;
  size_t x_bytes, y, z, pitch, rows;
};

CUresult ReadOperand(const CUmemcpy3DOperand& operand, size_t element, Side3D* side) {
  *side = Side3D{};
  if (operand.type == CU_MEMCPY_OPERAND_TYPE_POINTER) {
    side->type = CU_MEMORYTYPE_UNIFIED;
    side->address = operand.op.ptr.ptr;
    side->pitch = operand.op.ptr.rowLength * element;
    side->rows = operand.op.ptr.layerHeight;
    return CUDA_SUCCESS;
  }
  if (operand.type != CU_MEMCPY_OPERAND_TYPE_ARRAY) return CUDA_ERROR_INVALID_VALUE;
  side->type = CU_MEMORYTYPE_ARRAY;
  side->array = operand.op.array.array;
  side->x_bytes = operand.op.array.offset.x * element;
  side->y = operand.op.array.offset.y;
  side->z = operand.op.array.offset.z;
  return CUDA_SUCCESS;
}

// The size of an element: of the arrays taking part, else a byte.
CUresult ElementOf(const CUDA_MEMCPY3D_BATCH_OP& op, size_t* element) {
  *element = 1;
  for (const CUmemcpy3DOperand* operand : {&op.src, &op.dst}) {
    if (operand->type != CU_MEMCPY_OPERAND_TYPE_ARRAY) continue;
    Array* array;
    if (CUresult bad = FindArray(operand->op.array.array, &array)) return bad;
    if (*element != 1 && *element != array->element_bytes) return CUDA_ERROR_INVALID_VALUE;
    *element = array->element_bytes;
  }
  return CUDA_SUCCESS;
}

CUresult Plan3D(const CUDA_MEMCPY3D_BATCH_OP& op, const Context* root, Planned* planned) {
  if (op.extent.width == 0 || op.extent.height == 0 || op.extent.depth == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (CUresult bad = CheckOrder(op.srcAccessOrder, op.flags, &planned->now)) return bad;
  size_t element;
  if (CUresult bad = ElementOf(op, &element)) return bad;
  Side3D to;
  Side3D from;
  if (CUresult bad = ReadOperand(op.dst, element, &to)) return bad;
  if (CUresult bad = ReadOperand(op.src, element, &from)) return bad;
  CUDA_MEMCPY3D copy{};
  copy.dstMemoryType = to.type;
  copy.dstDevice = to.address;
  copy.dstArray = to.array;
  copy.dstXInBytes = to.x_bytes;
  copy.dstY = to.y;
  copy.dstZ = to.z;
  copy.dstPitch = to.pitch;
  copy.dstHeight = to.rows;
  copy.srcMemoryType = from.type;
  copy.srcDevice = from.address;
  copy.srcArray = from.array;
  copy.srcXInBytes = from.x_bytes;
  copy.srcY = from.y;
  copy.srcZ = from.z;
  copy.srcPitch = from.pitch;
  copy.srcHeight = from.rows;
  copy.WidthInBytes = op.extent.width * element;
  copy.Height = op.extent.height;
  copy.Depth = op.extent.depth;
  return PlanShaped(copy, root, &planned->transfer);
}

CUresult Run3D(size_t count, const CUDA_MEMCPY3D_BATCH_OP* ops, size_t* fail,
               unsigned long long flags, CUstream handle) {
  if (fail != nullptr) *fail = SIZE_MAX;
  Stream* stream;
  if (CUresult bad = EnterBatch(handle, &stream)) return bad;
  if (count == 0 || ops == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  std::vector<Planned> batch(count);
  for (size_t i = 0; i < count; ++i) {
    const CUresult bad = Plan3D(ops[i], stream->view->root, &batch[i]);
    if (bad == CUDA_SUCCESS) continue;
    if (fail != nullptr) *fail = i;
    return bad;
  }
  return SendAll(stream, &batch);
}

}  // namespace

SIM_API CUresult cuMemcpyBatchAsync(CUdeviceptr* dsts, CUdeviceptr* srcs, size_t* sizes,
                                    size_t count, CUmemcpyAttributes* attrs, size_t* attrsIdxs,
                                    size_t numAttrs, size_t* failIdx, CUstream hStream) {
  return Run({dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs}, failIdx, hStream);
}
SIM_API CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* dsts, CUdeviceptr* srcs, size_t* sizes,
                                       size_t count, CUmemcpyAttributes* attrs, size_t* attrsIdxs,
                                       size_t numAttrs, CUstream hStream) {
  return Run({dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs}, nullptr, hStream);
}
SIM_API CUresult cuMemcpy3DBatchAsync(size_t numOps, CUDA_MEMCPY3D_BATCH_OP* opList,
                                      size_t* failIdx, unsigned long long flags, CUstream hStream) {
  return Run3D(numOps, opList, failIdx, flags, hStream);
}
SIM_API CUresult cuMemcpy3DBatchAsync_v2(size_t numOps, CUDA_MEMCPY3D_BATCH_OP* opList,
                                         unsigned long long flags, CUstream hStream) {
  return Run3D(numOps, opList, nullptr, flags, hStream);
}
