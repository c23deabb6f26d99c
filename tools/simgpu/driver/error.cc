// SPDX-License-Identifier: Apache-2.0
// cuGetErrorName, cuGetErrorString.
#include "tools/simgpu/driver/api.h"

namespace {

struct Row {
  CUresult error;
  const char* name;
  const char* text;
};

const Row kRows[] = {
#define ERROR_ROW(error, text) {error, #error, text},
#include "simgpu_driver/error_names.inc"
#undef ERROR_ROW
};

const Row* Find(CUresult error) {
  for (const Row& row : kRows) {
    if (row.error == error) return &row;
  }
  return nullptr;
}

}  // namespace

SIM_API CUresult cuGetErrorName(CUresult error, const char** pStr) {
  if (pStr == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Row* row = Find(error);
  *pStr = row != nullptr ? row->name : nullptr;
  return row != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIM_API CUresult cuGetErrorString(CUresult error, const char** pStr) {
  if (pStr == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Row* row = Find(error);
  *pStr = row != nullptr ? row->text : nullptr;
  return row != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
