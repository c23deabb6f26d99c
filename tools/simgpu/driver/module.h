// SPDX-License-Identifier: Apache-2.0
// Modules and functions (of one context), libraries and kernels (of none).
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_MODULE_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_MODULE_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tools/simgpu/driver/api.h"
#include "tools/simgpu/driver/arena.h"
#include "tools/simgpu/image/image.h"
#include "tools/simgpu/kernel_library.h"

namespace sgprs::simgpu::driver {

struct Context;
struct Library;
struct Module;
struct Kernel;

// What is the same for a kernel in every context.
struct KernelInfo {
  ImageKernel image;
  const SimgpuKernel* behaviour = nullptr;  // of $SGPRS_SIMGPU_KERNELS, or nullptr
  uint64_t name_hash = 0;
  uint32_t param_bytes = 0;
};

// A code image as loaded; shared by the modules made of it.
struct Code {
  std::vector<std::unique_ptr<KernelInfo>> kernels;
  std::vector<ImageGlobal> globals;
  uint32_t compute = 0;
};

// Attributes that cuFuncSetAttribute and cuKernelSetAttribute set.
struct FunctionSettings {
  int max_dynamic_shared = -1;  // -1: the default, 48 KiB less the static part
  int carveout = -1;
  int cluster[3] = {0, 0, 0};
  int cluster_must_be_set = 0;
  int non_portable_cluster = 0;
};

// A CUfunction.
struct Function {
  Context* context = nullptr;  // root
  Module* module = nullptr;
  Kernel* kernel = nullptr;  // that it came from, or nullptr
  const KernelInfo* info = nullptr;
  FunctionSettings settings;
  std::atomic<bool> loaded{false};
};

struct Global {
  CUdeviceptr address;
  size_t bytes;
};

// A CUmodule. Under ObjectMutex().
struct Module {
  Context* context = nullptr;  // root
  Library* library = nullptr;  // that it came from, or nullptr
  std::shared_ptr<const Code> code;
  std::map<std::string, Function*> functions;
  std::map<std::string, Global> globals;
};

// A CUkernel.
struct Kernel {
  Library* library = nullptr;
  const KernelInfo* info = nullptr;
  FunctionSettings settings;
  std::atomic<Function*> newest{nullptr};  // last answer of FunctionOf
};

// A CUlibrary. Under ObjectMutex().
struct Library {
  std::shared_ptr<const Code> code;
  std::map<std::string, Kernel*> kernels;
  std::map<Context*, Module*> modules;  // by root context
};

Arena<Module, 65536>& Modules();
Arena<Function, 1 << 17>& Functions();
Arena<Library, 65536>& Libraries();
Arena<Kernel, 1 << 17>& Kernels();

// Reads an image for this device. NO_BINARY_FOR_GPU, INVALID_PTX, INVALID_IMAGE, ... on failure.
CUresult ReadCode(const void* image, size_t bytes, std::shared_ptr<const Code>* code);
CUresult ReadCodeFile(const char* path, std::shared_ptr<const Code>* code);
// Kernels that $SGPRS_SIMGPU_KERNELS describes, by name; nullptr: none.
const SimgpuKernel* FindBehaviour(const std::string& name);

// FNV-1a, as in the device's log.
uint64_t HashOfName(const std::string& name);

// Makes a module of `code` in a root context, with its globals. Caller holds ObjectMutex().
CUresult MakeModule(Context* root, std::shared_ptr<const Code> code, Library* library,
                    Module** module);
// Handles die, memory goes. Nothing of it may be in flight. Caller holds ObjectMutex().
void DropModule(Module* module);
void DropModulesOf(Context* root);
CUresult ModuleOf(Library* library, Context* root, Module** module);

// The function of a kernel in a root context; made at first use. Takes ObjectMutex().
CUresult FunctionOf(Kernel* kernel, Context* root, Function** function);
// A CUfunction, or a CUkernel passed as one (in the context of `root`).
CUresult FindFunction(CUfunction handle, Context* root, Function** function);

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_MODULE_H_
