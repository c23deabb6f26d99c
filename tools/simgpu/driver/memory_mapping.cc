// SPDX-License-Identifier: Apache-2.0
// MemoryTable's half of virtual memory management: address ranges, and memory mapped into them.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mutex>
#include <string>

#include "tools/simgpu/driver/memory_table.h"

namespace sgprs::simgpu::driver {
namespace {

constexpr int kReservedFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

void* At(uintptr_t address) { return reinterpret_cast<void*>(address); }

}  // namespace

CUresult MemoryTable::Reserve(size_t bytes, size_t align, uintptr_t wish, CUdeviceptr* pointer) {
  if (align < kGranularity) align = kGranularity;
  // With room to cut to the alignment; what the wish gets is kept if it fits.
  void* memory = mmap(At(wish), bytes + align, PROT_NONE, kReservedFlags, -1, 0);
  if (memory == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  const auto got = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t first = (got + align - 1) / align * align;
  if (first > got) munmap(memory, first - got);
  const uintptr_t behind = got + bytes + align - (first + bytes);
  if (behind > 0) munmap(At(first + bytes), behind);
  madvise(At(first), bytes, MADV_DONTFORK);
  std::unique_lock<std::shared_mutex> lock(mutex_);
  reserved_[first] = bytes;
  *pointer = first;
  return CUDA_SUCCESS;
}

CUresult MemoryTable::Unreserve(CUdeviceptr pointer, size_t bytes) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  auto it = reserved_.find(pointer);
  if (it == reserved_.end() || it->second != bytes) return CUDA_ERROR_INVALID_VALUE;
  auto mapped = ranges_.lower_bound(pointer);  // still something mapped in there?
  if (mapped != ranges_.end() && mapped->first < pointer + bytes) return CUDA_ERROR_INVALID_VALUE;
  munmap(At(pointer), bytes);
  reserved_.erase(it);
  return CUDA_SUCCESS;
}

CUresult MemoryTable::CreatePhysical(const CUmemAllocationProp& properties, size_t bytes,
                                     PhysicalMemory** made) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  const int device = properties.location.id;
  uint64_t offset;
  if (!devices_[static_cast<size_t>(device)].Take(bytes, kGranularity, &offset)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *made = new PhysicalMemory();
  (*made)->device = device;
  (*made)->offset = offset;
  (*made)->bytes = bytes;
  (*made)->properties = properties;
  return CUDA_SUCCESS;
}

void MemoryTable::DropPhysicalIfUnused(PhysicalMemory* memory) {
  if (memory->handles > 0 || memory->mappings > 0) return;
  if (memory->file >= 0) {
    close(memory->file);
    delete memory;
    return;
  }
  if (memory->exported) return;
  devices_[static_cast<size_t>(memory->device)].Give(memory->offset, memory->bytes);
  delete memory;
}

void MemoryTable::ReleasePhysical(PhysicalMemory* memory) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  --memory->handles;
  DropPhysicalIfUnused(memory);
}

CUresult MemoryTable::Map(CUdeviceptr pointer, size_t bytes, PhysicalMemory* memory) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  auto range = reserved_.upper_bound(pointer);
  if (range == reserved_.begin()) return CUDA_ERROR_INVALID_VALUE;
  --range;
  if (pointer + bytes > range->first + range->second) return CUDA_ERROR_INVALID_VALUE;
  auto next = ranges_.lower_bound(pointer);
  if (next != ranges_.end() && next->first < pointer + bytes) return CUDA_ERROR_INVALID_VALUE;
  if (next != ranges_.begin() && std::prev(next)->second.end() > pointer) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const DeviceMemory& device = devices_[static_cast<size_t>(memory->device)];
  const int file = memory->file >= 0 ? memory->file : device.file();
  if (mmap(At(pointer), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file,
           static_cast<off_t>(memory->offset)) == MAP_FAILED) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  madvise(At(pointer), bytes, MADV_DONTFORK);
  Allocation made;
  made.kind = MemoryKind::kMapped;
  made.base = pointer;
  made.bytes = bytes;
  made.span = bytes;
  made.device = memory->device;
  made.physical = memory;
  made.id = next_id_++;
  ranges_[pointer] = made;
  ++memory->mappings;
  return CUDA_SUCCESS;
}

