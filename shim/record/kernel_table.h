// SPDX-License-Identifier: Apache-2.0
// What the shim knows of a kernel handle (CUfunction or CUkernel: both arrive in the same launch
// argument): name and parameter layout, asked of the driver once (facts/cuda.md 6.6).
#ifndef SGPRS_SHIM_RECORD_KERNEL_TABLE_H_
#define SGPRS_SHIM_RECORD_KERNEL_TABLE_H_

#include <cuda.h>

#include <atomic>
#include <cstdint>

#include "shim/record/futex_mutex.h"

namespace sgprs::shim {

struct KernelParam {
  uint16_t offset_bytes;
  uint16_t size_bytes;
};

struct KernelInfo {
  CUfunction handle = nullptr;
  const char* name = nullptr;  // owned, never freed: other tables point at it
  uint64_t name_hash = 0;      // FNV-1a
  uint32_t param_count = 0;
  uint32_t param_bytes = 0;  // last offset + size
  KernelParam* params = nullptr;
  uint32_t max_threads = 1024;
  // Dynamic shared memory that a launch may ask for, as of `shared_generation` of the table;
  // relaxed: both only say whether to ask the driver.
  std::atomic<uint32_t> max_shared_bytes{0};
  std::atomic<uint32_t> shared_generation{0};
  bool recordable = false;  // false: layout unknown, launch at once
  bool is_kernel = false;   // CUkernel
  // Interned id in the lane of generation `lane_generation`; under the record lock.
  uint32_t lane_id = 0;
  uint32_t lane_generation = 0;
  KernelInfo* older = nullptr;  // KernelTable::kept_
};

class KernelTable {
 public:
  // Any thread, no lock: nullptr if the handle was never looked at.
  KernelInfo* Find(CUfunction function) const;
  // Any thread; asks the driver. Never nullptr unless memory or the table is exhausted.
  KernelInfo* Learn(CUfunction function);
  // The dynamic shared memory that the driver lets `info`'s kernel have.
  uint32_t MostShared(KernelInfo* info) {
    if (info->shared_generation.load(std::memory_order_relaxed) ==
        shared_generation_.load(std::memory_order_relaxed)) {
      return info->max_shared_bytes.load(std::memory_order_relaxed);
    }
    return AskShared(info);
  }
  // An attribute of some function was set.
  void AttributesChanged() { shared_generation_.fetch_add(1, std::memory_order_relaxed); }
  // cuLibraryGetKernel gave this handle: it is a CUkernel.
  void NoteKernel(CUkernel kernel);
  // Code is about to be unloaded: handles may be given out again. The caller has drained.
  void Forget();

 private:
  struct Cell {
    std::atomic<CUfunction> handle{nullptr};
    std::atomic<KernelInfo*> info{nullptr};
  };
  static constexpr uint32_t kCells = 32768;  // a power of two
  uint32_t AskShared(KernelInfo* info);
  static uint32_t Hash(const void* handle);
  Cell* CellOf(CUfunction function);

  std::atomic<uint32_t> shared_generation_{1};
  FutexMutex mutex_;  // writers
  // All that were ever made, for leak checkers: those of unloaded code stay, as graphs and readers
  // without a lock may still point at them (some 250 bytes each).
  KernelInfo* kept_ = nullptr;
  Cell cells_[kCells];
  Cell marked_[4096];  // handles known to be CUkernels
};

}  // namespace sgprs::shim

#endif  // SGPRS_SHIM_RECORD_KERNEL_TABLE_H_
