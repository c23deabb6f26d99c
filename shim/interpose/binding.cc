// SPDX-License-Identifier: Apache-2.0
// Where a trampoline goes. The first call of a symbol asks SgprsBind and remembers its answer.
#include <dlfcn.h>

#include <atomic>

#include "shim/interpose/call_counts.h"
#include "shim/interpose/calls.h"
#include "shim/interpose/driver.h"
#include "shim/interpose/errno_guard.h"
#include "shim/interpose/interpose.h"
#include "shim/interpose/no_driver.h"
#include "shim/interpose/real_dl.h"

extern "C" {
// Jump targets of the trampolines, null until bound. Relaxed is enough, as for g_real.
__attribute__((visibility("hidden"))) constinit std::atomic<void*>
    SgprsTarget[sgprs::shim::kCallLimit] = {};

// trampolines.S: drains, then goes to the real function.
__attribute__((visibility("hidden"))) void SgprsDrainStub();
// trampolines.S: counts, then goes where the trampoline would have gone.
__attribute__((visibility("hidden"))) void SgprsCountStub();

__attribute__((weak)) void SgprsDrainForCall(sgprs::shim::CallIndex) {}
}

namespace sgprs::shim {
namespace internal {

constinit std::atomic<void*> g_real[kCallLimit] = {};

}  // namespace internal

namespace {

constinit std::atomic<uint64_t> g_unknown_calls{0};

// What the driver's handle gives for the name. Never ourselves, whom a library that the driver
// needs may need in turn.
void* Resolve(const Driver& driver, uint32_t index) {
  ErrnoGuard keep_errno;
  void* real = RealDlsym()(driver.handle, NameOf(index));
  if (real == nullptr) dlerror();  // it was our question, not the application's
  return CallAt(real) == kNoCall ? real : nullptr;
}

// The cached answer: NotSupportedAnswer() stands for "this driver does not have it", null for no
// driver.
void* RealOrMark(uint32_t index) {
  void* real = internal::g_real[index].load(std::memory_order_relaxed);
  if (real != nullptr || index >= kCallCount) return real;
  const Driver* driver = EnsureDriver(nullptr);
  if (driver == nullptr) return nullptr;
  real = Resolve(*driver, index);
  if (real == nullptr) real = NotSupportedAnswer();
  internal::g_real[index].store(real, std::memory_order_relaxed);
  return real;
}

// Where a call of the symbol goes. `keep` false: for this once, since there is no driver yet.
void* TargetOf(uint32_t index, bool* keep) {
  void* drain = reinterpret_cast<void*>(&SgprsDrainStub);
  if (index >= kCallCount) return drain;
  void* real = RealOrMark(index);
  *keep = real != nullptr;
  if (real == nullptr) return NoDriverAnswer(index);
  if (real == NotSupportedAnswer()) return real;
  if (void* hook = HookOf(index)) return hook;
  return IsDrained(index) ? drain : real;
}

}  // namespace

bool ShimActive() { return OpenedDriver() != nullptr; }

void* RealSymbol(uint32_t index) {
  void* real = RealOrMark(index);
  return real != NotSupportedAnswer() ? real : nullptr;
}

void* internal::RealOrMissing(uint32_t index) {
  void* real = RealOrMark(index);
  return real != nullptr ? real : NoDriverAnswer(index);
}

uint64_t UnknownCalls() { return g_unknown_calls.load(std::memory_order_relaxed); }

}  // namespace sgprs::shim

using namespace sgprs::shim;  // NOLINT: the C functions below belong to it

extern "C" {

// Called by the stub of an unbound trampoline; returns where to go, now and from now on. Without a
// driver nothing is remembered: one may come (an application can bring its own by path).
__attribute__((visibility("hidden"))) void* SgprsBind(uint32_t index) {
  bool keep = true;
  void* target = TargetOf(index, &keep);
  if (!keep) return target;
  if (OpenCallCounts() != nullptr) target = reinterpret_cast<void*>(&SgprsCountStub);
  SgprsTarget[index].store(target, std::memory_order_relaxed);
  return target;
}

// Called by SgprsCountStub; returns where to go.
__attribute__((visibility("hidden"))) void* SgprsCountAndTarget(uint32_t index) {
  CountCall(index);
  bool keep = true;
  return TargetOf(index, &keep);
}

// Called by SgprsDrainStub before every drained call; returns the real function.
__attribute__((visibility("hidden"))) void* SgprsDrainAndTarget(uint32_t index) {
  if (index >= kCallCount) g_unknown_calls.fetch_add(1, std::memory_order_relaxed);  // a statistic
  SgprsDrainForCall(static_cast<CallIndex>(index));
  return internal::Real(index);
}

}  // extern "C"
