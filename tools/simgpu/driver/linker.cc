// SPDX-License-Identifier: Apache-2.0
// cuLink*: one input passes through as it is. Code of several inputs is not joined: NOT_SUPPORTED.
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "tools/simgpu/driver/arena.h"
#include "tools/simgpu/driver/module.h"
#include "tools/simgpu/driver/objects.h"
#include "tools/simgpu/driver/process.h"

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

namespace {

struct Linker {
  std::string image;
  int inputs = 0;
  bool complete = false;
};
using LinkerArena = Arena<Linker, 4096>;
LinkerArena& Linkers() {
  static auto* arena = new LinkerArena();
  return *arena;
}

CUresult EnterWithLinker(CUlinkState handle, Linker** linker) {
  if (CUresult status = Enter()) return status;
  *linker = handle != nullptr ? Linkers().Find(handle) : nullptr;
  return *linker != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult AddImage(CUlinkState handle, CUjitInputType type, std::string image) {
  Linker* linker;
  if (CUresult bad = EnterWithLinker(handle, &linker)) return bad;
  if (linker->complete || image.empty()) return CUDA_ERROR_INVALID_VALUE;
  if (type < CU_JIT_INPUT_CUBIN || type >= CU_JIT_NUM_INPUT_TYPES) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_JIT_INPUT_CUBIN && type != CU_JIT_INPUT_PTX && type != CU_JIT_INPUT_FATBINARY) {
    return CUDA_ERROR_NOT_SUPPORTED;  // objects, libraries, NVVM
  }
  if (linker->inputs > 0) return CUDA_ERROR_NOT_SUPPORTED;
  if (type == CU_JIT_INPUT_PTX && image.back() != '\0') image.push_back('\0');
  std::shared_ptr<const Code> code;  // says at once what is wrong with it
  if (CUresult bad = ReadCode(image.data(), image.size(), &code)) return bad;
  linker->image = std::move(image);
  ++linker->inputs;
  return CUDA_SUCCESS;
}

}  // namespace

SIM_API CUresult cuLinkCreate_v2(unsigned int numOptions, CUjit_option* options,
                                 void** optionValues, CUlinkState* stateOut) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  if (stateOut == nullptr || (numOptions > 0 && (options == nullptr || optionValues == nullptr))) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Linker* linker = Linkers().New();
  if (linker == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *stateOut = reinterpret_cast<CUlinkState>(linker);
  return CUDA_SUCCESS;
}
SIM_API CUresult cuLinkCreate(unsigned int numOptions, CUjit_option* options, void** optionValues,
                              CUlinkState* stateOut) {
  return cuLinkCreate_v2(numOptions, options, optionValues, stateOut);
}

SIM_API CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void* data, size_t size,
                                  const char*, unsigned int, CUjit_option*, void**) {
  if (CUresult status = Enter()) return status;
  if (data == nullptr || size == 0) return CUDA_ERROR_INVALID_VALUE;
  return AddImage(state, type, std::string(static_cast<const char*>(data), size));
}
SIM_API CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void* data, size_t size,
                               const char* name, unsigned int numOptions, CUjit_option* options,
                               void** optionValues) {
  return cuLinkAddData_v2(state, type, data, size, name, numOptions, options, optionValues);
}

SIM_API CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char* path,
                                  unsigned int, CUjit_option*, void**) {
  if (CUresult status = Enter()) return status;
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::ifstream file(path, std::ios::binary);
  if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
  return AddImage(
      state, type,
      std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>()));
}
SIM_API CUresult cuLinkAddFile(CUlinkState state, CUjitInputType type, const char* path,
                               unsigned int numOptions, CUjit_option* options,
                               void** optionValues) {
  return cuLinkAddFile_v2(state, type, path, numOptions, options, optionValues);
}

SIM_API CUresult cuLinkComplete(CUlinkState state, void** cubinOut, size_t* sizeOut) {
  Linker* linker;
  if (CUresult bad = EnterWithLinker(state, &linker)) return bad;
  if (cubinOut == nullptr || linker->inputs == 0) return CUDA_ERROR_INVALID_VALUE;
  linker->complete = true;
  *cubinOut = linker->image.data();  // the linker's until it is destroyed
  if (sizeOut != nullptr) *sizeOut = linker->image.size();
  return CUDA_SUCCESS;
}

SIM_API CUresult cuLinkDestroy(CUlinkState state) {
  Linker* linker;
  if (CUresult bad = EnterWithLinker(state, &linker)) return bad;
  if (!Linkers().Close(linker)) return CUDA_ERROR_INVALID_HANDLE;
  Linkers().Free(linker);
  return CUDA_SUCCESS;
}
