// SPDX-License-Identifier: Apache-2.0
// Every range of memory that the driver knows: device, managed, pinned, registered. Device memory
// is one reserved range of this process, so that a device pointer is a host pointer.
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_MEMORY_TABLE_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_MEMORY_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <shared_mutex>

#include "tools/simgpu/driver/api.h"

namespace sgprs::simgpu::driver {

struct Context;
struct MemoryPool;

enum class MemoryKind { kDevice, kManaged, kPinned, kRegistered };

struct Allocation {
  MemoryKind kind = MemoryKind::kDevice;
  uintptr_t base = 0;
  size_t bytes = 0;          // as asked for
  size_t span = 0;           // as taken
  Context* owner = nullptr;  // root context; nullptr for pool memory, which is the device's
  MemoryPool* pool = nullptr;
  unsigned int flags = 0;
  uint64_t id = 0;
  bool module = false;  // a module's global: not the program's to free
  bool freed = false;   // cuMemFreeAsync is under way

  bool on_host() const { return kind == MemoryKind::kPinned || kind == MemoryKind::kRegistered; }
};

// Thread: any; short locks.
class MemoryTable {
 public:
  // Reserves `bytes` of address space (less where the system refuses).
  CUresult Start(uint64_t bytes);

  // Takes memory and notes it. `what`: kind, bytes, owner, pool, flags, module are used.
  CUresult Allocate(const Allocation& what, CUdeviceptr* pointer);
  CUresult Register(const Allocation& what);
  // Forgets the range that begins at `pointer`, and gives its memory back unless it was registered.
  bool Free(CUdeviceptr pointer);
  // cuMemFreeAsync: from now on Find fails; Free comes with the stream. False: freed already.
  bool MarkFreed(CUdeviceptr pointer);
  // Everything that the context owns.
  void FreeAllOf(const Context* owner);

  // The range that holds `address`. False: none.
  bool Find(CUdeviceptr address, Allocation* found) const;

  uint64_t total_bytes() const { return total_bytes_; }
  uint64_t free_bytes() const;

 private:
  bool TakeDevice(size_t span, uintptr_t* base);
  void GiveDevice(uintptr_t base, size_t span);
  void Drop(const Allocation& allocation);

  mutable std::shared_mutex mutex_;
  std::map<uintptr_t, Allocation> ranges_;   // by base
  std::map<uintptr_t, size_t> free_device_;  // by base
  uint64_t total_bytes_ = 0;
  uint64_t device_used_ = 0;
  uint64_t next_id_ = 1;
};

MemoryTable& Memory();

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_MEMORY_TABLE_H_
