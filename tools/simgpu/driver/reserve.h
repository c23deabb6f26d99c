// SPDX-License-Identifier: Apache-2.0
// Zeroed memory for tables: large, taken from the system page by page as it is used.
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_RESERVE_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_RESERVE_H_

#include <sys/mman.h>

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define SIMGPU_LEAK_CHECK 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIMGPU_LEAK_CHECK 1
#endif
#endif
#ifdef SIMGPU_LEAK_CHECK
#include <sanitizer/lsan_interface.h>
#endif

namespace sgprs::simgpu::driver {

// nullptr: the system refuses. Never given back.
inline void* ReserveTable(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
#ifdef SIMGPU_LEAK_CHECK
  __lsan_register_root_region(memory, bytes);  // what the objects in it own is not leaked
#endif
  return memory;
}

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_RESERVE_H_
