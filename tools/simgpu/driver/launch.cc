// SPDX-License-Identifier: Apache-2.0
// cuLaunchKernel and its kin.
#include "tools/simgpu/driver/launch.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "runtime/base/clock.h"
#include "tools/simgpu/driver/enqueue.h"
#include "tools/simgpu/driver/event_object.h"
#include "tools/simgpu/driver/fault.h"
#include "tools/simgpu/driver/function_attributes.h"
#include "tools/simgpu/driver/launch_attributes.h"
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

// $SGPRS_SIMGPU_CALL_NS: what a real driver's launch costs.
void BurnCallTime(uint64_t call_ns) {
  const uint64_t end = NowNs() + call_ns;
  while (NowNs() < end) {
  }
}

CUresult Send(const Launch& launch, Stream* stream) {
  if (const uint64_t call_ns = TheProcess().call_ns) BurnCallTime(call_ns);
  void* large;
  if (!MakeLarge(launch, &large)) return CUDA_ERROR_OUT_OF_MEMORY;
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
  if (CUresult bad = CheckLaunch(*launch, *stream->view)) return bad;
  if (CUresult bad = SetParameters(params, extra, launch)) return bad;
  for (uint32_t i = 0; i < launch->event_count; ++i) {
    if (launch->events[i]->root != stream->view->root) return CUDA_ERROR_INVALID_HANDLE;
  }
  if (!function->loaded.load(std::memory_order_relaxed)) {
    function->loaded.store(true, std::memory_order_relaxed);  // a flag for cuFuncIsLoaded only
  }
  FindWork(launch);
  CUresult result = Send(*launch, stream);
  for (uint32_t i = 0; result == CUDA_SUCCESS && i < launch->event_count; ++i) {
    result = RecordOrCapture(launch->events[i], stream);
  }
  return result;
}

// From here on each of the streams waits for what all of them have been given so far.
CUresult JoinStreams(const std::vector<Stream*>& streams) {
  std::vector<uint64_t> last;
  {
    std::lock_guard<std::mutex> lock(TheProcess().queue.mutex());
    for (const Stream* stream : streams) last.push_back(stream->last);
  }
  for (Stream* stream : streams) {
    Submission submission(stream);
    for (uint64_t seq : last) submission.WaitFor(seq);
    if (CUresult result = submission.Publish()) return result;
  }
  return CUDA_SUCCESS;
}

Launch MakeLaunch(unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                  unsigned int block_x, unsigned int block_y, unsigned int block_z,
                  unsigned int shared_bytes) {
  Launch launch;
  const uint32_t grid[3] = {grid_x, grid_y, grid_z};
  const uint32_t block[3] = {block_x, block_y, block_z};
  memcpy(launch.grid, grid, sizeof(grid));
  memcpy(launch.block, block, sizeof(block));
  launch.shared_bytes = shared_bytes;
  return launch;
}

// Clusters of the function and of the launch must agree; more than 8 blocks only where allowed.
CUresult CheckCluster(const Launch& launch) {
  const FunctionSettings& settings = launch.function->settings;
  const bool asked = launch.cluster[0] != 0;
  if (settings.cluster_must_be_set != 0 && !asked) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  if (!asked) return CUDA_SUCCESS;
  constexpr uint32_t kPortable = 8;
  const uint32_t blocks = launch.cluster[0] * launch.cluster[1] * launch.cluster[2];
  if (blocks > kPortable && settings.non_portable_cluster == 0) {
    return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  }
  for (int i = 0; i < 3; ++i) {
    const auto fixed = static_cast<uint32_t>(settings.cluster[i]);
    if (fixed != 0 && fixed != launch.cluster[i]) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  }
  return CUDA_SUCCESS;
}

}  // namespace

uint32_t SmsOf(const Context& view) {
  if (view.green != nullptr) return view.green->sm_count;
  const uint32_t limit = view.root->sm_limit;
  return limit != 0 ? limit : TheProcess().channel.welcome().sm_count;
}

