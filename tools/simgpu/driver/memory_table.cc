// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/driver/memory_table.h"

#include <sys/mman.h>
#include <unistd.h>

#include <mutex>

#include "tools/simgpu/driver/memory_pool.h"

namespace sgprs::simgpu::driver {
namespace {

constexpr size_t kAlign = 512;
constexpr size_t kPage = 4096;
constexpr uint64_t kLeastReserve = 64ull << 20;

size_t RoundUp(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

void* MapAnonymous(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

MemoryTable& Memory() {
  static auto* table = new MemoryTable();  // never destroyed
  return *table;
}

CUresult MemoryTable::Start(uint64_t bytes) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  if (!free_device_.empty() || total_bytes_ != 0) return CUDA_SUCCESS;
  for (; bytes >= kLeastReserve; bytes /= 2) {
    void* memory = MapAnonymous(bytes);
    if (memory == nullptr) continue;
    madvise(memory, bytes, MADV_DONTFORK);
    free_device_[reinterpret_cast<uintptr_t>(memory)] = bytes;
    total_bytes_ = bytes;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_OUT_OF_MEMORY;
}

bool MemoryTable::TakeDevice(size_t span, uintptr_t* base) {
  for (auto it = free_device_.begin(); it != free_device_.end(); ++it) {
    if (it->second < span) continue;
    *base = it->first;
    const size_t rest = it->second - span;
    free_device_.erase(it);
    if (rest > 0) free_device_[*base + span] = rest;
    device_used_ += span;
    return true;
  }
  return false;
}

void MemoryTable::GiveDevice(uintptr_t base, size_t span) {
  // Whole pages go back to the system.
  const uintptr_t first = RoundUp(base, kPage);
  const uintptr_t last = (base + span) / kPage * kPage;
  if (last > first) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
  device_used_ -= span;
  auto next = free_device_.upper_bound(base);
  if (next != free_device_.end() && base + span == next->first) {
    span += next->second;
    next = free_device_.erase(next);
  }
  if (next != free_device_.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second == base) {
      before->second += span;
      return;
    }
  }
  free_device_[base] = span;
}

CUresult MemoryTable::Allocate(const Allocation& what, CUdeviceptr* pointer) {
  Allocation made = what;
  std::unique_lock<std::shared_mutex> lock(mutex_);
  if (what.bytes > total_bytes_) return CUDA_ERROR_OUT_OF_MEMORY;
  if (what.kind == MemoryKind::kDevice) {
    made.span = RoundUp(what.bytes, kAlign);
    if (!TakeDevice(made.span, &made.base)) return CUDA_ERROR_OUT_OF_MEMORY;
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
  std::unique_lock<std::shared_mutex> lock(mutex_);
  auto next = ranges_.lower_bound(what.base);
  if (next != ranges_.end() && next->first < what.base + what.bytes) {
    return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  }
  if (next != ranges_.begin()) {
    const Allocation& before = std::prev(next)->second;
    if (before.base + before.bytes > what.base) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  }
  Allocation made = what;
  made.span = what.bytes;
  made.id = next_id_++;
  ranges_[made.base] = made;
  return CUDA_SUCCESS;
}

void MemoryTable::Drop(const Allocation& allocation) {
  if (allocation.kind == MemoryKind::kDevice) {
    GiveDevice(allocation.base, allocation.span);
  } else if (allocation.kind != MemoryKind::kRegistered) {
    munmap(reinterpret_cast<void*>(allocation.base), allocation.span);
  }
  if (allocation.pool != nullptr) allocation.pool->Gave(allocation.span);
}

bool MemoryTable::Free(CUdeviceptr pointer) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  auto it = ranges_.find(pointer);
  if (it == ranges_.end()) return false;
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

bool MemoryTable::Find(CUdeviceptr address, Allocation* found) const {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  auto it = ranges_.upper_bound(address);
  if (it == ranges_.begin()) return false;
  const Allocation& allocation = std::prev(it)->second;
  if (address >= allocation.base + allocation.bytes || allocation.freed) return false;
  *found = allocation;
  return true;
}

uint64_t MemoryTable::free_bytes() const {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  return total_bytes_ - device_used_;
}

}  // namespace sgprs::simgpu::driver
