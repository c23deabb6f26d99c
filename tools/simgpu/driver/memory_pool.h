// SPDX-License-Identifier: Apache-2.0
// Memory pools: counters and attributes. The memory itself comes from MemoryTable.
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_MEMORY_POOL_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_MEMORY_POOL_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "tools/simgpu/driver/api.h"
#include "tools/simgpu/driver/arena.h"

namespace sgprs::simgpu::driver {

// Took, Gave and TrimTo are called under MemoryTable's lock or race only with readers; the counters
// may be read at any time. What a pool keeps (reserved, not used) is a number: cuMemGetInfo counts
// it as taken, and an allocation that needs the room gets it.
struct MemoryPool {
  int device = 0;
  uint64_t most = 0;  // CUmemPoolProps::maxSize, 0 = all there is
  std::atomic<uint64_t> used{0};
  std::atomic<uint64_t> used_high{0};
  std::atomic<uint64_t> reserved{0};
  std::atomic<uint64_t> reserved_high{0};
  std::atomic<uint64_t> release_threshold{0};
  std::atomic<int> reuse[3] = {1, 1, 1};  // CU_MEMPOOL_ATTR_REUSE_*
  std::atomic<uint32_t> accessible{0};    // peers with access, by device
  std::atomic<bool> closed{false};        // destroyed; memory of it may live on

  bool HasRoom(uint64_t bytes) const { return most == 0 || used + bytes <= most; }
  void Took(uint64_t bytes) {
    const uint64_t now = used += bytes;
    if (now > used_high) used_high = now;
    if (now > reserved) reserved = now;
    if (reserved > reserved_high) reserved_high = reserved.load();
  }
  void Gave(uint64_t bytes) {
    used -= bytes;
    TrimTo(closed ? 0 : release_threshold.load());
  }
  // Keeps at most `bytes`, or what is used.
  void TrimTo(uint64_t bytes) {
    reserved = std::max(used.load(), std::min(reserved.load(), bytes));
  }
};

using PoolArena = Arena<MemoryPool, 1024>;
PoolArena& Pools();
// A new pool; nullptr: no room.
MemoryPool* MakePool(int device);
// The device's own pool.
MemoryPool* DefaultPool(int device);
// The one that cuMemAllocAsync takes from (cuDeviceSetMemPool).
MemoryPool* CurrentPool(int device);
void SetCurrentPool(int device, MemoryPool* pool);  // nullptr: the default one
// Bytes that the device's pools hold beyond what is used.
uint64_t CachedBytes(int device);

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_MEMORY_POOL_H_
