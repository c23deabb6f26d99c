// SPDX-License-Identifier: Apache-2.0
// The shim's end of a lane, for tests: maps the memfd a second time, as another process would, and
// writes what it is told to, right or wrong. One thread may record, one consume grants, one
// complete.
#ifndef SGPRS_TESTS_UNIT_LANE_FAKE_SHIM_H_
#define SGPRS_TESTS_UNIT_LANE_FAKE_SHIM_H_

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "runtime/lane/doorbell.h"
#include "sgprs/abi/lane.h"

namespace sgprs::lane {

class FakeShim {
 public:
  // `fd` stays the caller's. The lane must outlive nothing here: the mapping is this object's own.
  FakeShim(int fd, uint64_t bytes)
      : bytes_(bytes),
        base_(static_cast<char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0))) {
  }
  ~FakeShim() { munmap(base_, bytes_); }
  FakeShim(const FakeShim&) = delete;
  FakeShim& operator=(const FakeShim&) = delete;

  bool mapped() const { return base_ != MAP_FAILED; }
  SgprsLaneHeader* header() { return reinterpret_cast<SgprsLaneHeader*>(base_); }
  SgprsSlot* slot(uint64_t index) {
    return At<SgprsSlot>(header()->slots_offset) + (index % header()->slot_count);
  }
  SgprsGrant* grant(uint64_t sequence) {
    return At<SgprsGrant>(header()->grants_offset) + ((sequence - 1) % header()->grant_count);
  }
  SgprsCompletion* completion(uint64_t index) {
    return At<SgprsCompletion>(header()->completions_offset) + (index % header()->completion_count);
  }
  SgprsKernelName* kernel(uint32_t id) {
    return At<SgprsKernelName>(header()->kernels_offset) + (id - 1);
  }

  // Release stores, paired with the acquire loads of LaneOwner.
  static void Publish(uint64_t& cursor, uint64_t value) {
    std::atomic_ref<uint64_t>(cursor).store(value, std::memory_order_release);
  }
  // Acquire loads, paired with the release stores of LaneOwner and of Publish().
  static uint64_t Load(uint64_t& cursor) {
    return std::atomic_ref<uint64_t>(cursor).load(std::memory_order_acquire);
  }

  // Records one kernel launch whose fields all derive from its index (see SlotIsWhole), and moves
  // `recorded` past it. The caller sees to it that the ring has room.
  uint64_t Record() {
    const uint64_t index = Load(header()->recorded);
    SgprsSlot* s = slot(index);
    s->time_ns = index * 3;
    s->bytes = index * 5;
    s->job = static_cast<uint32_t>(index / 16 + 1);
    s->kernel = static_cast<uint32_t>(index % 7);
    s->kind = SGPRS_SLOT_KERNEL;
    s->gap_ns = index * 7;
    Publish(s->index, index);
    Publish(header()->recorded, index + 1);
    return index;
  }
  static bool SlotIsWhole(const SgprsSlot& slot, uint64_t index) {
    return slot.index == index && slot.time_ns == index * 3 && slot.bytes == index * 5 &&
           slot.job == index / 16 + 1 && slot.kernel == index % 7 && slot.gap_ns == index * 7;
  }

  void Complete(uint64_t upto) {
    const uint64_t index = Load(header()->completions_published);
    SgprsCompletion* entry = completion(index);
    std::memset(entry, 0, sizeof(*entry));
    entry->grant = index + 1;
    entry->upto = upto;
    Publish(header()->completions_published, index + 1);
  }

 private:
  template <typename T>
  T* At(uint64_t offset) {
    return reinterpret_cast<T*>(base_ + offset);
  }

  uint64_t bytes_;
  char* base_;
};

}  // namespace sgprs::lane

#endif  // SGPRS_TESTS_UNIT_LANE_FAKE_SHIM_H_
