// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/cudart/registry.h"

#include "tools/simgpu/cudart/driver.h"

namespace sgprs::simgpu::cudart {

Registry& Registry::Get() {
  static auto* registry = new Registry;  // used by other libraries' constructors and at exit
  return *registry;
}

void** Registry::AddBinary(const void* wrapper) {
  std::unique_lock lock(mutex_);
  Binary& binary = binaries_.emplace_back();
  binary.wrapper = wrapper;
  return reinterpret_cast<void**>(&binary);
}

void Registry::RemoveBinary(void** handle) {
  std::unique_lock lock(mutex_);
  const auto* binary = reinterpret_cast<Binary*>(handle);
  std::erase_if(functions_, [&](const auto& item) { return item.second.binary == binary; });
  std::erase_if(variables_, [&](const auto& item) { return item.second.binary == binary; });
}

void Registry::AddFunction(void** handle, const void* host, const char* name) {
  std::unique_lock lock(mutex_);
  functions_[host] = Entry{reinterpret_cast<Binary*>(handle), name, 0, nullptr};
}

void Registry::AddVariable(void** handle, const void* host, const char* name, size_t bytes) {
  std::unique_lock lock(mutex_);
  variables_[host] = Entry{reinterpret_cast<Binary*>(handle), name, bytes, nullptr};
}

cudaError_t Registry::Load(Binary* binary) {
  const Driver* driver;
  if (cudaError_t bad = GetDriver(&driver)) return bad;
  std::lock_guard lock(binary->mutex);
  if (binary->library != nullptr || binary->failure != cudaSuccess) return binary->failure;
  const CUresult result = driver->cuLibraryLoadData(&binary->library, binary->wrapper, nullptr,
                                                    nullptr, 0, nullptr, nullptr, 0);
  binary->failure = static_cast<cudaError_t>(result);
  return binary->failure;
}

cudaError_t Registry::FindKernel(const void* host, CUkernel* kernel) {
  Binary* binary;
  std::string name;
  {
    std::shared_lock lock(mutex_);
    auto it = functions_.find(host);
    if (it == functions_.end()) return cudaErrorInvalidDeviceFunction;
    *kernel = it->second.kernel;
    if (*kernel != nullptr) return cudaSuccess;
    binary = it->second.binary;
    name = it->second.name;
  }
  if (cudaError_t bad = Load(binary)) return bad;
  const Driver* driver;
  if (cudaError_t bad = GetDriver(&driver)) return bad;
  if (CUresult bad = driver->cuLibraryGetKernel(kernel, binary->library, name.c_str())) {
    return bad == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidDeviceFunction
                                       : static_cast<cudaError_t>(bad);
  }
  std::unique_lock lock(mutex_);
  auto it = functions_.find(host);
  if (it != functions_.end()) it->second.kernel = *kernel;
  return cudaSuccess;
}

cudaError_t Registry::FindVariable(const void* host, CUdeviceptr* address, size_t* bytes) {
  Binary* binary;
  std::string name;
  {
    std::shared_lock lock(mutex_);
    auto it = variables_.find(host);
    if (it == variables_.end()) return cudaErrorInvalidSymbol;
    binary = it->second.binary;
    name = it->second.name;
  }
  if (cudaError_t bad = Load(binary)) return bad;
  const Driver* driver;
  if (cudaError_t bad = Enter(&driver)) return bad;
  const CUresult result = driver->cuLibraryGetGlobal(address, bytes, binary->library, name.c_str());
  return result == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidSymbol : static_cast<cudaError_t>(result);
}

}  // namespace sgprs::simgpu::cudart
