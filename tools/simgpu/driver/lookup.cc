// SPDX-License-Identifier: Apache-2.0
// cuGetProcAddress: base name, version and stream mode to an exported symbol.
#include <algorithm>
#include <cstring>

#include "tools/simgpu/driver/api.h"

namespace {

constexpr int kDriverVersion = 13000;

struct Row {
  const char* base;
  bool per_thread;
  int version;
  void* address;
};

// Sorted by base, legacy before per-thread, then by version.
const Row kRows[] = {
#define LOOKUP_ROW(base, per_thread, version, symbol) \
  {base, per_thread, version, reinterpret_cast<void*>(&symbol)},
#include "simgpu_driver/lookup_table.inc"
#undef LOOKUP_ROW
};

bool Before(const Row& row, const char* base) { return strcmp(row.base, base) < 0; }

// The row of the greatest version up to `version`; nullptr: none. `known`: is there such a name?
const Row* Search(const char* base, bool per_thread, int version, bool* known) {
  const Row* end = kRows + sizeof(kRows) / sizeof(kRows[0]);
  const Row* best = nullptr;
  bool found = false;
  for (const Row* row = std::lower_bound(kRows, end, base, Before);
       row != end && strcmp(row->base, base) == 0; ++row) {
    *known = true;
    if (row->per_thread != per_thread) continue;
    found = true;
    if (row->version <= version) best = row;
  }
  // No per-thread entry: the legacy one serves.
  return !found && per_thread ? Search(base, false, version, known) : best;
}

}  // namespace

SIM_API CUresult cuGetProcAddress_v2(const char* symbol, void** pfn, int cudaVersion,
                                     cuuint64_t flags,
                                     CUdriverProcAddressQueryResult* symbolStatus) {
  constexpr cuuint64_t kKnown =
      CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if (symbol == nullptr || pfn == nullptr || (flags & ~kKnown) != 0 || flags == kKnown ||
      cudaVersion > kDriverVersion) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  bool known = false;
  const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  const Row* row = Search(symbol, per_thread, cudaVersion, &known);
  *pfn = row != nullptr ? row->address : nullptr;
  if (symbolStatus != nullptr) {
    *symbolStatus = row != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS
                    : known        ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                   : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  return CUDA_SUCCESS;
}

// The ABI of CUDA 11.3: no status, so a name that is not there is an error.
SIM_API CUresult cuGetProcAddress(const char* symbol, void** pfn, int cudaVersion,
                                  cuuint64_t flags) {
  if (CUresult result = cuGetProcAddress_v2(symbol, pfn, cudaVersion, flags, nullptr)) {
    return result;
  }
  return *pfn != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
