// SPDX-License-Identifier: Apache-2.0
#include "shim/record/kernel_table.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "shim/hooks.h"
#include "shim/interpose/interpose.h"

namespace sgprs::shim {
namespace {

constexpr uint32_t kMaxParams = 8192;
constexpr uint32_t kMaxParamBytes = 32764;

uint64_t Fnv1a(const char* text) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (; *text != '\0'; ++text) hash = (hash ^ static_cast<uint8_t>(*text)) * 0x100000001b3ull;
  return hash;
}

// Asks for parameter `i`. False at the end of the list or on any error.
bool ParamInfo(CUfunction function, bool is_kernel, uint32_t i, size_t* offset, size_t* size,
               CUresult* result) {
  if (is_kernel) {
    auto get = SGPRS_REAL(cuKernelGetParamInfo);
    *result = get == nullptr ? CUDA_ERROR_NOT_SUPPORTED
                             : get(reinterpret_cast<CUkernel>(function), i, offset, size);
  } else {
    auto get = SGPRS_REAL(cuFuncGetParamInfo);
    *result = get == nullptr ? CUDA_ERROR_NOT_SUPPORTED : get(function, i, offset, size);
  }
  return *result == CUDA_SUCCESS;
}

bool ReadParams(CUfunction function, KernelInfo* info) {
  KernelParam* params = nullptr;
  uint32_t room = 0;
  size_t offset = 0;
  size_t size = 0;
  CUresult result = CUDA_SUCCESS;
  uint32_t count = 0;
  for (; ParamInfo(function, info->is_kernel, count, &offset, &size, &result); ++count) {
    if (count == kMaxParams || offset + size > kMaxParamBytes) {
      std::free(params);
      return false;
    }
    if (count == room) {
      room = room == 0 ? 8 : room * 2;
      auto* larger = static_cast<KernelParam*>(std::realloc(params, room * sizeof(KernelParam)));
      if (larger == nullptr) {
        std::free(params);
        return false;
      }
      params = larger;
    }
    params[count] = {static_cast<uint16_t>(offset), static_cast<uint16_t>(size)};
    if (offset + size > info->param_bytes) info->param_bytes = static_cast<uint32_t>(offset + size);
  }
  info->params = params;
  info->param_count = count;
  return result == CUDA_ERROR_INVALID_VALUE;  // how the list ends (facts/cuda.md 6.6)
}

void ReadName(CUfunction function, KernelInfo* info) {
  const char* name = nullptr;
  if (info->is_kernel) {
    if (auto get = SGPRS_REAL(cuKernelGetName)) get(&name, reinterpret_cast<CUkernel>(function));
  } else {
    if (auto get = SGPRS_REAL(cuFuncGetName)) get(&name, function);
  }
  info->name = strdup(name != nullptr ? name : "?");
  if (info->name == nullptr) info->name = "?";
  info->name_hash = Fnv1a(info->name);
}

// -1: the driver does not say.
int Attribute(const KernelInfo& info, CUfunction_attribute attribute) {
  int value = 0;
  CUresult result;
  if (info.is_kernel) {
    CUdevice device = 0;
    result = SGPRS_REAL(cuCtxGetDevice)(&device);
    if (result == CUDA_SUCCESS) {
      result = SGPRS_REAL(cuKernelGetAttribute)(&value, attribute,
                                                reinterpret_cast<CUkernel>(info.handle), device);
    }
  } else {
    result = SGPRS_REAL(cuFuncGetAttribute)(&value, attribute, info.handle);
  }
  return result == CUDA_SUCCESS ? value : -1;
}

}  // namespace

uint32_t KernelTable::AskShared(KernelInfo* info) {
  const RelaxedCapture relaxed;
  const uint32_t generation = shared_generation_.load(std::memory_order_relaxed);
  const int bytes = Attribute(*info, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  const uint32_t most = bytes > 0 ? static_cast<uint32_t>(bytes) : 0;
  info->max_shared_bytes.store(most, std::memory_order_relaxed);
  info->shared_generation.store(generation, std::memory_order_relaxed);
  return most;
}

uint32_t KernelTable::Hash(const void* handle) {
  uint64_t bits = reinterpret_cast<uint64_t>(handle);
  bits *= 0x9e3779b97f4a7c15ull;
  return static_cast<uint32_t>(bits >> 40);
}

KernelInfo* KernelTable::Find(CUfunction function) const {
  for (uint32_t probe = 0, at = Hash(function); probe < 64; ++probe, ++at) {
    const Cell& cell = cells_[at & (kCells - 1)];
    // Acquire pairs with the release store in Learn(): the info behind the handle is whole.
    const CUfunction handle = cell.handle.load(std::memory_order_acquire);
    if (handle == nullptr) return nullptr;
    if (handle != function) continue;
    KernelInfo* info = cell.info.load(std::memory_order_acquire);
    // The cell may have been given to another handle between the two loads.
    return info != nullptr && info->handle == function ? info : nullptr;
  }
  return nullptr;
}

KernelTable::Cell* KernelTable::CellOf(CUfunction function) {
  for (uint32_t probe = 0, at = Hash(function); probe < 64; ++probe, ++at) {
    Cell* cell = &cells_[at & (kCells - 1)];
    const CUfunction handle = cell->handle.load(std::memory_order_relaxed);  // under mutex_
    if (handle == nullptr || handle == function) return cell;
  }
  return nullptr;
}

KernelInfo* KernelTable::Learn(CUfunction function) {
  const RelaxedCapture relaxed;  // asking may load the kernel
  FutexLock lock(&mutex_);
  Cell* cell = CellOf(function);
  if (cell == nullptr) return nullptr;
  if (cell->handle.load(std::memory_order_relaxed) == function) {
    return cell->info.load(std::memory_order_relaxed);
  }
  auto* info = new (std::nothrow) KernelInfo;
  if (info == nullptr) return nullptr;
  info->older = kept_;
  kept_ = info;
  for (uint32_t probe = 0, at = Hash(function); probe < 64; ++probe, ++at) {
    const CUfunction handle = marked_[at & 4095].handle.load(std::memory_order_relaxed);
    if (handle == function) info->is_kernel = true;
    if (handle == nullptr || handle == function) break;
  }
  info->handle = function;
  info->recordable = ReadParams(function, info);
  if (!info->recordable && info->param_count == 0) {
    info->is_kernel = !info->is_kernel;  // the handle came a way that we did not see
    info->param_bytes = 0;
    info->recordable = ReadParams(function, info);
  }
  ReadName(function, info);
  const int threads = Attribute(*info, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  if (threads > 0) info->max_threads = static_cast<uint32_t>(threads);
  cell->info.store(info, std::memory_order_release);
  cell->handle.store(function, std::memory_order_release);  // pairs with Find()
  return info;
}

void KernelTable::NoteKernel(CUkernel kernel) {
  FutexLock lock(&mutex_);
  auto function = reinterpret_cast<CUfunction>(kernel);
  for (uint32_t probe = 0, at = Hash(function); probe < 64; ++probe, ++at) {
    Cell* cell = &marked_[at & 4095];
    const CUfunction handle = cell->handle.load(std::memory_order_relaxed);
    if (handle == function) return;
    if (handle == nullptr) {
      cell->handle.store(function, std::memory_order_relaxed);
      return;
    }
  }
}

void KernelTable::Forget() {
  FutexLock lock(&mutex_);
  for (Cell& cell : cells_) cell.handle.store(nullptr, std::memory_order_release);
}

}  // namespace sgprs::shim
