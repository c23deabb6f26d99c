// SPDX-License-Identifier: Apache-2.0
// The memory of one simulated device: a sparse file in memory, seen as a whole at one address, so
// that a device pointer is a host pointer, and in parts at others (virtual memory management).
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_DEVICE_MEMORY_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_DEVICE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>

namespace sgprs::simgpu::driver {

// Not thread-safe: MemoryTable's lock.
class DeviceMemory {
 public:
  // Reserves `bytes` of address space (less where the system refuses). False: not even 64 MiB.
  bool Start(uint64_t bytes);

  // A free part of `span` bytes at a multiple of `align` (a power of two). Its bytes may be
  // anything.
  bool Take(size_t span, size_t align, uint64_t* offset);
  // Gives a part back; its whole pages go back to the system.
  void Give(uint64_t offset, size_t span);

  uintptr_t AddressOf(uint64_t offset) const { return base_ + offset; }
  uint64_t OffsetOf(uintptr_t address) const { return address - base_; }
  bool Holds(uintptr_t address) const { return address >= base_ && address - base_ < total_; }
  int file() const { return file_; }
  uint64_t total_bytes() const { return total_; }
  uint64_t used_bytes() const { return used_; }

 private:
  int file_ = -1;
  uintptr_t base_ = 0;
  uint64_t total_ = 0;
  uint64_t used_ = 0;
  std::map<uint64_t, size_t> free_;  // by offset
};

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_DEVICE_MEMORY_H_
