// SPDX-License-Identifier: Apache-2.0
// Kernels, what they need and how many fit; libraries loaded at run time; variables by symbol.
#include "tools/simgpu/cudart/error.h"
#include "tools/simgpu/cudart/launch.h"
#include "tools/simgpu/cudart/registry.h"

using namespace sgprs::simgpu::cudart;  // NOLINT: the API's functions have no namespace

namespace {

// The kernel as a function of the current context.
cudaError_t FindFunction(const void* symbol, const Driver** driver, CUfunction* function) {
  if (cudaError_t bad = Enter(driver)) return bad;
  CUkernel kernel;
  if (cudaError_t bad = FindKernel(symbol, &kernel)) return bad;
  return static_cast<cudaError_t>((*driver)->cuKernelGetFunction(function, kernel));
}

}  // namespace

RT_API cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes* out, const void* symbol) {
  if (out == nullptr) return Say(cudaErrorInvalidValue);
  const Driver* driver;
  if (cudaError_t bad = Enter(&driver)) return Say(bad);
  CUkernel kernel;
  if (cudaError_t bad = FindKernel(symbol, &kernel)) return Say(bad);
  *out = cudaFuncAttributes{};
  const int device = CurrentDevice();
  int values[CU_FUNC_ATTRIBUTE_MAX] = {};
  for (int i = 0; i < CU_FUNC_ATTRIBUTE_MAX; ++i) {
    // One that the driver does not know reads as 0.
    driver->cuKernelGetAttribute(&values[i], static_cast<CUfunction_attribute>(i), kernel, device);
  }
  out->sharedSizeBytes = static_cast<size_t>(values[CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES]);
  out->constSizeBytes = static_cast<size_t>(values[CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES]);
  out->localSizeBytes = static_cast<size_t>(values[CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES]);
  out->maxThreadsPerBlock = values[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK];
  out->numRegs = values[CU_FUNC_ATTRIBUTE_NUM_REGS];
  out->ptxVersion = values[CU_FUNC_ATTRIBUTE_PTX_VERSION];
  out->binaryVersion = values[CU_FUNC_ATTRIBUTE_BINARY_VERSION];
  out->cacheModeCA = values[CU_FUNC_ATTRIBUTE_CACHE_MODE_CA];
  out->maxDynamicSharedSizeBytes = values[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES];
  out->preferredShmemCarveout = values[CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT];
  out->clusterDimMustBeSet = values[CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET];
  out->requiredClusterWidth = values[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH];
  out->requiredClusterHeight = values[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT];
  out->requiredClusterDepth = values[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH];
  out->nonPortableClusterSizeAllowed = values[CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED];
  return cudaSuccess;
}

RT_API cudaError_t cudaFuncSetAttribute(const void* symbol, enum cudaFuncAttribute attr,
                                        int value) {
  const Driver* driver;
  if (cudaError_t bad = Enter(&driver)) return Say(bad);
  CUkernel kernel;
  if (cudaError_t bad = FindKernel(symbol, &kernel)) return Say(bad);
  return Say(driver->cuKernelSetAttribute(static_cast<CUfunction_attribute>(attr), value, kernel,
                                          CurrentDevice()));
}
RT_API cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute attr,
                                                   int value, int device) {
  return Call(&Driver::cuKernelSetAttribute, static_cast<CUfunction_attribute>(attr), value, kernel,
              device);
}
RT_API cudaError_t cudaFuncSetCacheConfig(const void* symbol, enum cudaFuncCache config) {
  CUkernel kernel;
  if (cudaError_t bad = FindKernel(symbol, &kernel)) return Say(bad);
  return Call(&Driver::cuKernelSetCacheConfig, kernel, static_cast<CUfunc_cache>(config),
              CurrentDevice());
}
RT_API cudaError_t cudaFuncGetName(const char** name, const void* symbol) {
  CUkernel kernel;
  if (cudaError_t bad = FindKernel(symbol, &kernel)) return Say(bad);
  return CallDriver(&Driver::cuKernelGetName, name, kernel);
}
RT_API cudaError_t cudaFuncGetParamInfo(const void* symbol, size_t index, size_t* offset,
                                        size_t* bytes) {
  CUkernel kernel;
  if (cudaError_t bad = FindKernel(symbol, &kernel)) return Say(bad);
  return CallDriver(&Driver::cuKernelGetParamInfo, kernel, index, offset, bytes);
}
RT_API cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* symbol) {
  if (kernel == nullptr) return Say(cudaErrorInvalidValue);
  return Say(FindKernel(symbol, kernel));
}
RT_API cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* symbol) {
  const Driver* driver;
  return Say(FindFunction(symbol, &driver, function));
}

