// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/driver/memory_table.h"

#include <sys/mman.h>

#include <algorithm>
#include <mutex>

#include "tools/simgpu/driver/memory_pool.h"

namespace sgprs::simgpu::driver {
namespace {

constexpr size_t kAlign = 512;
constexpr size_t kPage = 4096;

size_t RoundUp(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

void* MapAnonymous(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

// Is every page there? What is not can not be pinned.
bool Present(uintptr_t address, size_t bytes) {
  const uintptr_t first = address / kPage * kPage;
  const size_t length = RoundUp(address + bytes - first, kPage);
  return msync(reinterpret_cast<void*>(first), length, MS_ASYNC) == 0;  // ENOMEM: a hole
}

}  // namespace

MemoryTable& Memory() {
  static auto* table = new MemoryTable();  // never destroyed
  return *table;
}

CUresult MemoryTable::Start(uint64_t bytes, int devices) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  devices_.resize(static_cast<size_t>(devices));
  for (DeviceMemory& device : devices_) {
    if (!device.Start(bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  return CUDA_SUCCESS;
}

CUresult MemoryTable::Allocate(const Allocation& what, CUdeviceptr* pointer) {
  Allocation made = what;
  std::unique_lock<std::shared_mutex> lock(mutex_);
  DeviceMemory& device = devices_[static_cast<size_t>(what.device)];
  if (what.bytes > device.total_bytes()) return CUDA_ERROR_OUT_OF_MEMORY;
  if (what.kind == MemoryKind::kDevice) {
    made.span = RoundUp(what.bytes, kAlign);
    if (made.pool != nullptr && !made.pool->HasRoom(made.span)) return CUDA_ERROR_OUT_OF_MEMORY;
    uint64_t offset;
    if (!device.Take(made.span, kAlign, &offset)) return CUDA_ERROR_OUT_OF_MEMORY;
    made.base = device.AddressOf(offset);
  } else {
    made.span = RoundUp(what.bytes, kPage);
    void* memory = MapAnonymous(made.span);
    if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    made.base = reinterpret_cast<uintptr_t>(memory);
  }
  made.id = next_id_++;
  ranges_[made.base] = made;
  if (made.pool != nullptr) made.pool->Took(made.span);
  *pointer = made.base;
  return CUDA_SUCCESS;
}

CUresult MemoryTable::Register(const Allocation& what) {
  if (!Present(what.base, what.bytes)) return CUDA_ERROR_INVALID_VALUE;
  std::unique_lock<std::shared_mutex> lock(mutex_);
  auto next = ranges_.lower_bound(what.base);
  if (next != ranges_.end() && next->first < what.base + what.bytes) {
    return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  }
  if (next != ranges_.begin() && std::prev(next)->second.end() > what.base) {
    return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  }
  Allocation made = what;
  made.span = what.bytes;
  made.id = next_id_++;
  ranges_[made.base] = made;
  return CUDA_SUCCESS;
}

void MemoryTable::Drop(const Allocation& allocation) {
  if (allocation.kind == MemoryKind::kDevice) {
    DeviceMemory& device = devices_[static_cast<size_t>(allocation.device)];
    device.Give(device.OffsetOf(allocation.base), allocation.span);
  } else if (allocation.kind != MemoryKind::kRegistered) {
    munmap(reinterpret_cast<void*>(allocation.base), allocation.span);
  }
  if (allocation.pool != nullptr) allocation.pool->Gave(allocation.span);
}

bool MemoryTable::Free(CUdeviceptr pointer) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  auto it = ranges_.find(pointer);
  if (it == ranges_.end() || it->second.kind == MemoryKind::kMapped) return false;
  Drop(it->second);
  ranges_.erase(it);
  return true;
}

bool MemoryTable::MarkFreed(CUdeviceptr pointer) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  auto it = ranges_.find(pointer);
  if (it == ranges_.end() || it->second.freed) return false;
  it->second.freed = true;
  return true;
}

void MemoryTable::FreeAllOf(const Context* owner) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  for (auto it = ranges_.begin(); it != ranges_.end();) {
    if (it->second.owner != owner) {
      ++it;
      continue;
    }
    Drop(it->second);
    it = ranges_.erase(it);
  }
}

void MemoryTable::SetSyncMemops(CUdeviceptr address, bool on) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  if (const Allocation* found = FindLocked(address)) ranges_[found->base].sync_memops = on;
}

const Allocation* MemoryTable::FindLocked(uintptr_t address) const {
  auto it = ranges_.upper_bound(address);
  if (it == ranges_.begin()) return nullptr;
  const Allocation& allocation = std::prev(it)->second;
  return address < allocation.end() && !allocation.freed ? &allocation : nullptr;
}

bool MemoryTable::Find(CUdeviceptr address, Allocation* found) const {
  return Find(address, 0, found, nullptr);
}

bool MemoryTable::Find(CUdeviceptr address, size_t bytes, Allocation* found, bool* fits) const {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  const Allocation* first = FindLocked(address);
  if (first == nullptr) return false;
  *found = *first;
  if (fits == nullptr) return true;
  const uintptr_t last = address + bytes;
  uintptr_t end = first->end();
  while (last > end && first->kind == MemoryKind::kMapped) {
    const Allocation* next = FindLocked(end);
    if (next == nullptr || next->kind != MemoryKind::kMapped) break;
    found->readers &= next->readers;
    found->writers &= next->writers;
    end = next->end();
  }
  *fits = last >= address && last <= end;
  return true;
}

uint64_t MemoryTable::total_bytes(int device) const {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  return devices_[static_cast<size_t>(device)].total_bytes();
}

uint64_t MemoryTable::free_bytes(int device) const {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  const DeviceMemory& memory = devices_[static_cast<size_t>(device)];
  const uint64_t unused = memory.total_bytes() - memory.used_bytes();
  const uint64_t cached = CachedBytes(device);  // kept by pools
  return unused - std::min(unused, cached);
}

}  // namespace sgprs::simgpu::driver
