// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/driver/transfer.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tools/simgpu/driver/enqueue.h"
#include "tools/simgpu/driver/memory_pool.h"
#include "tools/simgpu/driver/process.h"

namespace sgprs::simgpu::driver {
namespace {

constexpr uint64_t kStagedBytes = 64 << 10;  // pageable sources up to here are copied at once

CopyDirection DirectionOf(const Transfer& transfer) {
  if (transfer.source.device && transfer.target.device) {
    return transfer.source.ordinal == transfer.target.ordinal ? CopyDirection::kDeviceToDevice
                                                              : CopyDirection::kPeer;
  }
  return transfer.source.device ? CopyDirection::kDeviceToHost : CopyDirection::kHostToDevice;
}

CUresult Send(Stream* stream, const Transfer& transfer, void* staging, uint64_t* seq) {
  return Enqueue(
      stream, CommandKind::kCopy, OpKind::kCopy,
      [&](Op& op, Command& command) { WriteTransfer(transfer, staging, &op, &command); }, seq);
}

CUresult SendAndWait(Stream* stream, const Transfer& transfer) {
  uint64_t seq = 0;
  if (CUresult result = Send(stream, transfer, nullptr, &seq)) return result;
  if (CUresult result = TheProcess().queue.Wait(seq)) return result;
  return ContextStatus(stream->view);
}

// Has the context access to that memory of another device?
bool CanUse(const Context& root, const Allocation& found) {
  if (found.kind == MemoryKind::kMapped) return (found.readers >> root.device & 1) != 0;
  if (found.pool != nullptr) return (found.pool->accessible >> root.device & 1) != 0;
  std::lock_guard<std::mutex> lock(ObjectMutex());
  return std::find(root.peers.begin(), root.peers.end(), found.owner) != root.peers.end();
}

bool IsFlat(const CopyOp& copy) { return copy.height == 1 && copy.depth == 1; }

}  // namespace

CUresult Locate(CUdeviceptr address, uint64_t bytes, Side side, const Context* root, Place* place) {
  if (address == 0) return CUDA_ERROR_INVALID_VALUE;
  Allocation found;
  bool fits;
  if (!Memory().Find(address, bytes, &found, &fits)) {
    if (side == Side::kDevice) return CUDA_ERROR_INVALID_VALUE;
    *place = Place{};
    place->pageable = true;
    return CUDA_SUCCESS;
  }
  if (!fits) return CUDA_ERROR_INVALID_VALUE;
  place->pageable = false;
  place->managed = found.kind == MemoryKind::kManaged;
  place->sync_memops = found.sync_memops;
  place->device = !found.on_host();
  place->ordinal = found.on_host() || place->managed ? root->device : found.device;
  if (!place->device || place->managed) return CUDA_SUCCESS;
  if (side == Side::kHost) return CUDA_ERROR_INVALID_VALUE;
  if (found.kind == MemoryKind::kMapped && (found.readers | found.writers) == 0) {
    return CUDA_ERROR_INVALID_VALUE;  // nobody has access yet
  }
  if (found.device != root->device) {  // a peer's: by unified addresses, or where access is enabled
    const bool open = side == Side::kAny || side == Side::kPeer || CanUse(*root, found);
    return open ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  const bool foreign = found.owner != nullptr && found.owner != root && side != Side::kPeer;
  return foreign ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

void WriteTransfer(const Transfer& transfer, void* staging, Op* op, Command* command) {
  op->copy = transfer.copy;
  op->copy.staging = staging;
  if (staging != nullptr) op->copy.source = staging;
  command->bytes = transfer.bytes;
  command->direction = static_cast<uint32_t>(DirectionOf(transfer));
}

CUDA_MEMCPY3D Describe(const CopyOp& copy) {
  CUDA_MEMCPY3D result{};
  const auto type_of = [](const void* address) {
    Allocation found;
    const bool known = Memory().Find(reinterpret_cast<CUdeviceptr>(address), &found);
    return known && !found.on_host() ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
  };
  const size_t rows[2] = {copy.source_pitch > 0 ? copy.source_slice / copy.source_pitch : 0,
                          copy.target_pitch > 0 ? copy.target_slice / copy.target_pitch : 0};
  result.srcMemoryType = type_of(copy.source);
  result.srcHost = result.srcMemoryType == CU_MEMORYTYPE_HOST ? copy.source : nullptr;
  result.srcDevice = result.srcHost == nullptr ? reinterpret_cast<CUdeviceptr>(copy.source) : 0;
  result.srcPitch = copy.source_pitch;
  result.srcHeight = rows[0];
  result.dstMemoryType = type_of(copy.target);
  result.dstHost = result.dstMemoryType == CU_MEMORYTYPE_HOST ? copy.target : nullptr;
  result.dstDevice = result.dstHost == nullptr ? reinterpret_cast<CUdeviceptr>(copy.target) : 0;
  result.dstPitch = copy.target_pitch;
  result.dstHeight = rows[1];
  result.WidthInBytes = copy.width_bytes;
  result.Height = copy.height;
  result.Depth = copy.depth;
  return result;
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
  const bool inside = transfer.source.device && transfer.target.device &&
                      !transfer.source.sync_memops && !transfer.target.sync_memops;
  return inside ? Send(stream, transfer, nullptr, nullptr) : SendAndWait(stream, transfer);
}

}  // namespace sgprs::simgpu::driver
