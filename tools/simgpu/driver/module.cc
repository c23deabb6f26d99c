// SPDX-License-Identifier: Apache-2.0
// cuModule*.
#include "tools/simgpu/driver/module.h"

#include <cstring>

#include "tools/simgpu/driver/objects.h"
#include "tools/simgpu/driver/process.h"

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

namespace {

CUresult Make(Context* context, std::shared_ptr<const Code> code, CUmodule* out) {
  std::lock_guard<std::mutex> lock(ObjectMutex());
  Module* module;
  if (CUresult result = MakeModule(context->root, std::move(code), nullptr, &module)) return result;
  *out = reinterpret_cast<CUmodule>(module);
  return CUDA_SUCCESS;
}

CUresult LoadImage(CUmodule* out, const void* image) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  if (out == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<const Code> code;
  if (CUresult result = ReadCode(image, 0, &code)) return result;
  return Make(context, std::move(code), out);
}

CUresult FindModule(CUmodule handle, Module** module) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *module = Modules().Find(handle);
  return *module != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

// Log buffers of the JIT: nothing to say.
CUresult ClearLogs(unsigned int count, const CUjit_option* options, void** values) {
  if (count > 0 && (options == nullptr || values == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  char* buffers[2] = {nullptr, nullptr};
  for (unsigned int i = 0; i < count; ++i) {
    if (options[i] == CU_JIT_INFO_LOG_BUFFER) buffers[0] = static_cast<char*>(values[i]);
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER) buffers[1] = static_cast<char*>(values[i]);
  }
  for (unsigned int i = 0; i < count; ++i) {
    const bool info = options[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES;
    if (!info && options[i] != CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) continue;
    char* buffer = buffers[info ? 0 : 1];
    if (buffer != nullptr && reinterpret_cast<uintptr_t>(values[i]) > 0) buffer[0] = '\0';
    values[i] = nullptr;  // bytes written
  }
  return CUDA_SUCCESS;
}

}  // namespace

SIM_API CUresult cuModuleLoad(CUmodule* module, const char* fname) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  if (module == nullptr || fname == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<const Code> code;
  if (CUresult result = ReadCodeFile(fname, &code)) return result;
  return Make(context, std::move(code), module);
}
SIM_API CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return LoadImage(module, image);
}
SIM_API CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int numOptions,
                                    CUjit_option* options, void** optionValues) {
  if (CUresult status = Enter()) return status;
  if (CUresult bad = ClearLogs(numOptions, options, optionValues)) return bad;
  return LoadImage(module, image);
}
SIM_API CUresult cuModuleLoadFatBinary(CUmodule* module, const void* fatCubin) {
  return LoadImage(module, fatCubin);
}

SIM_API CUresult cuModuleUnload(CUmodule hmod) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  Module* module;
  if (CUresult bad = FindModule(hmod, &module)) return bad;
  if (module->library != nullptr) return CUDA_ERROR_NOT_PERMITTED;  // the library's to unload
  if (CUresult result = WaitForContext(module->context)) return result;
  std::lock_guard<std::mutex> lock(ObjectMutex());
  DropModule(module);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  if (CUresult status = Enter()) return status;
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const char* asked = getenv("CUDA_MODULE_LOADING");
  *mode = asked != nullptr && strcmp(asked, "EAGER") == 0 ? CU_MODULE_EAGER_LOADING
                                                          : CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuModuleGetFunction(CUfunction* hfunc, CUmodule hmod, const char* name) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  if (hfunc == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Module* module;
  if (CUresult bad = FindModule(hmod, &module)) return bad;
  std::lock_guard<std::mutex> lock(ObjectMutex());
  auto it = module->functions.find(name);
  if (it == module->functions.end()) return CUDA_ERROR_NOT_FOUND;
  *hfunc = reinterpret_cast<CUfunction>(it->second);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuModuleGetFunctionCount(unsigned int* count, CUmodule mod) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Module* module;
  if (CUresult bad = FindModule(mod, &module)) return bad;
  *count = static_cast<unsigned int>(module->functions.size());
  return CUDA_SUCCESS;
}

SIM_API CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned int numFunctions,
                                            CUmodule mod) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  if (functions == nullptr && numFunctions > 0) return CUDA_ERROR_INVALID_VALUE;
  Module* module;
  if (CUresult bad = FindModule(mod, &module)) return bad;
  std::lock_guard<std::mutex> lock(ObjectMutex());
  unsigned int i = 0;
  for (auto& [name, function] : module->functions) {
    if (i == numFunctions) break;
    functions[i++] = reinterpret_cast<CUfunction>(function);
  }
  return CUDA_SUCCESS;
}

SIM_API CUresult cuModuleGetGlobal_v2(CUdeviceptr* dptr, size_t* bytes, CUmodule hmod,
                                      const char* name) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Module* module;
  if (CUresult bad = FindModule(hmod, &module)) return bad;
  std::lock_guard<std::mutex> lock(ObjectMutex());
  auto it = module->globals.find(name);
  if (it == module->globals.end()) return CUDA_ERROR_NOT_FOUND;
  if (dptr != nullptr) *dptr = it->second.address;
  if (bytes != nullptr) *bytes = it->second.bytes;
  return CUDA_SUCCESS;
}
