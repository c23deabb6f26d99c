// SPDX-License-Identifier: Apache-2.0
// Modules and functions come and go.
#include <cstring>
#include <set>

#include "tools/simgpu/driver/memory_table.h"
#include "tools/simgpu/driver/module.h"
#include "tools/simgpu/driver/objects.h"

namespace sgprs::simgpu::driver {
namespace {

std::map<Context*, std::set<Module*>>& ModulesByContext() {  // under ObjectMutex()
  static auto* modules = new std::map<Context*, std::set<Module*>>();
  return *modules;
}

CUresult MakeGlobal(const ImageGlobal& image, Module* module) {
  Allocation what;
  what.kind = MemoryKind::kDevice;
  what.bytes = std::max<uint64_t>(image.size_bytes, 1);
  what.owner = module->context;
  what.device = module->context->device;
  what.module = true;
  Global global{0, image.size_bytes};
  if (CUresult result = Memory().Allocate(what, &global.address)) return result;
  // Not through a stream: nobody can use it before the module is there.
  void* bytes = reinterpret_cast<void*>(global.address);
  memset(bytes, 0, image.size_bytes);
  memcpy(bytes, image.initial.data(), std::min<size_t>(image.initial.size(), image.size_bytes));
  module->globals[image.name] = global;
  return CUDA_SUCCESS;
}

CUresult MakeFunction(const KernelInfo& info, Module* module) {
  Function* function = Functions().New();
  if (function == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  function->context = module->context;
  function->module = module;
  function->info = &info;
  if (module->library != nullptr) {
    auto it = module->library->kernels.find(info.image.name);
    if (it != module->library->kernels.end()) {
      function->kernel = it->second;
      function->settings = it->second->settings;
    }
  }
  module->functions[info.image.name] = function;
  return CUDA_SUCCESS;
}

CUresult Populate(Module* module) {
  for (const auto& info : module->code->kernels) {
    if (CUresult result = MakeFunction(*info, module)) return result;
  }
  for (const ImageGlobal& global : module->code->globals) {
    if (CUresult result = MakeGlobal(global, module)) return result;
  }
  return CUDA_SUCCESS;
}

}  // namespace

Arena<Module, 65536>& Modules() {
  static auto* arena = new Arena<Module, 65536>();
  return *arena;
}
Arena<Function, 1 << 17>& Functions() {
  static auto* arena = new Arena<Function, 1 << 17>();
  return *arena;
}
Arena<Library, 65536>& Libraries() {
  static auto* arena = new Arena<Library, 65536>();
  return *arena;
}
Arena<Kernel, 1 << 17>& Kernels() {
  static auto* arena = new Arena<Kernel, 1 << 17>();
  return *arena;
}

CUresult MakeModule(Context* root, std::shared_ptr<const Code> code, Library* library,
                    Module** out) {
  Module* module = Modules().New();
  if (module == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  module->context = root;
  module->library = library;
  module->code = std::move(code);
  ModulesByContext()[root].insert(module);
  if (CUresult result = Populate(module)) {
    DropModule(module);
    return result;
  }
  *out = module;
  return CUDA_SUCCESS;
}

void DropModule(Module* module) {
  if (!Modules().Close(module)) return;
  ModulesByContext()[module->context].erase(module);
  if (module->library != nullptr) module->library->modules.erase(module->context);
  for (auto& [name, function] : module->functions) {
    // relaxed: a launch that races with the unload is the program's own error.
    if (function->kernel != nullptr) {
      Function* mine = function;
      function->kernel->newest.compare_exchange_strong(mine, nullptr, std::memory_order_relaxed);
    }
    Functions().Close(function);
    Functions().Free(function);
  }
  for (auto& [name, global] : module->globals) Memory().Free(global.address);
  Modules().Free(module);
}

void DropModulesOf(Context* root) {
  const std::set<Module*> modules = ModulesByContext()[root];
  for (Module* module : modules) DropModule(module);
}

CUresult ModuleOf(Library* library, Context* root, Module** module) {
  auto it = library->modules.find(root);
  if (it != library->modules.end()) {
    *module = it->second;
    return CUDA_SUCCESS;
  }
  if (CUresult result = MakeModule(root, library->code, library, module)) return result;
  library->modules[root] = *module;
  return CUDA_SUCCESS;
}

CUresult FunctionOf(Kernel* kernel, Context* root, Function** function) {
  // acquire: pairs with the store below; the function is whole.
  *function = kernel->newest.load(std::memory_order_acquire);
  if (*function != nullptr && (*function)->context == root) return CUDA_SUCCESS;
  std::lock_guard<std::mutex> lock(ObjectMutex());
  Module* module;
  if (CUresult result = ModuleOf(kernel->library, root, &module)) return result;
  *function = module->functions[kernel->info->image.name];
  kernel->newest.store(*function, std::memory_order_release);  // pairs with the load above
  return CUDA_SUCCESS;
}

CUresult FindFunction(CUfunction handle, Context* root, Function** function) {
  *function = Functions().Find(handle);
  if (*function != nullptr) return CUDA_SUCCESS;
  Kernel* kernel = Kernels().Find(handle);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return FunctionOf(kernel, root, function);
}

}  // namespace sgprs::simgpu::driver
