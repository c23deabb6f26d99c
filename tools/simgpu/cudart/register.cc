// SPDX-License-Identifier: Apache-2.0
// What compiled CUDA code calls before main and around <<<...>>> (crt/host_runtime.h,
// crt/device_functions.h declare these for nvcc alone).
#include <vector>

#include "tools/simgpu/cudart/error.h"
#include "tools/simgpu/cudart/launch.h"
#include "tools/simgpu/cudart/registry.h"

using namespace sgprs::simgpu::cudart;  // NOLINT: the API's functions have no namespace

namespace {

struct Configuration {
  dim3 grid;
  dim3 block;
  size_t shared_bytes;
  cudaStream_t stream;
};

// kernel<<<...>>>(f<<<...>>>()) nests: a stack.
std::vector<Configuration>& Configurations() {
  static thread_local std::vector<Configuration> stack;
  return stack;
}

}  // namespace

RT_API void** __cudaRegisterFatBinary(void* wrapper) { return Registry::Get().AddBinary(wrapper); }
RT_API void __cudaRegisterFatBinaryEnd(void** handle) { static_cast<void>(handle); }
RT_API void __cudaUnregisterFatBinary(void** handle) { Registry::Get().RemoveBinary(handle); }

RT_API void __cudaRegisterFunction(void** handle, const char* host, char*, const char* name, int,
                                   uint3*, uint3*, dim3*, dim3*, int*) {
  Registry::Get().AddFunction(handle, host, name);
}
RT_API void __cudaRegisterVar(void** handle, char* host, char*, const char* name, int, size_t size,
                              int, int) {
  Registry::Get().AddVariable(handle, host, name, size);
}
RT_API void __cudaRegisterManagedVar(void**, void**, char*, const char* name, int, size_t, int,
                                     int) {
  LogLine("is a __managed__ variable: not simulated", name);
}
RT_API void __cudaRegisterTexture(void**, const void*, const void**, const char* name, int, int,
                                  int) {
  LogLine("is a texture reference: not simulated", name);
}
RT_API void __cudaRegisterSurface(void**, const void*, const void**, const char* name, int, int) {
  LogLine("is a surface reference: not simulated", name);
}
RT_API char __cudaInitModule(void**) { return 1; }

RT_API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
                                            struct CUstream_st* stream) {
  Configurations().push_back({grid, block, shared_bytes, stream});
  return 0;
}
RT_API cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes,
                                              void* stream) {
  std::vector<Configuration>& stack = Configurations();
  if (stack.empty()) return Say(cudaErrorMissingConfiguration);
  const Configuration top = stack.back();
  stack.pop_back();
  *grid = top.grid;
  *block = top.block;
  *shared_bytes = top.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = top.stream;
  return cudaSuccess;
}

RT_API cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host) {
  *kernel = nullptr;
  return Say(Registry::Get().FindKernel(host, kernel));
}

RT_API cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                      size_t shared_bytes, cudaStream_t stream) {
  if (kernel == nullptr) {  // __cudaGetKernel failed, once and for all; it said why then
    const cudaError_t why = LastError();
    return Say(why != cudaSuccess ? why : cudaErrorInvalidDeviceFunction);
  }
  return Launch(kernel, grid, block, arguments, shared_bytes, stream, false);
}
RT_API cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block,
                                           void** arguments, size_t shared_bytes,
                                           cudaStream_t stream) {
  PerThreadDefaultStream scope;
  return __cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream);
}
