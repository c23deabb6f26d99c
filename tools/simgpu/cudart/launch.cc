// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/cudart/launch.h"

#include "tools/simgpu/cudart/error.h"
#include "tools/simgpu/cudart/registry.h"

namespace sgprs::simgpu::cudart {
namespace {

constexpr unsigned kMaxThreads = 1024;

bool IsConfiguration(const dim3& grid, const dim3& block) {
  return grid.x > 0 && grid.x <= 0x7fffffff && grid.y > 0 && grid.y <= 65535 && grid.z > 0 &&
         grid.z <= 65535 && block.x > 0 && block.x <= kMaxThreads && block.y > 0 &&
         block.y <= kMaxThreads && block.z > 0 && block.z <= 64 &&
         uint64_t{block.x} * block.y * block.z <= kMaxThreads;
}

}  // namespace

cudaError_t Launch(CUkernel kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                   cudaStream_t stream, bool cooperative) {
  if (!IsConfiguration(grid, block)) return Say(cudaErrorInvalidConfiguration);
  // The driver takes a CUkernel where it takes a CUfunction; the stream's context decides.
  auto* function = reinterpret_cast<CUfunction>(kernel);
  const auto shared = static_cast<unsigned>(shared_bytes);
  if (cooperative) {
    return Call(&Driver::cuLaunchCooperativeKernel, function, grid.x, grid.y, grid.z, block.x,
                block.y, block.z, shared, Resolve(stream), arguments);
  }
  return Call(&Driver::cuLaunchKernel, function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
              shared, Resolve(stream), arguments, static_cast<void**>(nullptr));
}

cudaError_t FindKernel(const void* symbol, CUkernel* kernel) {
  const cudaError_t result = Registry::Get().FindKernel(symbol, kernel);
  if (result != cudaErrorInvalidDeviceFunction || symbol == nullptr) return result;
  // Not an address that was registered: a kernel handle, if the driver knows it.
  const Driver* driver;
  if (cudaError_t bad = GetDriver(&driver)) return bad;
  const char* name;
  auto* handle = static_cast<CUkernel>(const_cast<void*>(symbol));
  if (driver->cuKernelGetName(&name, handle) != CUDA_SUCCESS) return cudaErrorInvalidDeviceFunction;
  *kernel = handle;
  return cudaSuccess;
}

}  // namespace sgprs::simgpu::cudart

using namespace sgprs::simgpu::cudart;  // NOLINT: the API's functions have no namespace

RT_API cudaError_t cudaLaunchKernel(const void* symbol, dim3 grid, dim3 block, void** arguments,
                                    size_t shared_bytes, cudaStream_t stream) {
  CUkernel kernel;
  if (cudaError_t bad = FindKernel(symbol, &kernel)) return Say(bad);
  return Launch(kernel, grid, block, arguments, shared_bytes, stream, false);
}

RT_API cudaError_t cudaLaunchCooperativeKernel(const void* symbol, dim3 grid, dim3 block,
                                               void** arguments, size_t shared_bytes,
                                               cudaStream_t stream) {
  CUkernel kernel;
  if (cudaError_t bad = FindKernel(symbol, &kernel)) return Say(bad);
  return Launch(kernel, grid, block, arguments, shared_bytes, stream, true);
}

RT_API cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* symbol,
                                       void** arguments) {
  if (config == nullptr) return Say(cudaErrorInvalidValue);
  if (!IsConfiguration(config->gridDim, config->blockDim)) {
    return Say(cudaErrorInvalidConfiguration);
  }
  CUkernel kernel;
  if (cudaError_t bad = FindKernel(symbol, &kernel)) return Say(bad);
  CUlaunchConfig same{};
  same.gridDimX = config->gridDim.x;
  same.gridDimY = config->gridDim.y;
  same.gridDimZ = config->gridDim.z;
  same.blockDimX = config->blockDim.x;
  same.blockDimY = config->blockDim.y;
  same.blockDimZ = config->blockDim.z;
  same.sharedMemBytes = static_cast<unsigned>(config->dynamicSmemBytes);
  same.hStream = Resolve(config->stream);
  static_assert(sizeof(CUlaunchAttribute) == sizeof(cudaLaunchAttribute));
  same.attrs = reinterpret_cast<CUlaunchAttribute*>(config->attrs);
  same.numAttrs = config->numAttrs;
  return Call(&Driver::cuLaunchKernelEx, &same, reinterpret_cast<CUfunction>(kernel), arguments,
              static_cast<void**>(nullptr));
}
