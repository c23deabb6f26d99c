// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/driver/transfer.h"

#include <cstdlib>
#include <cstring>

#include "tools/simgpu/driver/enqueue.h"
#include "tools/simgpu/driver/process.h"

namespace sgprs::simgpu::driver {
namespace {

constexpr uint64_t kStagedBytes = 64 << 10;  // pageable sources up to here are copied at once

CopyDirection DirectionOf(const Transfer& transfer) {
  if (transfer.source.device && transfer.target.device) return CopyDirection::kDeviceToDevice;
  return transfer.source.device ? CopyDirection::kDeviceToHost : CopyDirection::kHostToDevice;
}

CUresult Send(Stream* stream, const Transfer& transfer, void* staging, uint64_t* seq) {
  return Enqueue(
      stream, CommandKind::kCopy, OpKind::kCopy,
      [&](Op& op, Command& command) {
        op.copy = transfer.copy;
        op.copy.staging = staging;
        if (staging != nullptr) op.copy.source = staging;
        command.bytes = transfer.bytes;
        command.direction = static_cast<uint32_t>(DirectionOf(transfer));
      },
      seq);
}

CUresult SendAndWait(Stream* stream, const Transfer& transfer) {
  uint64_t seq = 0;
  if (CUresult result = Send(stream, transfer, nullptr, &seq)) return result;
  if (CUresult result = TheProcess().queue.Wait(seq)) return result;
  return ContextStatus(stream->view);
}

bool IsFlat(const CopyOp& copy) { return copy.height == 1 && copy.depth == 1; }

}  // namespace

CUresult Locate(CUdeviceptr address, uint64_t bytes, Side side, const Context* root, Place* place) {
  if (address == 0) return CUDA_ERROR_INVALID_VALUE;
  Allocation found;
  if (!Memory().Find(address, &found)) {
    if (side == Side::kDevice) return CUDA_ERROR_INVALID_VALUE;
    *place = Place{false, true};
    return CUDA_SUCCESS;
  }
  if (bytes > found.base + found.bytes - address) return CUDA_ERROR_INVALID_VALUE;
  place->pageable = false;
  place->device = !found.on_host();
  if (side == Side::kHost && found.kind == MemoryKind::kDevice) return CUDA_ERROR_INVALID_VALUE;
  const bool foreign =
      found.kind == MemoryKind::kDevice && found.owner != nullptr && found.owner != root;
  return foreign ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult PlanFlat(CUdeviceptr target, Side target_side, CUdeviceptr source, Side source_side,
                  uint64_t bytes, const Context* root, Transfer* transfer) {
  transfer->bytes = bytes;
  if (bytes == 0) return CUDA_SUCCESS;
  if (CUresult bad = Locate(target, bytes, target_side, root, &transfer->target)) return bad;
  if (CUresult bad = Locate(source, bytes, source_side, root, &transfer->source)) return bad;
  CopyOp& copy = transfer->copy;
  copy.target = reinterpret_cast<void*>(target);
  copy.source = reinterpret_cast<const void*>(source);
  copy.width_bytes = bytes;
  copy.height = 1;
  copy.depth = 1;
  return CUDA_SUCCESS;
}

CUresult CopyAsync(Stream* stream, const Transfer& transfer) {
  if (transfer.bytes == 0) return CUDA_SUCCESS;
  // A captured copy reads and writes when the graph runs.
  if (stream->capture.load() != nullptr) return Send(stream, transfer, nullptr, nullptr);
  if (transfer.target.pageable) return SendAndWait(stream, transfer);
  if (!transfer.source.pageable) return Send(stream, transfer, nullptr, nullptr);
  if (!IsFlat(transfer.copy) || transfer.bytes > kStagedBytes) return SendAndWait(stream, transfer);
  void* staging = malloc(transfer.bytes);
  if (staging == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  memcpy(staging, transfer.copy.source, transfer.bytes);
  const CUresult result = Send(stream, transfer, staging, nullptr);
  if (result != CUDA_SUCCESS) free(staging);
  return result;
}

CUresult CopySync(Stream* stream, const Transfer& transfer) {
  if (CaptureActive()) {
    if (CUresult refused = RefuseUnsafe()) return refused;
  }
  if (transfer.bytes == 0) return CUDA_SUCCESS;
  const bool inside = transfer.source.device && transfer.target.device;
  return inside ? Send(stream, transfer, nullptr, nullptr) : SendAndWait(stream, transfer);
}

}  // namespace sgprs::simgpu::driver
