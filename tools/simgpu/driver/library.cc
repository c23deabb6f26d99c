// SPDX-License-Identifier: Apache-2.0
// cuLibrary*, cuKernel*: code without a context.
#include <mutex>

#include "tools/simgpu/driver/function_attributes.h"
#include "tools/simgpu/driver/module.h"
#include "tools/simgpu/driver/objects.h"
#include "tools/simgpu/driver/process.h"
#include "tools/simgpu/driver/visible_devices.h"

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

namespace {

CUresult Make(std::shared_ptr<const Code> code, CUlibrary* out) {
  std::lock_guard<std::mutex> lock(ObjectMutex());
  Library* library = Libraries().New();
  if (library == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  library->code = std::move(code);
  for (const auto& info : library->code->kernels) {
    Kernel* kernel = Kernels().New();
    if (kernel == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    kernel->library = library;
    kernel->info = info.get();
    library->kernels[info->image.name] = kernel;
  }
  *out = reinterpret_cast<CUlibrary>(library);
  return CUDA_SUCCESS;
}

CUresult EnterWithLibrary(CUlibrary handle, Library** library) {
  if (CUresult status = Enter()) return status;
  *library = handle != nullptr ? Libraries().Find(handle) : nullptr;
  return *library != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult EnterWithKernel(CUkernel handle, Kernel** kernel) {
  if (CUresult status = Enter()) return status;
  *kernel = handle != nullptr ? Kernels().Find(handle) : nullptr;
  return *kernel != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace

SIM_API CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**,
                                   unsigned int, CUlibraryOption*, void**, unsigned int) {
  if (CUresult status = Enter()) return status;
  if (library == nullptr || code == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<const Code> read;
  if (CUresult result = ReadCode(code, 0, &read)) return result;
  return Make(std::move(read), library);
}

SIM_API CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* fileName, CUjit_option*,
                                       void**, unsigned int, CUlibraryOption*, void**,
                                       unsigned int) {
  if (CUresult status = Enter()) return status;
  if (library == nullptr || fileName == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<const Code> read;
  if (CUresult result = ReadCodeFile(fileName, &read)) return result;
  return Make(std::move(read), library);
}

SIM_API CUresult cuLibraryUnload(CUlibrary handle) {
  Library* library;
  if (CUresult bad = EnterWithLibrary(handle, &library)) return bad;
  std::lock_guard<std::mutex> lock(ObjectMutex());
  for (auto& [context, module] : library->modules) {
    if (CUresult result = WaitForContext(context)) return result;
  }
  if (!Libraries().Close(library)) return CUDA_ERROR_INVALID_HANDLE;
  while (!library->modules.empty()) DropModule(library->modules.begin()->second);
  for (auto& [name, kernel] : library->kernels) {
    Kernels().Close(kernel);
    Kernels().Free(kernel);
  }
  Libraries().Free(library);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuLibraryGetKernel(CUkernel* pKernel, CUlibrary handle, const char* name) {
  Library* library;
  if (CUresult bad = EnterWithLibrary(handle, &library)) return bad;
  if (pKernel == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto it = library->kernels.find(name);
  if (it == library->kernels.end()) return CUDA_ERROR_NOT_FOUND;
  *pKernel = reinterpret_cast<CUkernel>(it->second);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuLibraryGetKernelCount(unsigned int* count, CUlibrary lib) {
  Library* library;
  if (CUresult bad = EnterWithLibrary(lib, &library)) return bad;
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<unsigned int>(library->kernels.size());
  return CUDA_SUCCESS;
}

SIM_API CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned int numKernels,
                                           CUlibrary lib) {
  Library* library;
  if (CUresult bad = EnterWithLibrary(lib, &library)) return bad;
  if (kernels == nullptr && numKernels > 0) return CUDA_ERROR_INVALID_VALUE;
  unsigned int i = 0;
  for (auto& [name, kernel] : library->kernels) {
    if (i == numKernels) break;
    kernels[i++] = reinterpret_cast<CUkernel>(kernel);
  }
  return CUDA_SUCCESS;
}

SIM_API CUresult cuLibraryGetModule(CUmodule* pMod, CUlibrary handle) {
  Library* library;
  if (CUresult bad = EnterWithLibrary(handle, &library)) return bad;
  if (pMod == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Context* context;
  if (CUresult status = CurrentContext(&context)) return status;
  std::lock_guard<std::mutex> lock(ObjectMutex());
  Module* module;
  if (CUresult result = ModuleOf(library, context->root, &module)) return result;
  *pMod = reinterpret_cast<CUmodule>(module);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuLibraryGetGlobal(CUdeviceptr* dptr, size_t* bytes, CUlibrary library,
                                    const char* name) {
  CUmodule module;
  if (CUresult result = cuLibraryGetModule(&module, library)) return result;
  return cuModuleGetGlobal_v2(dptr, bytes, module, name);
}

SIM_API CUresult cuLibraryGetManaged(CUdeviceptr*, size_t*, CUlibrary handle, const char* name) {
  Library* library;
  if (CUresult bad = EnterWithLibrary(handle, &library)) return bad;
  return name == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_FOUND;
}
SIM_API CUresult cuLibraryGetUnifiedFunction(void** fptr, CUlibrary handle, const char* symbol) {
  Library* library;
  if (CUresult bad = EnterWithLibrary(handle, &library)) return bad;
  return fptr == nullptr || symbol == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_FOUND;
}

SIM_API CUresult cuKernelGetFunction(CUfunction* pFunc, CUkernel handle) {
  Kernel* kernel;
  if (CUresult bad = EnterWithKernel(handle, &kernel)) return bad;
  if (pFunc == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Context* context;
  if (CUresult status = CurrentContext(&context)) return status;
  Function* function;
  if (CUresult result = FunctionOf(kernel, context->root, &function)) return result;
  *pFunc = reinterpret_cast<CUfunction>(function);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuKernelGetLibrary(CUlibrary* pLib, CUkernel handle) {
  Kernel* kernel;
  if (CUresult bad = EnterWithKernel(handle, &kernel)) return bad;
  if (pLib == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pLib = reinterpret_cast<CUlibrary>(kernel->library);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuKernelGetName(const char** name, CUkernel handle) {
  Kernel* kernel;
  if (CUresult bad = EnterWithKernel(handle, &kernel)) return bad;
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *name = kernel->info->image.name.c_str();
  return CUDA_SUCCESS;
}

SIM_API CUresult cuKernelGetParamInfo(CUkernel handle, size_t paramIndex, size_t* paramOffset,
                                      size_t* paramSize) {
  Kernel* kernel;
  if (CUresult bad = EnterWithKernel(handle, &kernel)) return bad;
  return ParamInfo(*kernel->info, paramIndex, paramOffset, paramSize);
}

SIM_API CUresult cuKernelGetAttribute(int* pi, CUfunction_attribute attrib, CUkernel handle,
                                      CUdevice dev) {
  Kernel* kernel;
  if (CUresult bad = EnterWithKernel(handle, &kernel)) return bad;
  if (pi == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!DeviceExists(dev)) return CUDA_ERROR_INVALID_DEVICE;
  return GetFunctionAttribute(*kernel->info, *kernel->library->code, kernel->settings, attrib, pi);
}

SIM_API CUresult cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel handle,
                                      CUdevice dev) {
  Kernel* kernel;
  if (CUresult bad = EnterWithKernel(handle, &kernel)) return bad;
  if (!DeviceExists(dev)) return CUDA_ERROR_INVALID_DEVICE;
  std::lock_guard<std::mutex> lock(ObjectMutex());
  if (CUresult bad = SetFunctionAttribute(*kernel->info, attrib, val, &kernel->settings))
    return bad;
  for (auto& [context, module] : kernel->library->modules) {
    Function* function = module->functions[kernel->info->image.name];
    if (CUresult bad = SetFunctionAttribute(*kernel->info, attrib, val, &function->settings)) {
      return bad;
    }
  }
  return CUDA_SUCCESS;
}

SIM_API CUresult cuKernelSetCacheConfig(CUkernel handle, CUfunc_cache config, CUdevice dev) {
  Kernel* kernel;
  if (CUresult bad = EnterWithKernel(handle, &kernel)) return bad;
  if (!DeviceExists(dev)) return CUDA_ERROR_INVALID_DEVICE;
  return config > CU_FUNC_CACHE_PREFER_EQUAL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
