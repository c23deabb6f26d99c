// SPDX-License-Identifier: Apache-2.0
#include "shim/interpose/unknown.h"

#include <atomic>
#include <cstring>

#include "shim/interpose/calls.h"
#include "shim/interpose/interpose.h"

namespace sgprs::shim {
namespace {

// Slot i belongs to index kCallCount + i; it is taken when g_real of that index is set.
constinit std::atomic<const char*> g_names[kUnknownCalls] = {};
constinit std::atomic<uint64_t> g_symbols{0};

}  // namespace

void* UnknownSymbol(const char* name, void* real) {
  if (!MayBeOrdered(name)) return real;
  for (uint32_t i = 0; i < kUnknownCalls; ++i) {
    void* expected = nullptr;
    // Relaxed: see g_real. A slot never changes once it is taken.
    if (internal::g_real[kCallCount + i].compare_exchange_strong(expected, real,
                                                                 std::memory_order_relaxed)) {
      g_symbols.fetch_add(1, std::memory_order_relaxed);  // relaxed: a statistic
      // Release pairs with the acquire of UnknownName: the reader sees the characters.
      g_names[i].store(strdup(name), std::memory_order_release);
      return ExportOf(kCallCount + i);
    }
    if (expected == real) return ExportOf(kCallCount + i);
  }
  return real;
}

const char* CallName(uint32_t index) {
  if (index < kCallCount) return NameOf(index);
  const char* name = nullptr;
  if (index < kCallLimit) {
    name = g_names[index - kCallCount].load(std::memory_order_acquire);  // pairs with UnknownSymbol
  }
  return name != nullptr ? name : "unknown";
}

uint64_t UnknownSymbols() { return g_symbols.load(std::memory_order_relaxed); }

}  // namespace sgprs::shim
