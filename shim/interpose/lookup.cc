// SPDX-License-Identifier: Apache-2.0
// cuGetProcAddress, both ABIs: the driver answers first, with its own rules, errors and status;
// then its pointer is replaced by our export of the very variant that it chose, never by a newer
// one.
#include <algorithm>

#include "shim/interpose/calls.h"
#include "shim/interpose/driver.h"
#include "shim/interpose/interpose.h"
#include "shim/interpose/unknown.h"

namespace sgprs::shim {
namespace {

bool IsReal(uint32_t index, const void* address) { return RealSymbol(index) == address; }
bool DriverHas(uint32_t index) { return RealSymbol(index) != nullptr; }

// A driver asked for a newer version than its own answers with the newest it knows.
int ClampToDriver(int version) {
  int driver_version = 0;
  if (SGPRS_REAL(cuDriverGetVersion)(&driver_version) != CUDA_SUCCESS) return version;
  return std::min(version, driver_version);
}

// `real` is what the driver answered for (name, version, flags). The table says which variant that
// should be; where the pointer says otherwise (a driver with rules of its own), the pointer is
// right. A driver that hands out other pointers than it exports is matched by the table alone.
void* Substitute(const char* name, void* real, int version, uint64_t flags) {
  const uint32_t base = FindCall(name);
  if (base == kNoCall) return UnknownSymbol(name, real);
  const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  uint32_t index = FindVariant(base, ClampToDriver(version), per_thread, DriverHas);
  if (index == kNoCall || !IsReal(index, real)) {
    const uint32_t same = AnyVariant(base, IsReal, real);
    if (same != kNoCall) index = same;
  }
  return index != kNoCall ? ExportOf(index) : UnknownSymbol(name, real);
}

}  // namespace
}  // namespace sgprs::shim

using namespace sgprs::shim;  // NOLINT: the C functions below belong to it

extern "C" {

CUresult Hook_cuGetProcAddress(const char* symbol, void** pfn, int version, cuuint64_t flags) {
  const CUresult result = SGPRS_REAL(cuGetProcAddress)(symbol, pfn, version, flags);
  if (result == CUDA_SUCCESS && symbol != nullptr && pfn != nullptr && *pfn != nullptr) {
    *pfn = Substitute(symbol, *pfn, version, flags);
  }
  return result;
}

CUresult Hook_cuGetProcAddress_v2(const char* symbol, void** pfn, int version, cuuint64_t flags,
                                  CUdriverProcAddressQueryResult* status) {
  const CUresult result = SGPRS_REAL(cuGetProcAddress_v2)(symbol, pfn, version, flags, status);
  if (result == CUDA_SUCCESS && symbol != nullptr && pfn != nullptr && *pfn != nullptr) {
    *pfn = Substitute(symbol, *pfn, version, flags);
  }
  return result;
}

}  // extern "C"