RT_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void* symbol, int threads, size_t shared_bytes, unsigned int flags) {
  const Driver* driver;
  CUfunction function;
  if (cudaError_t bad = FindFunction(symbol, &driver, &function)) return Say(bad);
  return Say(driver->cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads,
                                                                          shared_bytes, flags));
}
RT_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* symbol,
                                                                 int threads, size_t shared_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, symbol, threads,
                                                                shared_bytes, 0);
}
RT_API cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* symbol,
                                                             int blocks, int threads) {
  const Driver* driver;
  CUfunction function;
  if (cudaError_t bad = FindFunction(symbol, &driver, &function)) return Say(bad);
  return Say(driver->cuOccupancyAvailableDynamicSMemPerBlock(bytes, function, blocks, threads));
}

RT_API cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code,
                                       enum cudaJitOption* jit, void** jit_values,
                                       unsigned int jit_count, enum cudaLibraryOption* options,
                                       void** values, unsigned int count) {
  return CallDriver(&Driver::cuLibraryLoadData, library, code, reinterpret_cast<CUjit_option*>(jit),
                    jit_values, jit_count, reinterpret_cast<CUlibraryOption*>(options), values,
                    count);
}
RT_API cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t* library, const char* path,
                                           enum cudaJitOption* jit, void** jit_values,
                                           unsigned int jit_count, enum cudaLibraryOption* options,
                                           void** values, unsigned int count) {
  return CallDriver(&Driver::cuLibraryLoadFromFile, library, path,
                    reinterpret_cast<CUjit_option*>(jit), jit_values, jit_count,
                    reinterpret_cast<CUlibraryOption*>(options), values, count);
}
RT_API cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  return CallDriver(&Driver::cuLibraryUnload, library);
}
RT_API cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library,
                                        const char* name) {
  return CallDriver(&Driver::cuLibraryGetKernel, kernel, library, name);
}
RT_API cudaError_t cudaLibraryGetKernelCount(unsigned int* count, cudaLibrary_t library) {
  return CallDriver(&Driver::cuLibraryGetKernelCount, count, library);
}
RT_API cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t* kernels, unsigned int count,
                                               cudaLibrary_t library) {
  return CallDriver(&Driver::cuLibraryEnumerateKernels, kernels, count, library);
}
RT_API cudaError_t cudaLibraryGetGlobal(void** address, size_t* bytes, cudaLibrary_t library,
                                        const char* name) {
  return Call(&Driver::cuLibraryGetGlobal, reinterpret_cast<CUdeviceptr*>(address), bytes, library,
              name);
}
RT_API cudaError_t cudaLibraryGetManaged(void** address, size_t* bytes, cudaLibrary_t library,
                                         const char* name) {
  return Call(&Driver::cuLibraryGetManaged, reinterpret_cast<CUdeviceptr*>(address), bytes, library,
              name);
}
RT_API cudaError_t cudaLibraryGetUnifiedFunction(void** function, cudaLibrary_t library,
                                                 const char* name) {
  return CallDriver(&Driver::cuLibraryGetUnifiedFunction, function, library, name);
}

RT_API cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  CUdeviceptr found;
  size_t bytes;
  if (cudaError_t bad = Registry::Get().FindVariable(symbol, &found, &bytes)) return Say(bad);
  *address = reinterpret_cast<void*>(found);
  return cudaSuccess;
}
RT_API cudaError_t cudaGetSymbolSize(size_t* bytes, const void* symbol) {
  CUdeviceptr found;
  return Say(Registry::Get().FindVariable(symbol, &found, bytes));
}

namespace {

// The part [offset, offset + bytes) of a variable.
cudaError_t FindPart(const void* symbol, size_t offset, size_t bytes, char** address) {
  CUdeviceptr found;
  size_t whole;
  if (cudaError_t bad = Registry::Get().FindVariable(symbol, &found, &whole)) return bad;
  if (offset > whole || bytes > whole - offset) return cudaErrorInvalidValue;
  *address = reinterpret_cast<char*>(found) + offset;
  return cudaSuccess;
}

}  // namespace

RT_API cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* source, size_t bytes,
                                      size_t offset, enum cudaMemcpyKind kind) {
  char* target;
  if (cudaError_t bad = FindPart(symbol, offset, bytes, &target)) return Say(bad);
  return cudaMemcpy(target, source, bytes, kind);
}
RT_API cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* source, size_t bytes,
                                           size_t offset, enum cudaMemcpyKind kind,
                                           cudaStream_t stream) {
  char* target;
  if (cudaError_t bad = FindPart(symbol, offset, bytes, &target)) return Say(bad);
  return cudaMemcpyAsync(target, source, bytes, kind, stream);
}
RT_API cudaError_t cudaMemcpyFromSymbol(void* target, const void* symbol, size_t bytes,
                                        size_t offset, enum cudaMemcpyKind kind) {
  char* source;
  if (cudaError_t bad = FindPart(symbol, offset, bytes, &source)) return Say(bad);
  return cudaMemcpy(target, source, bytes, kind);
}
RT_API cudaError_t cudaMemcpyFromSymbolAsync(void* target, const void* symbol, size_t bytes,
                                             size_t offset, enum cudaMemcpyKind kind,
                                             cudaStream_t stream) {
  char* source;
  if (cudaError_t bad = FindPart(symbol, offset, bytes, &source)) return Say(bad);
  return cudaMemcpyAsync(target, source, bytes, kind, stream);
}
