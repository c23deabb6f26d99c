// SPDX-License-Identifier: Apache-2.0
#include "shim/interpose/calls.h"

#include <cstring>

#include "sgprs/abi/call_counts.h"
#include "shim/interpose/interpose.h"

extern "C" {
// Bounds of the trampolines; trampolines.S.
__attribute__((visibility("hidden"))) extern const char SgprsTrampolines[];
__attribute__((visibility("hidden"))) extern const char SgprsTrampolinesEnd[];
}

namespace sgprs::shim {
namespace {

struct HookRow {
  uint32_t index;
  void* hook;  // null while nobody defines it
};
struct VariantRow {
  uint16_t base;
  uint16_t version;
  uint16_t index;
  bool per_thread;
};

#include "shim/calls.gen.inc"

constexpr uintptr_t kTrampolineBytes = 32;
constexpr uint32_t kVariantCount = sizeof(kVariants) / sizeof(kVariants[0]);

}  // namespace

const char* NameOf(uint32_t index) { return kNames + kNameOffsets[index]; }

uint32_t FindCall(const char* name) {
  uint32_t low = 0;
  uint32_t high = kCallCount;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    const int order = std::strcmp(name, NameOf(middle));
    if (order == 0) return middle;
    if (order < 0) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return kNoCall;
}

void* HookOf(uint32_t index) {
  for (const HookRow& row : kHooks) {
    if (row.index == index) return row.hook;
  }
  return nullptr;
}

bool IsDrained(uint32_t index) { return index >= kCallCount || kDrains[index]; }

uint32_t TreatmentOf(uint32_t index) {
  return index < kCallCount ? kTreatments[index] : uint32_t{SGPRS_CALL_UNKNOWN};
}

void* ExportOf(uint32_t index) {
  return const_cast<char*>(SgprsTrampolines + index * kTrampolineBytes);
}

uint32_t CallAt(const void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  const auto begin = reinterpret_cast<uintptr_t>(SgprsTrampolines);
  if (at < begin || at >= reinterpret_cast<uintptr_t>(SgprsTrampolinesEnd)) return kNoCall;
  return static_cast<uint32_t>((at - begin) / kTrampolineBytes);
}

uint32_t FindVariant(uint32_t base, int version, bool per_thread,
                     bool (*has_symbol)(uint32_t index)) {
  uint32_t found = kNoCall;
  // Rows of a base lie together: legacy ones first, each kind by rising version.
  for (const VariantRow& row : kVariants) {
    if (row.base != base || row.version > version) continue;
    if (row.per_thread && !per_thread) continue;
    if (has_symbol(row.index)) found = row.index;
  }
  return found;
}

uint32_t AnyVariant(uint32_t base, bool (*visit)(uint32_t index, const void* context),
                    const void* context) {
  for (uint32_t i = 0; i < kVariantCount; ++i) {
    if (kVariants[i].base == base && visit(kVariants[i].index, context)) return kVariants[i].index;
  }
  return kNoCall;
}

bool MayBeOrdered(const char* name) {
  constexpr const char* kParts[] = {"Async",  "Launch", "Stream",  "Event",    "Graph",
                                    "Memcpy", "Memset", "MemFree", "MemUnmap", "Ctx"};
  for (const char* part : kParts) {
    if (std::strstr(name, part) != nullptr) return true;
  }
  return false;
}

bool IsDriverName(const char* name) {
  return name != nullptr && name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z';
}

}  // namespace sgprs::shim
