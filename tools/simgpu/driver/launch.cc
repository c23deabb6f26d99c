// SPDX-License-Identifier: Apache-2.0
// cuLaunchKernel and its kin.
#include "tools/simgpu/driver/launch.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "runtime/base/clock.h"
#include "tools/simgpu/driver/enqueue.h"
#include "tools/simgpu/driver/function_attributes.h"
#include "tools/simgpu/driver/process.h"

namespace sgprs::simgpu::driver {
namespace {

constexpr uint32_t kMaxGrid[3] = {0x7fffffff, 65535, 65535};
constexpr uint32_t kMaxBlock[3] = {1024, 1024, 64};
constexpr uint32_t kMaxThreads = 1024;
constexpr uint32_t kMaxRegisters = 255;

bool WithinLimits(const uint32_t size[3], const uint32_t most[3]) {
  for (int i = 0; i < 3; ++i) {
    if (size[i] == 0 || size[i] > most[i]) return false;
  }
  return true;
}

uint32_t Threads(const Launch& launch) {
  return launch.block[0] * launch.block[1] * launch.block[2];
}

uint64_t Blocks(const Launch& launch) {
  return uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
}

// Registers that the model is told: at most what the protocol allows.
uint32_t Registers(const KernelInfo& info) {
  return info.image.registers < kMaxRegisters ? info.image.registers : kMaxRegisters;
}

void CopyParameters(const Launch& launch, unsigned char* target) {
  const KernelInfo& info = *launch.function->info;
  if (launch.buffer != nullptr) {
    memcpy(target, launch.buffer, info.param_bytes);
    return;
  }
  const ImageParam* params = info.image.params.data();
  const size_t count = info.image.params.size();
  for (size_t i = 0; i < count; ++i) {
    unsigned char* place = target + params[i].offset_bytes;
    if (params[i].size_bytes == 8) {
      memcpy(place, launch.params[i], 8);
    } else if (params[i].size_bytes == 4) {
      memcpy(place, launch.params[i], 4);
    } else {
      memcpy(place, launch.params[i], params[i].size_bytes);
    }
  }
}

// What the kernel library says of this launch's work.
void FindWork(Launch* launch) {
  const KernelInfo& info = *launch->function->info;
  if (info.behaviour == nullptr || info.behaviour->work == nullptr) return;
  constexpr size_t kMostParams = 1024;  // 4 KiB of parameters hold no more
  const void* pointers[kMostParams];
  const size_t count = std::min(info.image.params.size(), kMostParams);
  for (size_t i = 0; i < count; ++i) {
    pointers[i] = launch->buffer != nullptr ? launch->buffer + info.image.params[i].offset_bytes
                                            : launch->params[i];
  }
  SimgpuLaunch described{};
  memcpy(described.grid, launch->grid, sizeof(described.grid));
  memcpy(described.block, launch->block, sizeof(described.block));
  described.shared_bytes = launch->shared_bytes;
  described.param_count = static_cast<uint32_t>(count);
  described.params = pointers;
  SimgpuWork work{0, 0};
  info.behaviour->work(&described, &work);
  launch->flops = std::isfinite(work.flops) && work.flops > 0 ? work.flops : 0;
  launch->dram_bytes = std::isfinite(work.dram_bytes) && work.dram_bytes > 0 ? work.dram_bytes : 0;
}

// $SGPRS_SIMGPU_CALL_NS: what a real driver's launch costs.
void BurnCallTime(uint64_t call_ns) {
  const uint64_t end = NowNs() + call_ns;
  while (NowNs() < end) {
  }
}

CUresult Send(const Launch& launch, Stream* stream) {
  if (const uint64_t call_ns = TheProcess().call_ns) BurnCallTime(call_ns);
  void* large = nullptr;
  if (launch.function->info->param_bytes > KernelOp::kInlineBytes) {
    large = malloc(launch.function->info->param_bytes);
    if (large == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  const CUresult result =
      Enqueue(stream, CommandKind::kKernel, OpKind::kKernel,
              [&](Op& op, Command& command) { WriteLaunch(launch, large, &op, &command); });
  if (result != CUDA_SUCCESS) free(large);
  return result;
}

CUresult Run(Launch* launch, CUfunction handle, CUstream stream_handle, void** params,
             void** extra) {
  Stream* stream;
  if (CUresult status = EnterWithStream(stream_handle, &stream)) return status;
  if (handle == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  Function* function;
  if (CUresult bad = FindFunction(handle, stream->view->root, &function)) return bad;
  // The stream's context must be the function's.
  if (function->context != stream->view->root) return CUDA_ERROR_INVALID_HANDLE;
  launch->function = function;
  if (CUresult bad = CheckLaunch(*launch, *stream)) return bad;
  if (CUresult bad = SetParameters(params, extra, launch)) return bad;
  if (!function->loaded.load(std::memory_order_relaxed)) {
    function->loaded.store(true, std::memory_order_relaxed);  // a flag for cuFuncIsLoaded only
  }
  FindWork(launch);
  return Send(*launch, stream);
}

}  // namespace

uint32_t SmsOf(const Stream& stream) {
  if (stream.view->green != nullptr) return stream.view->green->sm_count;
  const uint32_t limit = stream.view->root->sm_limit;
  return limit != 0 ? limit : TheProcess().channel.welcome().sm_count;
}

CUresult CheckLaunch(const Launch& launch, const Stream& stream) {
  if (!WithinLimits(launch.grid, kMaxGrid) || !WithinLimits(launch.block, kMaxBlock)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const uint32_t threads = Threads(launch);
  if (threads > kMaxThreads) return CUDA_ERROR_INVALID_VALUE;
  const KernelInfo& info = *launch.function->info;
  if (launch.shared_bytes > MaxDynamicShared(info, launch.function->settings)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (threads > MaxThreads(info)) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  if (!launch.cooperative) return CUDA_SUCCESS;
  const uint64_t most = uint64_t{BlocksPerSm(info, threads, launch.shared_bytes)} * SmsOf(stream);
  return Blocks(launch) > most ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE : CUDA_SUCCESS;
}

CUresult SetParameters(void** kernel_params, void** extra, Launch* launch) {
  launch->params = kernel_params;
  launch->buffer = nullptr;
  const uint32_t needed = launch->function->info->param_bytes;
  if (extra == nullptr) {
    return needed > 0 && kernel_params == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  }
  if (kernel_params != nullptr) return CUDA_ERROR_INVALID_VALUE;
  const void* buffer = nullptr;
  const size_t* bytes = nullptr;
  for (size_t i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
    if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      buffer = extra[i + 1];
    } else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      bytes = static_cast<const size_t*>(extra[i + 1]);
    } else {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  if (needed == 0) return CUDA_SUCCESS;
  if (buffer == nullptr || bytes == nullptr || *bytes < needed) return CUDA_ERROR_INVALID_VALUE;
  launch->buffer = static_cast<const unsigned char*>(buffer);
  return CUDA_SUCCESS;
}

void WriteLaunch(const Launch& launch, void* large, Op* op, Command* command) {
  const KernelInfo& info = *launch.function->info;
  KernelOp& kernel = op->kernel;
  kernel.info = &info;
  kernel.function = launch.function;
  memcpy(kernel.grid, launch.grid, sizeof(kernel.grid));
  memcpy(kernel.block, launch.block, sizeof(kernel.block));
  kernel.shared_bytes = launch.shared_bytes;
  kernel.param_bytes = info.param_bytes;
  kernel.large = large;
  CopyParameters(launch, large != nullptr ? static_cast<unsigned char*>(large) : kernel.params);
  command->blocks = Blocks(launch);
  command->threads = Threads(launch);
  command->shared_bytes = launch.shared_bytes + info.image.static_shared_bytes;
  command->registers = Registers(info);
  command->cooperative = launch.cooperative ? 1 : 0;
  command->name_hash = info.name_hash;
  command->flops = launch.flops;
  command->dram_bytes = launch.dram_bytes;
}

}  // namespace sgprs::simgpu::driver

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

SIM_API CUresult cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                                unsigned int gridDimZ, unsigned int blockDimX,
                                unsigned int blockDimY, unsigned int blockDimZ,
                                unsigned int sharedMemBytes, CUstream hStream, void** kernelParams,
                                void** extra) {
  Launch launch{nullptr,
                {gridDimX, gridDimY, gridDimZ},
                {blockDimX, blockDimY, blockDimZ},
                sharedMemBytes,
                false,
                nullptr,
                nullptr,
                0,
                0};
  return Run(&launch, f, hStream, kernelParams, extra);
}

SIM_API CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX,
                                           unsigned int gridDimY, unsigned int gridDimZ,
                                           unsigned int blockDimX, unsigned int blockDimY,
                                           unsigned int blockDimZ, unsigned int sharedMemBytes,
                                           CUstream hStream, void** kernelParams) {
  Launch launch{nullptr,
                {gridDimX, gridDimY, gridDimZ},
                {blockDimX, blockDimY, blockDimZ},
                sharedMemBytes,
                true,
                nullptr,
                nullptr,
                0,
                0};
  return Run(&launch, f, hStream, kernelParams, nullptr);
}

SIM_API CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction f, void** kernelParams,
                                  void** extra) {
  if (CUresult status = Enter()) return status;
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (config->numAttrs > 0 && config->attrs == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Launch launch{nullptr,
                {config->gridDimX, config->gridDimY, config->gridDimZ},
                {config->blockDimX, config->blockDimY, config->blockDimZ},
                config->sharedMemBytes,
                false,
                nullptr,
                nullptr,
                0,
                0};
  for (unsigned int i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config->attrs[i];
    switch (attribute.id) {
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        launch.cooperative = attribute.value.cooperative != 0;
        break;
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION: {
        const auto& c = attribute.value.clusterDim;
        if (c.x == 0 || c.y == 0 || c.z == 0 || config->gridDimX % c.x != 0 ||
            config->gridDimY % c.y != 0 || config->gridDimZ % c.z != 0) {
          return CUDA_ERROR_INVALID_VALUE;
        }
        break;
      }
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
      case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
      case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
        return CUDA_ERROR_NOT_SUPPORTED;
      default:  // hints: the simulated device has nothing to do with them
        if (attribute.id < 0 || attribute.id >= CU_LAUNCH_ATTRIBUTE_MAX) {
          return CUDA_ERROR_INVALID_VALUE;
        }
    }
  }
  return Run(&launch, f, config->hStream, kernelParams, extra);
}
