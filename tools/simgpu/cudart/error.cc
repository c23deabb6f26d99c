// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/cudart/error.h"

#include <cstdio>

#include "runtime/base/environment.h"

namespace sgprs::simgpu::cudart {
namespace {

thread_local cudaError_t last_error = cudaSuccess;
thread_local bool per_thread_default = false;

struct Row {
  cudaError_t error;
  const char* name;
  const char* text;
};

constexpr Row kRows[] = {
#define ERROR_ROW(name, text) {name, #name, text},
#include "simgpu_cudart/error_names.inc"
#undef ERROR_ROW
};

const Row* FindRow(cudaError_t error) {
  for (const Row& row : kRows) {
    if (row.error == error) return &row;
  }
  return nullptr;
}

}  // namespace

cudaError_t Say(cudaError_t error) {
  if (error != cudaSuccess && error != cudaErrorNotReady) last_error = error;
  return error;
}

cudaError_t LastError() { return last_error; }

void LogLine(const char* text, const char* detail) {
  const char* path = env::Get(env::kSimgpuLog);
  if (path == nullptr) return;
  FILE* file = fopen(path, "ae");
  if (file == nullptr) return;
  fprintf(file, "libcudart: %s %s\n", detail, text);
  fclose(file);
}

int NotSupported(const char* name, std::atomic<bool>* logged) {
  // Relaxed: nothing hangs on it but how often a line is written.
  if (!logged->exchange(true, std::memory_order_relaxed)) LogLine("is not simulated", name);
  return Say(cudaErrorNotSupported);
}

PerThreadDefaultStream::PerThreadDefaultStream() : before_(per_thread_default) {
  per_thread_default = true;
}
PerThreadDefaultStream::~PerThreadDefaultStream() { per_thread_default = before_; }
bool PerThreadDefaultStream::Active() { return per_thread_default; }

}  // namespace sgprs::simgpu::cudart

using namespace sgprs::simgpu::cudart;  // NOLINT: the API's functions have no namespace

RT_API cudaError_t cudaGetLastError(void) {
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}
RT_API cudaError_t cudaPeekAtLastError(void) { return last_error; }

RT_API const char* cudaGetErrorName(cudaError_t error) {
  const Row* row = FindRow(error);
  return row != nullptr ? row->name : "unrecognized error code";
}
RT_API const char* cudaGetErrorString(cudaError_t error) {
  const Row* row = FindRow(error);
  return row != nullptr ? row->text : "unrecognized error code";
}
