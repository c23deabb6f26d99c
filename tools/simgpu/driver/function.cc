// SPDX-License-Identifier: Apache-2.0
// cuFunc* and the occupancy queries.
#include <algorithm>

#include "tools/simgpu/driver/function_attributes.h"
#include "tools/simgpu/driver/module.h"
#include "tools/simgpu/driver/objects.h"
#include "tools/simgpu/driver/process.h"

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

namespace {

// A CUfunction, or a CUkernel, in the current context.
CUresult EnterWithFunction(CUfunction handle, Function** function) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  if (handle == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return FindFunction(handle, context->root, function);
}

CUresult ActiveBlocks(int* blocks, CUfunction handle, int threads, size_t dynamic_bytes,
                      unsigned int flags) {
  Function* function;
  if (CUresult bad = EnterWithFunction(handle, &function)) return bad;
  if (blocks == nullptr || threads <= 0) return CUDA_ERROR_INVALID_VALUE;
  if ((flags & ~static_cast<unsigned int>(CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *blocks =
      static_cast<int>(BlocksPerSm(*function->info, static_cast<uint32_t>(threads), dynamic_bytes));
  return CUDA_SUCCESS;
}

// The block size that keeps most threads on an SM; the largest such.
CUresult BestBlock(int* grid, int* block, CUfunction handle, CUoccupancyB2DSize to_bytes,
                   size_t bytes, int limit, unsigned int flags) {
  Function* function;
  if (CUresult bad = EnterWithFunction(handle, &function)) return bad;
  if (grid == nullptr || block == nullptr || limit < 0) return CUDA_ERROR_INVALID_VALUE;
  if ((flags & ~static_cast<unsigned int>(CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  int most = static_cast<int>(MaxThreads(*function->info));
  if (limit > 0) most = std::min(most, limit);
  uint32_t best_threads = 0;
  uint32_t best_blocks = 0;
  for (int size = (most + 31) / 32 * 32; size > 0; size -= 32) {
    const int threads = std::min(size, most);
    const size_t dynamic = to_bytes != nullptr ? to_bytes(threads) : bytes;
    const uint32_t blocks = BlocksPerSm(*function->info, static_cast<uint32_t>(threads), dynamic);
    if (blocks * static_cast<uint32_t>(threads) > best_threads) {
      best_threads = blocks * static_cast<uint32_t>(threads);
      best_blocks = blocks;
      *block = threads;
    }
  }
  if (best_threads == 0) return CUDA_ERROR_INVALID_VALUE;
  *grid = static_cast<int>(best_blocks * TheProcess().channel.welcome().sm_count);
  return CUDA_SUCCESS;
}

}  // namespace

SIM_API CUresult cuFuncGetAttribute(int* pi, CUfunction_attribute attrib, CUfunction hfunc) {
  Function* function;
  if (CUresult bad = EnterWithFunction(hfunc, &function)) return bad;
  if (pi == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return GetFunctionAttribute(*function->info, *function->module->code, function->settings, attrib,
                              pi);
}
SIM_API CUresult cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value) {
  Function* function;
  if (CUresult bad = EnterWithFunction(hfunc, &function)) return bad;
  return SetFunctionAttribute(*function->info, attrib, value, &function->settings);
}
SIM_API CUresult cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config) {
  Function* function;
  if (CUresult bad = EnterWithFunction(hfunc, &function)) return bad;
  return config > CU_FUNC_CACHE_PREFER_EQUAL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
SIM_API CUresult cuFuncSetSharedMemConfig(CUfunction hfunc, CUsharedconfig config) {
  Function* function;
  if (CUresult bad = EnterWithFunction(hfunc, &function)) return bad;
  return config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE ? CUDA_ERROR_INVALID_VALUE
                                                            : CUDA_SUCCESS;
}
SIM_API CUresult cuFuncGetModule(CUmodule* hmod, CUfunction hfunc) {
  Function* function;
  if (CUresult bad = EnterWithFunction(hfunc, &function)) return bad;
  if (hmod == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *hmod = reinterpret_cast<CUmodule>(function->module);
  return CUDA_SUCCESS;
}
SIM_API CUresult cuFuncGetName(const char** name, CUfunction hfunc) {
  Function* function;
  if (CUresult bad = EnterWithFunction(hfunc, &function)) return bad;
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *name = function->info->image.name.c_str();
  return CUDA_SUCCESS;
}
SIM_API CUresult cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t* paramOffset,
                                    size_t* paramSize) {
  Function* function;
  if (CUresult bad = EnterWithFunction(func, &function)) return bad;
  return ParamInfo(*function->info, paramIndex, paramOffset, paramSize);
}
SIM_API CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction handle) {
  Function* function;
  if (CUresult bad = EnterWithFunction(handle, &function)) return bad;
  if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *state = function->loaded.load(std::memory_order_relaxed) ? CU_FUNCTION_LOADING_STATE_LOADED
                                                            : CU_FUNCTION_LOADING_STATE_UNLOADED;
  return CUDA_SUCCESS;
}
SIM_API CUresult cuFuncLoad(CUfunction handle) {
  Function* function;
  if (CUresult bad = EnterWithFunction(handle, &function)) return bad;
  function->loaded.store(true, std::memory_order_relaxed);  // a flag for cuFuncIsLoaded only
  return CUDA_SUCCESS;
}

SIM_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* numBlocks, CUfunction func,
                                                             int blockSize,
                                                             size_t dynamicSMemSize) {
  return ActiveBlocks(numBlocks, func, blockSize, dynamicSMemSize, 0);
}
SIM_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize, unsigned int flags) {
  return ActiveBlocks(numBlocks, func, blockSize, dynamicSMemSize, flags);
}
SIM_API CUresult cuOccupancyMaxPotentialBlockSize(int* minGridSize, int* blockSize, CUfunction func,
                                                  CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                                  size_t dynamicSMemSize, int blockSizeLimit) {
  return BestBlock(minGridSize, blockSize, func, blockSizeToDynamicSMemSize, dynamicSMemSize,
                   blockSizeLimit, 0);
}
SIM_API CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(
    int* minGridSize, int* blockSize, CUfunction func,
    CUoccupancyB2DSize blockSizeToDynamicSMemSize, size_t dynamicSMemSize, int blockSizeLimit,
    unsigned int flags) {
  return BestBlock(minGridSize, blockSize, func, blockSizeToDynamicSMemSize, dynamicSMemSize,
                   blockSizeLimit, flags);
}
SIM_API CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* dynamicSmemSize, CUfunction func,
                                                         int numBlocks, int blockSize) {
  Function* function;
  if (CUresult bad = EnterWithFunction(func, &function)) return bad;
  if (dynamicSmemSize == nullptr || numBlocks <= 0 || blockSize <= 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const KernelInfo& info = *function->info;
  const auto threads = static_cast<uint32_t>(blockSize);
  if (BlocksPerSm(info, threads, 0) < static_cast<uint32_t>(numBlocks)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  // Largest size, in units of 128 bytes, with which so many blocks still fit.
  size_t low = 0;
  size_t high = TheProcess().channel.welcome().shared_bytes_per_block_optin / 128 + 1;
  while (high - low > 1) {
    const size_t middle = (low + high) / 2;
    const bool fits = BlocksPerSm(info, threads, middle * 128) >= static_cast<uint32_t>(numBlocks);
    (fits ? low : high) = middle;
  }
  *dynamicSmemSize = low * 128;
  return CUDA_SUCCESS;
}
