// SPDX-License-Identifier: Apache-2.0
// The launch calls of CUDA 2 and 3, deprecated: a function carries its block shape, shared memory
// and parameters until it is launched.
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "tools/simgpu/driver/module.h"
#include "tools/simgpu/driver/objects.h"
#include "tools/simgpu/driver/process.h"

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

namespace {

constexpr size_t kMostParameterBytes = 4096;

struct State {
  int block[3] = {0, 0, 0};
  unsigned int shared_bytes = 0;
  size_t parameter_bytes = 0;  // cuParamSetSize
  std::vector<unsigned char> parameters;
};

std::mutex g_mutex;
std::map<CUfunction, State>& States() {  // under g_mutex; few programs have any
  static auto* states = new std::map<CUfunction, State>();
  return *states;
}

CUresult EnterWithFunction(CUfunction handle) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  if (handle == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  Function* function;
  return FindFunction(handle, context->root, &function);
}

CUresult SetBytes(CUfunction handle, int offset, const void* bytes, unsigned int count) {
  if (CUresult bad = EnterWithFunction(handle)) return bad;
  if (offset < 0 || bytes == nullptr || count > kMostParameterBytes ||
      static_cast<size_t>(offset) > kMostParameterBytes - count) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::lock_guard<std::mutex> lock(g_mutex);
  std::vector<unsigned char>& parameters = States()[handle].parameters;
  const size_t end = static_cast<size_t>(offset) + count;
  if (parameters.size() < end) parameters.resize(end);
  memcpy(parameters.data() + offset, bytes, count);
  return CUDA_SUCCESS;
}

CUresult Launch(CUfunction handle, int width, int height, CUstream stream) {
  if (CUresult bad = EnterWithFunction(handle)) return bad;
  if (width <= 0 || height <= 0) return CUDA_ERROR_INVALID_VALUE;
  State state;
  {
    std::lock_guard<std::mutex> lock(g_mutex);
    state = States()[handle];
  }
  if (state.block[0] <= 0) return CUDA_ERROR_INVALID_VALUE;  // no shape was set
  state.parameters.resize(std::max(state.parameters.size(), state.parameter_bytes));
  size_t size = state.parameters.size();
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, state.parameters.data(),
                   CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  return cuLaunchKernel(handle, static_cast<unsigned int>(width), static_cast<unsigned int>(height),
                        1, static_cast<unsigned int>(state.block[0]),
                        static_cast<unsigned int>(state.block[1]),
                        static_cast<unsigned int>(state.block[2]), state.shared_bytes, stream,
                        nullptr, size > 0 ? extra : nullptr);
}

}  // namespace

SIM_API CUresult cuFuncSetBlockShape(CUfunction hfunc, int x, int y, int z) {
  if (CUresult bad = EnterWithFunction(hfunc)) return bad;
  if (x <= 0 || y <= 0 || z <= 0) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard<std::mutex> lock(g_mutex);
  State& state = States()[hfunc];
  state.block[0] = x;
  state.block[1] = y;
  state.block[2] = z;
  return CUDA_SUCCESS;
}
SIM_API CUresult cuFuncSetSharedSize(CUfunction hfunc, unsigned int bytes) {
  if (CUresult bad = EnterWithFunction(hfunc)) return bad;
  std::lock_guard<std::mutex> lock(g_mutex);
  States()[hfunc].shared_bytes = bytes;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuParamSetSize(CUfunction hfunc, unsigned int numbytes) {
  if (CUresult bad = EnterWithFunction(hfunc)) return bad;
  if (numbytes > kMostParameterBytes) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard<std::mutex> lock(g_mutex);
  States()[hfunc].parameter_bytes = numbytes;
  return CUDA_SUCCESS;
}
SIM_API CUresult cuParamSeti(CUfunction hfunc, int offset, unsigned int value) {
  return SetBytes(hfunc, offset, &value, sizeof(value));
}
SIM_API CUresult cuParamSetf(CUfunction hfunc, int offset, float value) {
  return SetBytes(hfunc, offset, &value, sizeof(value));
}
SIM_API CUresult cuParamSetv(CUfunction hfunc, int offset, void* ptr, unsigned int numbytes) {
  return SetBytes(hfunc, offset, ptr, numbytes);
}

SIM_API CUresult cuLaunch(CUfunction f) { return Launch(f, 1, 1, nullptr); }
SIM_API CUresult cuLaunchGrid(CUfunction f, int grid_width, int grid_height) {
  return Launch(f, grid_width, grid_height, nullptr);
}
SIM_API CUresult cuLaunchGridAsync(CUfunction f, int grid_width, int grid_height,
                                   CUstream hStream) {
  return Launch(f, grid_width, grid_height, hStream);
}
