// SPDX-License-Identifier: Apache-2.0
// What commands do to memory.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tools/simgpu/driver/executor.h"
#include "tools/simgpu/driver/memory_table.h"
#include "tools/simgpu/driver/module.h"
#include "tools/simgpu/driver/objects.h"

namespace sgprs::simgpu::driver {
namespace {

void Copy(const CopyOp& copy) {
  auto* target = static_cast<unsigned char*>(copy.target);
  auto* source = static_cast<const unsigned char*>(copy.source);
  for (uint64_t z = 0; z < copy.depth; ++z) {
    for (uint64_t y = 0; y < copy.height; ++y) {
      memmove(target + z * copy.target_slice + y * copy.target_pitch,
              source + z * copy.source_slice + y * copy.source_pitch, copy.width_bytes);
    }
  }
}

template <typename T>
void FillRow(void* row, uint64_t count, uint32_t value) {
  T* item = static_cast<T*>(row);
  for (uint64_t i = 0; i < count; ++i) item[i] = static_cast<T>(value);
}

void Fill(const FillOp& fill) {
  for (uint64_t y = 0; y < fill.height; ++y) {
    unsigned char* row = static_cast<unsigned char*>(fill.target) + y * fill.pitch;
    if (fill.element_bytes == 1) memset(row, static_cast<int>(fill.value), fill.width);
    if (fill.element_bytes == 2) FillRow<uint16_t>(row, fill.width, fill.value);
    if (fill.element_bytes == 4) FillRow<uint32_t>(row, fill.width, fill.value);
  }
}

void RunKernel(const KernelOp& kernel) {
  const KernelInfo& info = *kernel.info;
  if (info.behaviour == nullptr || info.behaviour->body == nullptr) return;
  const auto* bytes =
      static_cast<const unsigned char*>(kernel.large != nullptr ? kernel.large : kernel.params);
  std::vector<const void*> params;
  params.reserve(info.image.params.size());
  for (const ImageParam& param : info.image.params) params.push_back(bytes + param.offset_bytes);
  SimgpuLaunch launch{};
  memcpy(launch.grid, kernel.grid, sizeof(launch.grid));
  memcpy(launch.block, kernel.block, sizeof(launch.block));
  launch.shared_bytes = kernel.shared_bytes;
  launch.param_count = static_cast<uint32_t>(params.size());
  launch.params = params.data();
  info.behaviour->body(&launch);
}

// Release pairs with ConditionMet(): who sees the value sees all that came before it.
void Write(const WriteOp& write) {
  if (write.bytes == 8) {
    std::atomic_ref<uint64_t>(*static_cast<uint64_t*>(write.target))
        .store(write.value, std::memory_order_release);
  } else {
    std::atomic_ref<uint32_t>(*static_cast<uint32_t*>(write.target))
        .store(static_cast<uint32_t>(write.value), std::memory_order_release);
  }
}

void Stamp(Event* event, uint64_t seq, uint64_t end_ns) {
  // relaxed: the waiter sees the stamp by IsDone(seq). A newer record makes this one void.
  if (event->record.load(std::memory_order_relaxed) == seq) {
    event->stamp_ns.store(end_ns, std::memory_order_relaxed);
  }
  ReleaseEvent(event);
}

void Release(Op* op) {
  if (op->kind == OpKind::kKernel) free(op->kernel.large);
  if (op->kind == OpKind::kCopy) free(op->copy.staging);
}

}  // namespace

void ApplyEffect(Op* op, const LogEntry& entry) {
  bool failed = entry.error != 0;
  if (failed) {
    uint32_t none = 0;  // the first error stays
    op->context->sticky.compare_exchange_strong(none, entry.error);
  }
  // After an error nothing of the context is computed any more; only handles and memory go on.
  failed = failed || op->context->sticky.load(std::memory_order_relaxed) != 0;
  switch (op->kind) {
    case OpKind::kKernel:
      if (!failed) RunKernel(op->kernel);
      break;
    case OpKind::kCopy:
      if (!failed) Copy(op->copy);
      break;
    case OpKind::kFill:
      if (!failed) Fill(op->fill);
      break;
    case OpKind::kWrite:
      if (!failed) Write(op->write);
      break;
    case OpKind::kEvent:
      Stamp(op->event, op->seq, entry.end_ns);
      break;
    case OpKind::kFree:
      Memory().Free(reinterpret_cast<CUdeviceptr>(op->free));
      break;
    case OpKind::kHost:
    case OpKind::kWaitValue:
    case OpKind::kEventWait:
    case OpKind::kNothing:
      break;
  }
  Release(op);
}

}  // namespace sgprs::simgpu::driver
