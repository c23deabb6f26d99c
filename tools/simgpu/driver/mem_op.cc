// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/driver/mem_op.h"

#include <atomic>

#include "tools/simgpu/driver/enqueue.h"
#include "tools/simgpu/driver/process.h"
#include "tools/simgpu/driver/transfer.h"

namespace sgprs::simgpu::driver {
namespace {

bool Is64(CUstreamBatchMemOpType type) {
  return type == CU_STREAM_MEM_OP_WAIT_VALUE_64 || type == CU_STREAM_MEM_OP_WRITE_VALUE_64;
}

// The word must be device, managed or registered memory.
CUresult CheckWord(CUdeviceptr address, uint32_t bytes, const Context* root) {
  if (address % bytes != 0) return CUDA_ERROR_INVALID_VALUE;
  Place place;
  if (CUresult bad = Locate(address, bytes, Side::kAny, root, &place)) return bad;
  return place.pageable ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace

CUresult CheckMemOp(const CUstreamBatchMemOpParams& params, const Context* root) {
  const uint32_t bytes = Is64(params.operation) ? 8 : 4;
  switch (params.operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WAIT_VALUE_64: {
      const unsigned int flags = params.waitValue.flags;
      if ((flags & CU_STREAM_WAIT_VALUE_FLUSH) != 0) return CUDA_ERROR_NOT_SUPPORTED;
      if (flags > CU_STREAM_WAIT_VALUE_NOR) return CUDA_ERROR_INVALID_VALUE;
      return CheckWord(params.waitValue.address, bytes, root);
    }
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
      if (params.writeValue.flags > CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      return CheckWord(params.writeValue.address, bytes, root);
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
      return params.flushRemoteWrites.flags != 0 ? CUDA_ERROR_INVALID_VALUE
                                                 : CUDA_ERROR_NOT_SUPPORTED;
    case CU_STREAM_MEM_OP_BARRIER:
      return params.memoryBarrier.flags > CU_STREAM_MEMORY_BARRIER_TYPE_GPU
                 ? CUDA_ERROR_INVALID_VALUE
                 : CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

MemOpKinds KindsOf(const CUstreamBatchMemOpParams& params) {
  switch (params.operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
      return {CommandKind::kWaitValue, OpKind::kWaitValue};
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
      // No time of its own on the device, as an event has none.
      return {CommandKind::kEventRecord, OpKind::kWrite};
    default:
      return {CommandKind::kEventRecord, OpKind::kNothing};
  }
}

void WriteMemOp(const CUstreamBatchMemOpParams& params, uint32_t stream, Op* op) {
  const uint32_t bytes = Is64(params.operation) ? 8 : 4;
  if (op->kind == OpKind::kWaitValue) {
    const auto& wait = params.waitValue;
    op->wait = WaitOp{reinterpret_cast<void*>(wait.address), bytes == 8 ? wait.value64 : wait.value,
                      bytes, wait.flags, stream};
  } else if (op->kind == OpKind::kWrite) {
    const auto& write = params.writeValue;
    op->write = WriteOp{reinterpret_cast<void*>(write.address),
                        bytes == 8 ? write.value64 : write.value, bytes};
  }
}

bool ConditionMet(const WaitOp& wait) {
  // acquire: what another thread or process wrote before the value is there; pairs with its store.
  const uint64_t now = wait.bytes == 8
                           ? std::atomic_ref<uint64_t>(*static_cast<uint64_t*>(wait.target))
                                 .load(std::memory_order_acquire)
                           : std::atomic_ref<uint32_t>(*static_cast<uint32_t*>(wait.target))
                                 .load(std::memory_order_acquire);
  switch (wait.flags) {
    case CU_STREAM_WAIT_VALUE_GEQ:  // cyclic, as cuda.h has it
      return wait.bytes == 8 ? static_cast<int64_t>(now - wait.value) >= 0
                             : static_cast<int32_t>(static_cast<uint32_t>(now - wait.value)) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
      return now == wait.value;
    case CU_STREAM_WAIT_VALUE_AND:
      return (now & wait.value) != 0;
    default:  // NOR
      return (~(now | wait.value) & (wait.bytes == 8 ? ~uint64_t{0} : 0xffffffffu)) != 0;
  }
}

}  // namespace sgprs::simgpu::driver

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

namespace {

CUresult Send(CUstream handle, unsigned int count, const CUstreamBatchMemOpParams* params) {
  Stream* stream;
  if (CUresult status = EnterWithStream(handle, &stream)) return status;
  for (unsigned int i = 0; i < count; ++i) {
    if (CUresult bad = CheckMemOp(params[i], stream->view->root)) return bad;
  }
  if (CaptureActive()) {
    bool captured;
    const CUresult result = CaptureMemOps(stream, {params, params + count}, &captured);
    if (captured || result != CUDA_SUCCESS) return result;
  }
  Submission submission(stream);
  for (unsigned int i = 0; i < count; ++i) {
    const MemOpKinds kinds = KindsOf(params[i]);
    if (!submission.Next(kinds.command, kinds.op)) return submission.status();
    WriteMemOp(params[i], stream->id, &submission.op());
    submission.Commit();
  }
  return submission.Publish();
}

CUresult WaitValue(CUstream stream, CUdeviceptr address, uint64_t value, unsigned int flags,
                   CUstreamBatchMemOpType type) {
  CUstreamBatchMemOpParams params{};
  params.operation = type;
  params.waitValue.address = address;
  params.waitValue.value64 = value;
  params.waitValue.flags = flags;
  return Send(stream, 1, &params);
}

CUresult WriteValue(CUstream stream, CUdeviceptr address, uint64_t value, unsigned int flags,
                    CUstreamBatchMemOpType type) {
  CUstreamBatchMemOpParams params{};
  params.operation = type;
  params.writeValue.address = address;
  params.writeValue.value64 = value;
  params.writeValue.flags = flags;
  return Send(stream, 1, &params);
}

}  // namespace

SIM_API CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                        unsigned int flags) {
  return WaitValue(stream, addr, value, flags, CU_STREAM_MEM_OP_WAIT_VALUE_32);
}
SIM_API CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                        unsigned int flags) {
  return WaitValue(stream, addr, value, flags, CU_STREAM_MEM_OP_WAIT_VALUE_64);
}
SIM_API CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                         unsigned int flags) {
  return WriteValue(stream, addr, value, flags, CU_STREAM_MEM_OP_WRITE_VALUE_32);
}
SIM_API CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                         unsigned int flags) {
  return WriteValue(stream, addr, value, flags, CU_STREAM_MEM_OP_WRITE_VALUE_64);
}

SIM_API CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned int count,
                                       CUstreamBatchMemOpParams* paramArray, unsigned int flags) {
  if (CUresult status = Enter()) return status;
  constexpr unsigned int kMost = 256;  // cuda.h
  if (count == 0 || count > kMost || paramArray == nullptr || flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return Send(stream, count, paramArray);
}
