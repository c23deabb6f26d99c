// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/workloads/fake_driver.h"

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "tools/workloads/kernels/host_bodies.h"

namespace workloads {
namespace {

constexpr uint32_t kMostParams = 8;  // of the network kernels

CUresult GetErrorName(CUresult, const char** name) {
  *name = "CUDA_ERROR_OF_THE_FAKE";
  return CUDA_SUCCESS;
}
CUresult ModuleLoadData(CUmodule* module, const void* image) {
  *module = reinterpret_cast<CUmodule>(const_cast<void*>(image));
  return CUDA_SUCCESS;
}
CUresult ModuleUnload(CUmodule) { return CUDA_SUCCESS; }
CUresult ModuleGetFunction(CUfunction* function, CUmodule, const char* name) {
  for (const SimgpuKernel& kernel : NetworkKernels()) {
    if (std::string_view(kernel.name) != name) continue;
    *function = reinterpret_cast<CUfunction>(const_cast<SimgpuKernel*>(&kernel));
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}
CUresult MemAlloc(CUdeviceptr* memory, size_t bytes) {
  *memory = reinterpret_cast<CUdeviceptr>(std::calloc(1, bytes));
  ++FakeCounts().live_allocations;
  return CUDA_SUCCESS;
}
CUresult MemFree(CUdeviceptr memory) {
  std::free(reinterpret_cast<void*>(memory));
  --FakeCounts().live_allocations;
  return CUDA_SUCCESS;
}
CUresult MemHostAlloc(void** memory, size_t bytes, unsigned) {
  *memory = std::calloc(1, bytes);
  ++FakeCounts().live_allocations;
  return CUDA_SUCCESS;
}
CUresult MemFreeHost(void* memory) { return MemFree(reinterpret_cast<CUdeviceptr>(memory)); }
CUresult MemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return CUDA_SUCCESS;
}
CUresult MemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream) {
  return MemcpyHtoD(to, from, bytes);
}
CUresult MemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream) {
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return CUDA_SUCCESS;
}
CUresult StreamSynchronize(CUstream) { return CUDA_SUCCESS; }
CUresult LaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                      unsigned by, unsigned bz, unsigned shared, CUstream, void** params, void**) {
  const SimgpuLaunch launch{{gx, gy, gz}, {bx, by, bz}, shared, kMostParams, params};
  reinterpret_cast<const SimgpuKernel*>(function)->body(&launch);
  ++FakeCounts().launches;
  return CUDA_SUCCESS;
}

}  // namespace

FakeDriverCounts& FakeCounts() {
  static FakeDriverCounts counts;
  return counts;
}

CudaApi FakeDriver() {
  CudaApi api{};
  api.cuGetErrorName = GetErrorName;
  api.cuModuleLoadData = ModuleLoadData;
  api.cuModuleUnload = ModuleUnload;
  api.cuModuleGetFunction = ModuleGetFunction;
  api.cuMemAlloc = MemAlloc;
  api.cuMemFree = MemFree;
  api.cuMemHostAlloc = MemHostAlloc;
  api.cuMemFreeHost = MemFreeHost;
  api.cuMemcpyHtoD = MemcpyHtoD;
  api.cuMemcpyHtoDAsync = MemcpyHtoDAsync;
  api.cuMemcpyDtoHAsync = MemcpyDtoHAsync;
  api.cuStreamSynchronize = StreamSynchronize;
  api.cuLaunchKernel = LaunchKernel;
  return api;
}

}  // namespace workloads
