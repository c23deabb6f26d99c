// SPDX-License-Identifier: Apache-2.0
// Lookup in the generated tables: symbols, their trampolines, ABI variants. Constant data; any
// thread.
#ifndef SGPRS_SHIM_INTERPOSE_CALLS_H_
#define SGPRS_SHIM_INTERPOSE_CALLS_H_

#include <cstdint>

namespace sgprs::shim {

inline constexpr uint32_t kNoCall = UINT32_MAX;

// Name of an exported symbol; `index` < kCallCount.
const char* NameOf(uint32_t index);

// Index of an exported symbol by its exact name, or kNoCall.
uint32_t FindCall(const char* name);

// The hook of the symbol, or null if nobody defined one.
void* HookOf(uint32_t index);

// Whether the symbol is drained while it has no hook.
bool IsDrained(uint32_t index);

// SgprsCallTreatment of the symbol.
uint32_t TreatmentOf(uint32_t index);

// The trampoline of a symbol (`index` < kCallLimit): what we export and hand out.
void* ExportOf(uint32_t index);

// Index of the symbol whose trampoline holds `address`, or kNoCall.
uint32_t CallAt(const void* address);

// The exported symbol that cuGetProcAddress(base, version, flags) means, in the driver that
// `has_symbol` knows: that of the greatest version <= `version` that the driver has. `per_thread`
// prefers the _ptds/_ptsz symbol if there is one. kNoCall if there is no such base or variant.
uint32_t FindVariant(uint32_t base, int version, bool per_thread,
                     bool (*has_symbol)(uint32_t index));

// Calls `visit` with every exported variant of a base name until it returns true; that index, or
// kNoCall.
uint32_t AnyVariant(uint32_t base, bool (*visit)(uint32_t index, const void* context),
                    const void* context);

// For names that this table does not hold: whether such a call may be ordered in streams, so that
// it must not go past recorded ones.
bool MayBeOrdered(const char* name);

// "cu" and a capital letter: how driver symbols are called, and nobody else's.
bool IsDriverName(const char* name);

}  // namespace sgprs::shim

#endif  // SGPRS_SHIM_INTERPOSE_CALLS_H_