std::vector<Allocation*> MemoryTable::Mapped(uintptr_t pointer, size_t bytes) {
  std::vector<Allocation*> found;
  for (uintptr_t at = pointer; at < pointer + bytes;) {
    auto it = ranges_.find(at);
    if (it == ranges_.end() || it->second.kind != MemoryKind::kMapped) return {};
    found.push_back(&it->second);
    at = it->second.end();
    if (at > pointer + bytes) return {};
  }
  return found;
}

CUresult MemoryTable::Unmap(CUdeviceptr pointer, size_t bytes) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  const std::vector<Allocation*> mapped = Mapped(pointer, bytes);
  if (mapped.empty()) return CUDA_ERROR_INVALID_VALUE;
  for (Allocation* one : mapped) {
    PhysicalMemory* memory = one->physical;
    if (mmap(At(one->base), one->bytes, PROT_NONE, kReservedFlags | MAP_FIXED, -1, 0) ==
        MAP_FAILED) {
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    ranges_.erase(one->base);
    --memory->mappings;
    DropPhysicalIfUnused(memory);
  }
  return CUDA_SUCCESS;
}

CUresult MemoryTable::SetAccess(CUdeviceptr pointer, size_t bytes, uint32_t devices,
                                uint32_t readers, uint32_t writers) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  const std::vector<Allocation*> mapped = Mapped(pointer, bytes);
  if (mapped.empty()) return CUDA_ERROR_INVALID_VALUE;
  for (Allocation* one : mapped) {
    one->readers = (one->readers & ~devices) | readers;
    one->writers = (one->writers & ~devices) | writers;
    int protection = PROT_NONE;
    if (one->readers != 0) protection |= PROT_READ;
    if (one->writers != 0) protection |= PROT_READ | PROT_WRITE;
    mprotect(At(one->base), one->bytes, protection);
  }
  return CUDA_SUCCESS;
}

// The descriptor's file position carries the part: its size above bit 32, its offset below, both in
// units of the granularity.
CUresult MemoryTable::ExportPhysical(PhysicalMemory* memory, int* descriptor) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  if (memory->file >= 0) return CUDA_ERROR_NOT_SUPPORTED;
  const DeviceMemory& device = devices_[static_cast<size_t>(memory->device)];
  const std::string path = "/proc/self/fd/" + std::to_string(device.file());
  const int made = open(path.c_str(), O_RDWR | O_CLOEXEC);  // a position of its own
  if (made < 0) return CUDA_ERROR_OPERATING_SYSTEM;
  const uint64_t part =
      static_cast<uint64_t>(memory->bytes / kGranularity) << 32 | memory->offset / kGranularity;
  if (lseek(made, static_cast<off_t>(part), SEEK_SET) < 0) {
    close(made);
    return CUDA_ERROR_OPERATING_SYSTEM;
  }
  memory->exported = true;
  *descriptor = made;
  return CUDA_SUCCESS;
}

CUresult MemoryTable::ImportPhysical(int descriptor, PhysicalMemory** made) {
  struct stat status;
  const off_t position = lseek(descriptor, 0, SEEK_CUR);
  if (position < 0 || fstat(descriptor, &status) != 0) return CUDA_ERROR_INVALID_VALUE;
  const auto part = static_cast<uint64_t>(position);
  const uint64_t bytes = (part >> 32) * kGranularity;
  const uint64_t offset = (part & 0xffffffff) * kGranularity;
  if (bytes == 0 || offset + bytes > static_cast<uint64_t>(status.st_size)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const int file = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (file < 0) return CUDA_ERROR_OPERATING_SYSTEM;
  *made = new PhysicalMemory();
  (*made)->offset = offset;
  (*made)->bytes = bytes;
  (*made)->file = file;
  (*made)->properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  (*made)->properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  (*made)->properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  return CUDA_SUCCESS;
}

PhysicalMemory* MemoryTable::RetainPhysical(uintptr_t address) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  const Allocation* found = FindLocked(address);
  if (found == nullptr || found->physical == nullptr) return nullptr;
  ++found->physical->handles;
  return found->physical;
}

bool MemoryTable::FindReserved(uintptr_t address, uintptr_t* base, size_t* bytes) const {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  auto it = reserved_.upper_bound(address);
  if (it == reserved_.begin()) return false;
  --it;
  if (address >= it->first + it->second) return false;
  *base = it->first;
  *bytes = it->second;
  return true;
}

}  // namespace sgprs::simgpu::driver
