// SPDX-License-Identifier: Apache-2.0
// Handles are pointers into reserved, type-stable slots: any value that a program passes can be
// checked (address range, slot border, alive) without reading memory that may not be there.
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_ARENA_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_ARENA_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <new>

#include "tools/simgpu/driver/reserve.h"

namespace sgprs::simgpu::driver {

// At most `kSlots` objects of T live at once. Thread: any. A slot is reused only after `kReuse`
// further ones were freed, so that a stale handle is told from a live one for a good while.
template <typename T, size_t kSlots>
class Arena {
 public:
  // A new object, or nullptr when there is no room.
  T* New() {
    std::lock_guard<std::mutex> lock(mutex_);
    Slot* base = base_.load(std::memory_order_relaxed);  // written under the mutex
    if (base == nullptr && (base = Reserve()) == nullptr) return nullptr;
    size_t index;
    if (free_.size() > kReuse || (next_ == kSlots && !free_.empty())) {
      index = free_.front();
      free_.pop_front();
    } else if (next_ < kSlots) {
      index = next_++;
    } else {
      return nullptr;
    }
    Slot* slot = base + index;
    T* object = new (slot->bytes) T();
    // release: pairs with Find's acquire; the object is whole before it can be found.
    slot->alive.store(1, std::memory_order_release);
    return object;
  }

  // The object behind a handle, or nullptr if it is none or was closed.
  T* Find(const void* handle) const {
    const Slot* base = base_.load(std::memory_order_acquire);  // pairs with Reserve
    const auto address = reinterpret_cast<uintptr_t>(handle);
    const auto start = reinterpret_cast<uintptr_t>(base);
    if (base == nullptr || address < start || address >= start + kSlots * sizeof(Slot)) {
      return nullptr;
    }
    if ((address - start) % sizeof(Slot) != 0) return nullptr;
    const Slot* slot = base + (address - start) / sizeof(Slot);
    if (slot->alive.load(std::memory_order_acquire) == 0) return nullptr;  // pairs with New
    return reinterpret_cast<T*>(const_cast<unsigned char*>(slot->bytes));
  }

  // The handle is no longer valid; the object stays until Free. False: it was closed before.
  bool Close(T* object) { return SlotOf(object)->alive.exchange(0) == 1; }

  void Free(T* object) {
    std::lock_guard<std::mutex> lock(mutex_);
    object->~T();
    free_.push_back(static_cast<size_t>(SlotOf(object) - base_.load(std::memory_order_relaxed)));
  }

 private:
  static constexpr size_t kReuse = kSlots / 4;
  static constexpr size_t RoundUpPowerOfTwo(size_t value) {
    size_t size = 64;
    while (size < value) size *= 2;
    return size;
  }
  struct Slot {
    alignas(16) unsigned char bytes[RoundUpPowerOfTwo(sizeof(T) + 16) - 16];
    std::atomic<uint32_t> alive;
  };

  static Slot* SlotOf(T* object) { return reinterpret_cast<Slot*>(object); }

  Slot* Reserve() {
    void* memory = ReserveTable(kSlots * sizeof(Slot));
    if (memory == nullptr) return nullptr;
    base_.store(static_cast<Slot*>(memory), std::memory_order_release);  // pairs with Find
    return static_cast<Slot*>(memory);
  }

  std::mutex mutex_;
  std::atomic<Slot*> base_{nullptr};  // written once
  size_t next_ = 0;
  std::deque<size_t> free_;
};

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_ARENA_H_
