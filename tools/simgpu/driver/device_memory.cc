// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/driver/device_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <iterator>

namespace sgprs::simgpu::driver {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kLeastReserve = 64ull << 20;

uint64_t RoundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

bool DeviceMemory::Start(uint64_t bytes) {
  if (total_ != 0) return true;
  file_ = memfd_create("simgpu-device-memory", MFD_CLOEXEC);
  if (file_ < 0) return false;
  for (; bytes >= kLeastReserve; bytes /= 2) {
    if (ftruncate(file_, static_cast<off_t>(bytes)) != 0) continue;
    void* memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
    if (memory == MAP_FAILED) continue;
    madvise(memory, bytes, MADV_DONTFORK);  // a forked child has no device memory
    base_ = reinterpret_cast<uintptr_t>(memory);
    total_ = bytes;
    free_[0] = bytes;
    return true;
  }
  close(file_);
  file_ = -1;
  return false;
}

bool DeviceMemory::Take(size_t span, size_t align, uint64_t* offset) {
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    const uint64_t begin = it->first;
    const uint64_t end = begin + it->second;
    const uint64_t first = RoundUp(begin, align);
    if (first >= end || end - first < span) continue;
    free_.erase(it);
    if (first > begin) free_[begin] = first - begin;
    if (end > first + span) free_[first + span] = end - first - span;
    used_ += span;
    *offset = first;
    return true;
  }
  return false;
}

void DeviceMemory::Give(uint64_t offset, size_t span) {
  const uint64_t first = RoundUp(offset, kPage);
  const uint64_t last = (offset + span) / kPage * kPage;
  if (last > first) {
    madvise(reinterpret_cast<void*>(base_ + first), last - first, MADV_REMOVE);
  }
  used_ -= span;
  auto next = free_.upper_bound(offset);
  if (next != free_.end() && offset + span == next->first) {
    span += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += span;
      return;
    }
  }
  free_[offset] = span;
}

}  // namespace sgprs::simgpu::driver
