// SPDX-License-Identifier: Apache-2.0
#include "shim/interpose/no_driver.h"

#include "shim/interpose/interpose.h"

namespace sgprs::shim {
namespace {

// These ignore arguments that they do not name: on both architectures the caller owns them.
CUresult NoDevice() { return CUDA_ERROR_NO_DEVICE; }
CUresult NotInitialized() { return CUDA_ERROR_NOT_INITIALIZED; }
CUresult NotSupported() { return CUDA_ERROR_NOT_SUPPORTED; }

struct ErrorText {
  CUresult code;
  const char* name;
  const char* text;
};
constexpr ErrorText kErrors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
};

CUresult Describe(CUresult error, const char** out, const char* ErrorText::*field) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = nullptr;
  for (const ErrorText& row : kErrors) {
    if (row.code == error) *out = row.*field;
  }
  return *out != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult ErrorName(CUresult error, const char** out) {
  return Describe(error, out, &ErrorText::name);
}
CUresult ErrorString(CUresult error, const char** out) {
  return Describe(error, out, &ErrorText::text);
}

}  // namespace

void* NoDriverAnswer(uint32_t index) {
  switch (index) {
    case kCall_cuInit:
      return reinterpret_cast<void*>(&NoDevice);
    case kCall_cuGetErrorName:
      return reinterpret_cast<void*>(&ErrorName);
    case kCall_cuGetErrorString:
      return reinterpret_cast<void*>(&ErrorString);
    default:
      return reinterpret_cast<void*>(&NotInitialized);
  }
}

void* NotSupportedAnswer() { return reinterpret_cast<void*>(&NotSupported); }

}  // namespace sgprs::shim
