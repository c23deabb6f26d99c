// SPDX-License-Identifier: Apache-2.0
// What the rest of the shim sees of interpose/: the list of driver symbols, the real driver's
// functions by exact type, and the two functions that interpose asks the rest for.
//
// Every exported cu* symbol is a trampoline. At its first call it is bound to, in this order:
// nothing but an error if there is no driver (or this driver lacks the symbol); `Hook_<symbol>` if
// somebody defined it; else a drain followed by the real function, or the real function itself, as
// hooked_calls.inc and gen_calls.py's rules say (`python3 shim/interpose/gen_calls.py --table`).
// So a hook always runs with the real driver open and with its own real function present.
//
// To write a hook: give the symbol a row in hooked_calls.inc, then define, anywhere in the shim,
//   extern "C" CUresult Hook_cuFoo(...exactly cuda.h's parameters...) { return
//   SGPRS_REAL(cuFoo)(...); }
// All of the shim is compiled with __CUDA_API_VERSION_INTERNAL: no name is a macro, so `cuMemAlloc`
// is the symbol of that name (ABI of CUDA 2.0) and `cuMemAlloc_v2` is what programs mean by it.
// Never call cuFoo() in the shim: that is our own trampoline. Never define a second dlopen or
// dlsym.
//
// Threads: everything here may be called from any thread, also in constructors of the application
// and in forked children. No locks, and no allocation except when the driver is opened.
#ifndef SGPRS_SHIM_INTERPOSE_INTERPOSE_H_
#define SGPRS_SHIM_INTERPOSE_INTERPOSE_H_

#include <atomic>
#include <cstdint>

#include "shim/calls.gen.h"  // generated: enum CallIndex {kCall_cuInit, ..., kCallCount}, Hook_*

namespace sgprs::shim {

// Symbols newer than our cuda.h, found by name at run time, get indices kCallCount .. kCallLimit-1.
inline constexpr uint32_t kCallLimit = kCallCount + kUnknownCalls;

// True once the real driver is open in this process (or was, in the parent we forked from): the
// application has used CUDA. Never opens it.
bool ShimActive();

// Name of the symbol; works for unknown ones too. Never null.
const char* CallName(uint32_t index);

// The real driver's function, or null if there is no driver or it lacks the symbol. Opens the
// driver at first use (blocks for as long as that takes). `index` < kCallLimit.
void* RealSymbol(uint32_t index);

// Calls made through trampolines of unknown symbols, and unknown symbols handed out, so far.
uint64_t UnknownCalls();
uint64_t UnknownSymbols();

namespace internal {
// Cache of RealSymbol(); null = not asked yet. Relaxed is enough: the value is the address of code
// that was mapped and relocated by the loader before dlsym returned it, and it never changes.
extern std::atomic<void*> g_real[kCallLimit];
// RealSymbol(), or a function that returns CUDA_ERROR_NOT_SUPPORTED whatever its arguments.
void* RealOrMissing(uint32_t index);
inline void* Real(uint32_t index) {
  void* real = g_real[index].load(std::memory_order_relaxed);
  return __builtin_expect(real != nullptr, 1) ? real : RealOrMissing(index);
}
}  // namespace internal

}  // namespace sgprs::shim

// The real driver's function with its exact type; a few ns. Never null: a symbol that this driver
// lacks answers CUDA_ERROR_NOT_SUPPORTED; ask SGPRS_HAS first where that matters.
#define SGPRS_REAL(symbol)                \
  (reinterpret_cast<decltype(&::symbol)>( \
      ::sgprs::shim::internal::Real(::sgprs::shim::kCall_##symbol)))
#define SGPRS_HAS(symbol) (::sgprs::shim::RealSymbol(::sgprs::shim::kCall_##symbol) != nullptr)

extern "C" {
// Implemented by the recording side (shim/hooks_drain.cc); interpose has a weak one that does
// nothing. Called on the application's thread before every call that is drained by default:
// everything recorded so far that the call could observe is to be issued and joined into the
// application's own streams before this returns. `index` may be >= kCallCount (an unknown symbol).
// The call's arguments are not given: it runs between a caller and a callee it knows nothing of.
__attribute__((visibility("hidden"))) void SgprsDrainForCall(sgprs::shim::CallIndex index);
}

#endif  // SGPRS_SHIM_INTERPOSE_INTERPOSE_H_