CUresult CheckLaunch(const Launch& launch, const Context& view) {
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
  if (CUresult bad = CheckCluster(launch)) return bad;
  if (!launch.cooperative) return CUDA_SUCCESS;
  const uint64_t most = uint64_t{BlocksPerSm(info, threads, launch.shared_bytes)} * SmsOf(view);
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

void FindWork(Launch* launch) {
  const KernelInfo& info = *launch->function->info;
  if (info.behaviour == nullptr || info.behaviour->work == nullptr) return;
  constexpr size_t kUsual = 64;
  const void* few[kUsual];
  std::vector<const void*> many;
  const size_t count = info.image.params.size();
  const void** pointers = few;
  if (count > kUsual) {
    many.resize(count);
    pointers = many.data();
  }
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

bool MakeLarge(const Launch& launch, void** large) {
  *large = nullptr;
  const uint32_t bytes = launch.function->info->param_bytes;
  if (bytes <= KernelOp::kInlineBytes) return true;
  *large = malloc(bytes);
  return *large != nullptr;
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
  command->has_priority = launch.has_priority ? 1 : 0;
  command->priority = launch.priority;
  if (TheProcess().fault.armed) command->fault = TakeFault(info.name_hash);
}

}  // namespace sgprs::simgpu::driver

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

SIM_API CUresult cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                                unsigned int gridDimZ, unsigned int blockDimX,
                                unsigned int blockDimY, unsigned int blockDimZ,
                                unsigned int sharedMemBytes, CUstream hStream, void** kernelParams,
                                void** extra) {
  Launch launch =
      MakeLaunch(gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes);
  return Run(&launch, f, hStream, kernelParams, extra);
}

SIM_API CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX,
                                           unsigned int gridDimY, unsigned int gridDimZ,
                                           unsigned int blockDimX, unsigned int blockDimY,
                                           unsigned int blockDimZ, unsigned int sharedMemBytes,
                                           CUstream hStream, void** kernelParams) {
  Launch launch =
      MakeLaunch(gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes);
  launch.cooperative = true;
  return Run(&launch, f, hStream, kernelParams, nullptr);
}

SIM_API CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction f, void** kernelParams,
                                  void** extra) {
  if (CUresult status = Enter()) return status;
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (config->numAttrs > 0 && config->attrs == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Launch launch =
      MakeLaunch(config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX,
                 config->blockDimY, config->blockDimZ, config->sharedMemBytes);
  if (CUresult bad = ReadAttributes(config->attrs, config->numAttrs, &launch)) return bad;
  return Run(&launch, f, config->hStream, kernelParams, extra);
}

// Each device's kernel waits for the work so far of all the streams, and what comes after in any of
// them for all the kernels, unless the flags say otherwise.
SIM_API CUresult cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS* launchParamsList,
                                                      unsigned int numDevices, unsigned int flags) {
  if (CUresult status = Enter()) return status;
  constexpr unsigned int kKnown = CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_PRE_LAUNCH_SYNC |
                                  CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_POST_LAUNCH_SYNC;
  if (launchParamsList == nullptr || numDevices == 0 || (flags & ~kKnown) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::vector<Stream*> streams;
  for (unsigned int i = 0; i < numDevices; ++i) {
    Stream* stream;
    if (CUresult bad = FindStream(launchParamsList[i].hStream, &stream)) return bad;
    if (stream->legacy) return CUDA_ERROR_INVALID_VALUE;  // cuda.h: created streams only
    for (const Stream* other : streams) {
      if (other->view->device == stream->view->device) return CUDA_ERROR_INVALID_DEVICE;
    }
    streams.push_back(stream);
  }
  if ((flags & CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_PRE_LAUNCH_SYNC) == 0) {
    if (CUresult result = JoinStreams(streams)) return result;
  }
  for (unsigned int i = 0; i < numDevices; ++i) {
    const CUDA_LAUNCH_PARAMS& p = launchParamsList[i];
    if (CUresult result = cuLaunchCooperativeKernel(p.function, p.gridDimX, p.gridDimY, p.gridDimZ,
                                                    p.blockDimX, p.blockDimY, p.blockDimZ,
                                                    p.sharedMemBytes, p.hStream, p.kernelParams)) {
      return result;
    }
  }
  if ((flags & CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_POST_LAUNCH_SYNC) != 0) return CUDA_SUCCESS;
  return JoinStreams(streams);
}
