// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/cudart/driver.h"

#include <dlfcn.h>

#include <mutex>

namespace sgprs::simgpu::cudart {
namespace {

constexpr int kMaxDevices = 64;

thread_local int this_device = 0;

struct Loaded {
  Driver driver{};
  bool found = false;

  Loaded() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) return;
    driver.get_proc_address =
        reinterpret_cast<PFN_cuGetProcAddress_v12000>(dlsym(library, "cuGetProcAddress_v2"));
    if (driver.get_proc_address == nullptr) return;
#define DRIVER_CALL(name) Find(#name, CUDA_VERSION, reinterpret_cast<void**>(&driver.name));
#define DRIVER_CALL_OF(name, version) Find(#name, version, reinterpret_cast<void**>(&driver.name));
#include "tools/simgpu/cudart/driver_calls.inc"
#undef DRIVER_CALL_OF
#undef DRIVER_CALL
    found = driver.cuInit != nullptr;
  }

  void Find(const char* name, int version, void** place) const {
    CUdriverProcAddressQueryResult status;
    if (driver.get_proc_address(name, place, version, CU_GET_PROC_ADDRESS_DEFAULT, &status) !=
        CUDA_SUCCESS) {
      *place = nullptr;
    }
  }
};

const Loaded& TheLibrary() {
  static const auto* loaded = new Loaded;  // outlives every other static object
  return *loaded;
}

// Primary contexts, retained once a device and never released: they live as long as the process.
CUresult PrimaryContext(const Driver& driver, int device, CUcontext* context) {
  static std::mutex mutex;
  static CUcontext contexts[kMaxDevices];
  if (device < 0 || device >= kMaxDevices) return CUDA_ERROR_INVALID_DEVICE;
  std::lock_guard<std::mutex> lock(mutex);
  if (contexts[device] == nullptr) {
    if (CUresult bad = driver.cuDevicePrimaryCtxRetain(&contexts[device], device)) return bad;
  }
  *context = contexts[device];
  return CUDA_SUCCESS;
}

}  // namespace

cudaError_t GetDriver(const Driver** driver) {
  const Loaded& loaded = TheLibrary();
  if (!loaded.found) return cudaErrorInsufficientDriver;
  *driver = &loaded.driver;
  return static_cast<cudaError_t>(loaded.driver.cuInit(0));
}

cudaError_t Enter(const Driver** out) {
  const Loaded& loaded = TheLibrary();
  if (!loaded.found) return cudaErrorInsufficientDriver;
  const Driver& driver = loaded.driver;
  *out = &driver;
  CUcontext current = nullptr;
  const CUresult status = driver.cuCtxGetCurrent(&current);
  if (status == CUDA_SUCCESS && current != nullptr) return cudaSuccess;
  if (cudaError_t bad = GetDriver(out)) return bad;
  return SelectDevice(this_device);
}

int CurrentDevice() {
  const Loaded& loaded = TheLibrary();
  CUcontext current = nullptr;
  CUdevice device;
  if (loaded.found && loaded.driver.cuCtxGetCurrent(&current) == CUDA_SUCCESS &&
      current != nullptr && loaded.driver.cuCtxGetDevice(&device) == CUDA_SUCCESS) {
    return device;
  }
  return this_device;
}

cudaError_t SelectDevice(int device) {
  const Driver* driver;
  if (cudaError_t bad = GetDriver(&driver)) return bad;
  int count = 0;
  if (CUresult bad = driver->cuDeviceGetCount(&count)) return static_cast<cudaError_t>(bad);
  if (device < 0 || device >= count) return cudaErrorInvalidDevice;
  CUcontext context;
  CUresult result = PrimaryContext(*driver, device, &context);
  if (result == CUDA_SUCCESS) result = driver->cuCtxSetCurrent(context);
  if (result == CUDA_SUCCESS) this_device = device;
  return static_cast<cudaError_t>(result);
}

}  // namespace sgprs::simgpu::cudart
