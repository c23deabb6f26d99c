// SPDX-License-Identifier: Apache-2.0
// Devices: which there are, which one this thread uses, what it is like.
#include "tools/simgpu/cudart/device_properties.h"
#include "tools/simgpu/cudart/error.h"

using namespace sgprs::simgpu::cudart;  // NOLINT: the API's functions have no namespace

RT_API cudaError_t cudaGetDeviceCount(int* count) {
  if (count == nullptr) return Say(cudaErrorInvalidValue);
  *count = 0;
  if (cudaError_t bad = CallDriver(&Driver::cuDeviceGetCount, count)) return bad;
  return *count > 0 ? cudaSuccess : Say(cudaErrorNoDevice);
}

RT_API cudaError_t cudaGetDevice(int* device) {
  if (device == nullptr) return Say(cudaErrorInvalidValue);
  const Driver* driver;
  if (cudaError_t bad = GetDriver(&driver)) return Say(bad);
  *device = CurrentDevice();
  return cudaSuccess;
}

RT_API cudaError_t cudaSetDevice(int device) { return Say(SelectDevice(device)); }
RT_API cudaError_t cudaInitDevice(int device, unsigned int, unsigned int) {
  return Say(SelectDevice(device));
}

RT_API cudaError_t cudaSetValidDevices(int* devices, int count) {
  return Say(devices == nullptr && count > 0 ? cudaErrorInvalidValue : cudaSuccess);
}

RT_API cudaError_t cudaChooseDevice(int* device, const struct cudaDeviceProp* prop) {
  if (device == nullptr || prop == nullptr) return Say(cudaErrorInvalidValue);
  *device = 0;
  return cudaSuccess;
}

RT_API cudaError_t cudaSetDeviceFlags(unsigned int flags) {
  // cudaDeviceMapHost (8) is on always, cudaDeviceSyncMemops (0x80) is a context flag too.
  return CallDriver(&Driver::cuDevicePrimaryCtxSetFlags, CurrentDevice(), flags & ~0x8u);
}

RT_API cudaError_t cudaGetDeviceFlags(unsigned int* flags) {
  if (flags == nullptr) return Say(cudaErrorInvalidValue);
  int active = 0;
  const cudaError_t result =
      CallDriver(&Driver::cuDevicePrimaryCtxGetState, CurrentDevice(), flags, &active);
  *flags |= cudaDeviceMapHost;
  return result;
}

RT_API cudaError_t cudaDeviceGetAttribute(int* value, enum cudaDeviceAttr attr, int device) {
  return CallDriver(&Driver::cuDeviceGetAttribute, value, static_cast<CUdevice_attribute>(attr),
                    device);
}

RT_API cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp* prop, int device) {
  if (prop == nullptr) return Say(cudaErrorInvalidValue);
  const Driver* driver;
  if (cudaError_t bad = GetDriver(&driver)) return Say(bad);
  return Say(ReadProperties(*driver, device, prop));
}

RT_API cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device) {
  return CallDriver(&Driver::cuDeviceGetPCIBusId, id, length, device);
}
RT_API cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* id) {
  return CallDriver(&Driver::cuDeviceGetByPCIBusId, device, id);
}

RT_API cudaError_t cudaDeviceSynchronize(void) { return Call(&Driver::cuCtxSynchronize); }

RT_API cudaError_t cudaDeviceReset(void) {
  return CallDriver(&Driver::cuDevicePrimaryCtxReset, CurrentDevice());
}

RT_API cudaError_t cudaDeviceGetLimit(size_t* value, enum cudaLimit limit) {
  return Call(&Driver::cuCtxGetLimit, value, static_cast<CUlimit>(limit));
}
RT_API cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value) {
  return Call(&Driver::cuCtxSetLimit, static_cast<CUlimit>(limit), value);
}
RT_API cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache* config) {
  return Call(&Driver::cuCtxGetCacheConfig, reinterpret_cast<CUfunc_cache*>(config));
}
RT_API cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config) {
  return Call(&Driver::cuCtxSetCacheConfig, static_cast<CUfunc_cache>(config));
}
RT_API cudaError_t cudaCtxResetPersistingL2Cache(void) {
  return Call(&Driver::cuCtxResetPersistingL2Cache);
}
RT_API cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return Call(&Driver::cuCtxGetStreamPriorityRange, least, greatest);
}

