// SPDX-License-Identifier: Apache-2.0
// Code images into `Code`, and the host bodies that $SGPRS_SIMGPU_KERNELS gives kernels.
#include <dlfcn.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "runtime/base/environment.h"
#include "tools/simgpu/driver/module.h"
#include "tools/simgpu/driver/process.h"

namespace sgprs::simgpu::driver {
namespace {

struct Behaviours {
  std::unordered_map<std::string, const SimgpuKernel*> by_name;
  std::vector<const SimgpuKernel* (*)(const char* name)> finders;
};

void LoadLibrary(const std::string& path, Behaviours* behaviours) {
  if (path.empty()) return;
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();
    LogLine("kernel library %s: %s", path.c_str(), why != nullptr ? why : "?");
    return;
  }
  const auto* library =
      static_cast<const SimgpuKernelLibrary*>(dlsym(handle, "simgpu_kernel_library"));
  if (library == nullptr || library->version != SIMGPU_KERNEL_LIBRARY_VERSION) {
    LogLine("kernel library %s: no simgpu_kernel_library of version %u", path.c_str(),
            SIMGPU_KERNEL_LIBRARY_VERSION);
    return;
  }
  for (uint32_t i = 0; i < library->kernel_count; ++i) {
    const SimgpuKernel& kernel = library->kernels[i];
    if (kernel.name != nullptr) behaviours->by_name.try_emplace(kernel.name, &kernel);
  }
  if (void* finder = dlsym(handle, "simgpu_find_kernel")) {
    behaviours->finders.push_back(reinterpret_cast<const SimgpuKernel* (*)(const char*)>(finder));
  }
}

const Behaviours& AllBehaviours() {
  static const Behaviours* all = [] {  // never destroyed: kernels may run at exit
    auto* behaviours = new Behaviours();
    std::string list =
        env::Get(env::kSimgpuKernels) != nullptr ? env::Get(env::kSimgpuKernels) : "";
    for (size_t begin = 0; begin <= list.size();) {
      const size_t end = std::min(list.find(':', begin), list.size());
      LoadLibrary(list.substr(begin, end - begin), behaviours);
      begin = end + 1;
    }
    return behaviours;
  }();
  return *all;
}

uint64_t Fnv1aOf(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (unsigned char c : text) hash = (hash ^ c) * 0x100000001b3ull;
  return hash;
}

bool LooksLikeText(const void* image) {
  const auto* bytes = static_cast<const unsigned char*>(image);
  return bytes[0] == '\n' || bytes[0] == '\r' || bytes[0] == '\t' ||
         (bytes[0] >= 0x20 && bytes[0] < 0x7f && bytes[0] != 'P');  // fat binary: 50 ed 55 ba
}

CUresult ErrorOf(const Status& status, const void* image) {
  LogLine("image: %s", status.text().c_str());
  switch (status.code()) {
    case ErrorCode::kNotFound:
    case ErrorCode::kUnavailable:
      return CUDA_ERROR_NO_BINARY_FOR_GPU;
    case ErrorCode::kExhausted:
      return CUDA_ERROR_OUT_OF_MEMORY;
    default:
      return LooksLikeText(image) ? CUDA_ERROR_INVALID_PTX : CUDA_ERROR_INVALID_IMAGE;
  }
}

std::unique_ptr<KernelInfo> Describe(ImageKernel image) {
  auto info = std::make_unique<KernelInfo>();
  info->behaviour = FindBehaviour(image.name);
  info->name_hash = HashOfName(image.name);
  for (const ImageParam& param : image.params) {
    info->param_bytes = std::max(info->param_bytes, param.offset_bytes + param.size_bytes);
  }
  info->image = std::move(image);
  return info;
}

}  // namespace

const SimgpuKernel* FindBehaviour(const std::string& name) {
  const Behaviours& all = AllBehaviours();
  auto it = all.by_name.find(name);
  if (it != all.by_name.end()) return it->second;
  static std::mutex mutex;  // finders are asked one at a time
  std::lock_guard<std::mutex> lock(mutex);
  for (auto* find : all.finders) {
    if (const SimgpuKernel* kernel = find(name.c_str())) return kernel;
  }
  return nullptr;
}

uint64_t HashOfName(const std::string& name) { return Fnv1aOf(name); }

CUresult ReadCode(const void* data, size_t bytes, std::shared_ptr<const Code>* out) {
  const Welcome& welcome = TheProcess().channel.welcome();
  Result<Image> image = ReadImage(data, bytes, welcome.compute_major * 10 + welcome.compute_minor);
  if (!image.ok()) return ErrorOf(image.status(), data);
  auto code = std::make_shared<Code>();
  code->compute = image->compute;
  for (ImageKernel& kernel : image->kernels) code->kernels.push_back(Describe(std::move(kernel)));
  code->globals = std::move(image->globals);
  *out = std::move(code);
  return CUDA_SUCCESS;
}

CUresult ReadCodeFile(const char* path, std::shared_ptr<const Code>* code) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (bytes.empty()) return CUDA_ERROR_INVALID_IMAGE;
  return ReadCode(bytes.data(), bytes.size(), code);
}

}  // namespace sgprs::simgpu::driver
