// SPDX-License-Identifier: Apache-2.0
// Every range of memory that the driver knows: device, managed, pinned, registered, mapped. A
// device pointer is a host pointer.
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_MEMORY_TABLE_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_MEMORY_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <shared_mutex>
#include <vector>

#include "tools/simgpu/driver/api.h"
#include "tools/simgpu/driver/device_memory.h"

namespace sgprs::simgpu::driver {

struct Context;
struct MemoryPool;
struct PhysicalMemory;

enum class MemoryKind {
  kDevice,
  kManaged,
  kPinned,
  kRegistered,
  kMapped,  // cuMemMap
};

struct Allocation {
  MemoryKind kind = MemoryKind::kDevice;
  uintptr_t base = 0;
  size_t bytes = 0;          // as asked for
  size_t span = 0;           // as taken
  int device = 0;            // ordinal; of the context for memory of the host
  Context* owner = nullptr;  // root context; nullptr for pool and mapped memory: the device's
  MemoryPool* pool = nullptr;
  PhysicalMemory* physical = nullptr;  // kMapped
  uint32_t readers = 0;                // kMapped: devices with access, by bit
  uint32_t writers = 0;
  unsigned int flags = 0;
  uint64_t id = 0;
  bool module = false;       // a module's global: not the program's to free
  bool freed = false;        // cuMemFreeAsync is under way
  bool sync_memops = false;  // CU_POINTER_ATTRIBUTE_SYNC_MEMOPS

  bool on_host() const { return kind == MemoryKind::kPinned || kind == MemoryKind::kRegistered; }
  uintptr_t end() const { return base + bytes; }
};

// What cuMemCreate makes. Lives while a handle or a mapping does.
struct PhysicalMemory {
  int device = 0;
  uint64_t offset = 0;  // in the device's memory
  size_t bytes = 0;
  CUmemAllocationProp properties{};
  int file = -1;          // of another process's device memory, ours to close; -1: of our device
  bool exported = false;  // others may use it: never given back
  int handles = 1;        // cuMemCreate, cuMemRetainAllocationHandle; under MemoryTable's lock
  int mappings = 0;       // under MemoryTable's lock
};

// Thread: any; short locks.
class MemoryTable {
 public:
  static constexpr size_t kGranularity = 2 << 20;  // of cuMemCreate, cuMemMap

  // `devices` devices of `bytes` each (less where the system refuses).
  CUresult Start(uint64_t bytes, int devices);

  // Takes memory and notes it. `what`: kind, bytes, device, owner, pool, flags, module are used.
  CUresult Allocate(const Allocation& what, CUdeviceptr* pointer);
  CUresult Register(const Allocation& what);
  // Forgets the range that begins at `pointer`, and gives its memory back unless it was registered.
  bool Free(CUdeviceptr pointer);
  // cuMemFreeAsync: from now on Find fails; Free comes with the stream. False: freed already.
  bool MarkFreed(CUdeviceptr pointer);
  // Everything that the context owns.
  void FreeAllOf(const Context* owner);
  void SetSyncMemops(CUdeviceptr address, bool on);

  // The range that holds `address`. False: none.
  bool Find(CUdeviceptr address, Allocation* found) const;
  // Find, and do `bytes` from there on lie in the range? Mapped ranges that follow each other count
  // as one. `fits` may be nullptr.
  bool Find(CUdeviceptr address, size_t bytes, Allocation* found, bool* fits) const;

  // Virtual memory management (cuda.h says what is wrong with the arguments: INVALID_VALUE).
  CUresult Reserve(size_t bytes, size_t align, uintptr_t wish, CUdeviceptr* pointer);
  CUresult Unreserve(CUdeviceptr pointer, size_t bytes);
  CUresult CreatePhysical(const CUmemAllocationProp& properties, size_t bytes,
                          PhysicalMemory** made);
  void ReleasePhysical(PhysicalMemory* memory);
  CUresult Map(CUdeviceptr pointer, size_t bytes, PhysicalMemory* memory);
  CUresult Unmap(CUdeviceptr pointer, size_t bytes);
  // `readers`, `writers`: devices by bit, among those of `devices`.
  CUresult SetAccess(CUdeviceptr pointer, size_t bytes, uint32_t devices, uint32_t readers,
                     uint32_t writers);
  // A new file descriptor that says which part of which device's memory it means; and back.
  CUresult ExportPhysical(PhysicalMemory* memory, int* descriptor);
  CUresult ImportPhysical(int descriptor, PhysicalMemory** made);
  // One more handle for what is mapped at `address`.
  PhysicalMemory* RetainPhysical(uintptr_t address);
  // False: `address` lies in no reserved range. Else its bounds.
  bool FindReserved(uintptr_t address, uintptr_t* base, size_t* bytes) const;

  uint64_t total_bytes(int device) const;
  uint64_t free_bytes(int device) const;

 private:
  using Ranges = std::map<uintptr_t, Allocation>;
  void Drop(const Allocation& allocation);
  void DropPhysicalIfUnused(PhysicalMemory* memory);
  const Allocation* FindLocked(uintptr_t address) const;
  // The mapped ranges that are exactly [pointer, pointer + bytes). Empty: it is not so.
  std::vector<Allocation*> Mapped(uintptr_t pointer, size_t bytes);

  mutable std::shared_mutex mutex_;
  Ranges ranges_;  // by base
  std::vector<DeviceMemory> devices_;
  std::map<uintptr_t, size_t> reserved_;  // cuMemAddressReserve, by base
  uint64_t next_id_ = 1;
};

MemoryTable& Memory();

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_MEMORY_TABLE_H_
