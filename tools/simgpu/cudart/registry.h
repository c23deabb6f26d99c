// SPDX-License-Identifier: Apache-2.0
// What the compiled code of a program registers before main: fat binaries, and by the address of
// their host twins the kernels and variables in them. A fat binary is loaded at the first use of
// something in it, as CUDA's lazy loading does.
#ifndef SGPRS_TOOLS_SIMGPU_CUDART_REGISTRY_H_
#define SGPRS_TOOLS_SIMGPU_CUDART_REGISTRY_H_

#include <deque>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>

#include "tools/simgpu/cudart/api.h"

namespace sgprs::simgpu::cudart {

// Thread: any. Never freed. Loaded code stays loaded when its fat binary is unregistered (at exit,
// or when a plug-in is closed): nothing at exit waits for the device.
class Registry {
 public:
  // Of this process.
  static Registry& Get();

  void** AddBinary(const void* wrapper);
  void RemoveBinary(void** handle);
  void AddFunction(void** handle, const void* host, const char* name);
  void AddVariable(void** handle, const void* host, const char* name, size_t bytes);

  // The kernel whose host twin is at `host`. Loads its fat binary. cudaErrorInvalidDeviceFunction:
  // not registered; cudaErrorNoKernelImageForDevice and others: it does not load.
  cudaError_t FindKernel(const void* host, CUkernel* kernel);
  // The variable whose host twin is at `host`, in the current context. cudaErrorInvalidSymbol.
  cudaError_t FindVariable(const void* host, CUdeviceptr* address, size_t* bytes);

 private:
  struct Binary {
    const void* wrapper = nullptr;
    std::mutex mutex;  // of the two below
    CUlibrary library = nullptr;
    cudaError_t failure = cudaSuccess;  // that loading ended with
  };
  struct Entry {
    Binary* binary = nullptr;
    std::string name;
    size_t bytes = 0;           // variables
    CUkernel kernel = nullptr;  // once found; under mutex_
  };

  static cudaError_t Load(Binary* binary);

  std::shared_mutex mutex_;  // of what follows
  std::deque<Binary> binaries_;
  std::unordered_map<const void*, Entry> functions_;
  std::unordered_map<const void*, Entry> variables_;
};

}  // namespace sgprs::simgpu::cudart

#endif  // SGPRS_TOOLS_SIMGPU_CUDART_REGISTRY_H_
