// SPDX-License-Identifier: Apache-2.0
// Memory pools: counters and attributes. The memory itself comes from MemoryTable.
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_MEMORY_POOL_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_MEMORY_POOL_H_

#include <atomic>
#include <cstdint>

#include "tools/simgpu/driver/api.h"
#include "tools/simgpu/driver/arena.h"

namespace sgprs::simgpu::driver {

// Took and Gave are called under MemoryTable's lock; the counters may be read at any time.
struct MemoryPool {
  std::atomic<uint64_t> used{0};
  std::atomic<uint64_t> used_high{0};
  std::atomic<uint64_t> release_threshold{0};
  std::atomic<int> reuse[3] = {1, 1, 1};  // CU_MEMPOOL_ATTR_REUSE_*

  void Took(uint64_t bytes) {
    const uint64_t now = used += bytes;
    if (now > used_high) used_high = now;
  }
  void Gave(uint64_t bytes) { used -= bytes; }
};

using PoolArena = Arena<MemoryPool, 1024>;
PoolArena& Pools();
// The device's own pool.
MemoryPool* DefaultPool();
// The one that cuMemAllocAsync takes from (cuDeviceSetMemPool).
MemoryPool* CurrentPool();
void SetCurrentPool(MemoryPool* pool);

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_MEMORY_POOL_H_
