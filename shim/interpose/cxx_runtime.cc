// SPDX-License-Identifier: Apache-2.0
// What the shim needs of the C++ runtime, without exceptions. libstdc++'s own versions of these
// throw, and with them come an unwinder, a 70 KB pool allocated by a constructor, thread-local
// storage that needs ld.so as a library, and a newer glibc; in a foreign process none of that is
// ours to bring. All are weak and hidden by exports.map: they satisfy references from libstdc++.a
// before its own members are looked at, and take part in nothing outside this object.
//
// An allocation that fails can not be reported where the language promises that it does not. It
// ends the process, as it would have ended a moment later; code that can do without memory uses new
// (std::nothrow) or malloc.
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

[[noreturn]] void Fail(const char* what, size_t length) {
  if (write(STDERR_FILENO, what, length) < 0) std::abort();
  std::abort();
}
template <size_t kSize>
[[noreturn]] void Fail(const char (&what)[kSize]) {
  Fail(what, kSize - 1);
}

void* Allocate(size_t size, size_t alignment) {
  if (size == 0) size = 1;
  if (alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) return std::malloc(size);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void* AllocateOrFail(size_t size, size_t alignment) {
  void* memory = Allocate(size, alignment);
  if (memory == nullptr) Fail("sgprs: no memory left for the shim\n");
  return memory;
}

}  // namespace

#define SGPRS_WEAK __attribute__((weak))

SGPRS_WEAK void* operator new(size_t size) { return AllocateOrFail(size, 1); }
SGPRS_WEAK void* operator new[](size_t size) { return AllocateOrFail(size, 1); }
SGPRS_WEAK void* operator new(size_t size, std::align_val_t alignment) {
  return AllocateOrFail(size, static_cast<size_t>(alignment));
}
SGPRS_WEAK void* operator new[](size_t size, std::align_val_t alignment) {
  return AllocateOrFail(size, static_cast<size_t>(alignment));
}
SGPRS_WEAK void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return Allocate(size, 1);
}
SGPRS_WEAK void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return Allocate(size, 1);
}
SGPRS_WEAK void* operator new(size_t size, std::align_val_t alignment,
                              const std::nothrow_t&) noexcept {
  return Allocate(size, static_cast<size_t>(alignment));
}
SGPRS_WEAK void* operator new[](size_t size, std::align_val_t alignment,
                                const std::nothrow_t&) noexcept {
  return Allocate(size, static_cast<size_t>(alignment));
}
SGPRS_WEAK void operator delete(void* memory) noexcept { std::free(memory); }
SGPRS_WEAK void operator delete[](void* memory) noexcept { std::free(memory); }
SGPRS_WEAK void operator delete(void* memory, size_t) noexcept { std::free(memory); }
SGPRS_WEAK void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
SGPRS_WEAK void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
SGPRS_WEAK void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
SGPRS_WEAK void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  std::free(memory);
}
SGPRS_WEAK void operator delete[](void* memory, size_t, std::align_val_t) noexcept {
  std::free(memory);
}
SGPRS_WEAK void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
SGPRS_WEAK void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}

// libstdc++'s containers and strings call these where they would throw.
namespace std {
SGPRS_WEAK void __throw_bad_alloc() { Fail("sgprs: shim: bad_alloc\n"); }
SGPRS_WEAK void __throw_bad_array_new_length() { Fail("sgprs: shim: bad length\n"); }
SGPRS_WEAK void __throw_bad_function_call() { Fail("sgprs: shim: bad call\n"); }
SGPRS_WEAK void __throw_length_error(const char*) { Fail("sgprs: shim: length\n"); }
SGPRS_WEAK void __throw_logic_error(const char*) { Fail("sgprs: shim: logic\n"); }
SGPRS_WEAK void __throw_invalid_argument(const char*) { Fail("sgprs: shim: invalid argument\n"); }
SGPRS_WEAK void __throw_out_of_range(const char*) { Fail("sgprs: shim: range\n"); }
SGPRS_WEAK void __throw_out_of_range_fmt(const char*, ...) { Fail("sgprs: shim: range\n"); }
SGPRS_WEAK void __throw_system_error(int) { Fail("sgprs: shim: system error\n"); }
SGPRS_WEAK void terminate() noexcept { Fail("sgprs: shim: terminate\n"); }
}  // namespace std

extern "C" {

// Guards of function-local statics. The compiler's own check reads the first byte with acquire; it
// pairs with the release here. Waiting lasts as long as one constructor.
constexpr uint32_t kGuardDone = 1;
constexpr uint32_t kGuardBusy = 0x100;
SGPRS_WEAK int __cxa_guard_acquire(uint32_t* guard) {
  std::atomic_ref<uint32_t> state(*guard);
  for (;;) {
    uint32_t expected = 0;
    if (state.compare_exchange_strong(expected, kGuardBusy, std::memory_order_acquire)) return 1;
    if (expected == kGuardDone) return 0;
    sched_yield();
  }
}
SGPRS_WEAK void __cxa_guard_release(uint32_t* guard) {
  std::atomic_ref<uint32_t>(*guard).store(kGuardDone, std::memory_order_release);
}
SGPRS_WEAK void __cxa_guard_abort(uint32_t* guard) {
  std::atomic_ref<uint32_t>(*guard).store(0, std::memory_order_release);
}

// libstdc++.a is compiled with exceptions and names this for its own frames. Nothing is thrown
// here; a forced unwind (thread cancellation) passes through: _URC_CONTINUE_UNWIND.
SGPRS_WEAK int __gxx_personality_v0(...) { return 8; }
SGPRS_WEAK void* __cxa_begin_catch(void*) { Fail("sgprs: shim: exception\n"); }
SGPRS_WEAK void __cxa_end_catch() {}
SGPRS_WEAK void __cxa_rethrow() { Fail("sgprs: shim: exception\n"); }
SGPRS_WEAK void _Unwind_Resume(void*) { Fail("sgprs: shim: exception\n"); }
SGPRS_WEAK void __cxa_pure_virtual() { Fail("sgprs: shim: pure virtual call\n"); }
SGPRS_WEAK void __cxa_call_terminate(void*) { Fail("sgprs: shim: exception\n"); }

}  // extern "C"