RT_API cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return CallDriver(&Driver::cuDeviceCanAccessPeer, can, device, peer);
}
RT_API cudaError_t cudaDeviceGetP2PAttribute(int* value, enum cudaDeviceP2PAttr attr, int source,
                                             int target) {
  return CallDriver(&Driver::cuDeviceGetP2PAttribute, value,
                    static_cast<CUdevice_P2PAttribute>(attr), source, target);
}

namespace {

// The primary context of `peer`, for a call of this thread's device. An application's context does
// not change.
cudaError_t PeerContext(int peer, CUcontext* context) {
  const Driver* driver;
  if (cudaError_t bad = Enter(&driver)) return bad;
  const int own = CurrentDevice();
  if (peer == own) return cudaErrorInvalidDevice;
  CUcontext before;
  if (CUresult bad = driver->cuCtxGetCurrent(&before)) return static_cast<cudaError_t>(bad);
  if (cudaError_t bad = SelectDevice(peer)) return bad;
  CUresult result = driver->cuCtxGetCurrent(context);
  if (cudaError_t bad = SelectDevice(own)) return bad;
  if (CUresult bad = driver->cuCtxSetCurrent(before)) result = bad;
  return static_cast<cudaError_t>(result);
}

}  // namespace

RT_API cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags) {
  CUcontext context;
  if (cudaError_t bad = PeerContext(peer, &context)) return Say(bad);
  return Call(&Driver::cuCtxEnablePeerAccess, context, flags);
}
RT_API cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  CUcontext context;
  if (cudaError_t bad = PeerContext(peer, &context)) return Say(bad);
  return Call(&Driver::cuCtxDisablePeerAccess, context);
}

RT_API cudaError_t cudaDriverGetVersion(int* version) {
  if (version == nullptr) return Say(cudaErrorInvalidValue);
  *version = 0;  // no driver: 0 and success, says the manual
  const Driver* driver;
  const cudaError_t found = GetDriver(&driver);
  if (found == cudaErrorInsufficientDriver) return cudaSuccess;
  return Say(driver->cuDriverGetVersion(version));
}
RT_API cudaError_t cudaRuntimeGetVersion(int* version) {
  if (version == nullptr) return Say(cudaErrorInvalidValue);
  *version = CUDART_VERSION;
  return cudaSuccess;
}

RT_API cudaError_t cudaProfilerStart(void) { return Call(&Driver::cuProfilerStart); }
RT_API cudaError_t cudaProfilerStop(void) { return Call(&Driver::cuProfilerStop); }

RT_API cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function,
                                                    unsigned int version, unsigned long long flags,
                                                    enum cudaDriverEntryPointQueryResult* status) {
  if (symbol == nullptr || function == nullptr) return Say(cudaErrorInvalidValue);
  if (flags == cudaEnableDefault && PerThreadDefaultStream::Active()) {
    flags = cudaEnablePerThreadDefaultStream;
  }
  const Driver* driver;
  if (cudaError_t bad = GetDriver(&driver)) return Say(bad);
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  *function = nullptr;
  const CUresult result =
      driver->get_proc_address(symbol, function, static_cast<int>(version), flags, &found);
  if (status == nullptr) return Say(result);
  *status = static_cast<cudaDriverEntryPointQueryResult>(found);
  return Say(result == CUDA_ERROR_NOT_FOUND ? CUDA_SUCCESS : result);
}
RT_API cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function,
                                           unsigned long long flags,
                                           enum cudaDriverEntryPointQueryResult* status) {
  return cudaGetDriverEntryPointByVersion(symbol, function, CUDART_VERSION, flags, status);
}
