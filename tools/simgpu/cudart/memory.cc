// SPDX-License-Identifier: Apache-2.0
// Memory of every kind, pools, pointers.
#include "tools/simgpu/cudart/error.h"

using namespace sgprs::simgpu::cudart;  // NOLINT: the API's functions have no namespace

namespace {

CUdeviceptr* AsAddress(void** pointer) { return reinterpret_cast<CUdeviceptr*>(pointer); }
CUdeviceptr AsAddress(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

// Asks for no bytes: success and a null pointer, where the driver refuses.
cudaError_t Nothing(void** pointer) {
  const Driver* driver;
  *pointer = nullptr;
  return Say(Enter(&driver));
}

}  // namespace

RT_API cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  if (pointer == nullptr) return Say(cudaErrorInvalidValue);
  if (bytes == 0) return Nothing(pointer);
  return Call(&Driver::cuMemAlloc, AsAddress(pointer), bytes);
}
RT_API cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  if (pointer == nullptr || pitch == nullptr) return Say(cudaErrorInvalidValue);
  *pitch = 0;
  if (width == 0 || height == 0) return Nothing(pointer);
  return Call(&Driver::cuMemAllocPitch, AsAddress(pointer), pitch, width, height, 4u);
}
RT_API cudaError_t cudaMalloc3D(struct cudaPitchedPtr* pitched, struct cudaExtent extent) {
  if (pitched == nullptr) return Say(cudaErrorInvalidValue);
  *pitched = cudaPitchedPtr{nullptr, 0, extent.width, extent.height};
  return cudaMallocPitch(&pitched->ptr, &pitched->pitch, extent.width,
                         extent.height * extent.depth);
}
RT_API cudaError_t cudaFree(void* pointer) {
  const Driver* driver;
  if (pointer == nullptr) return Say(Enter(&driver));
  return Call(&Driver::cuMemFree, AsAddress(pointer));
}
RT_API cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return Call(&Driver::cuMemGetInfo, free, total);
}

RT_API cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned int flags) {
  if (pointer == nullptr) return Say(cudaErrorInvalidValue);
  if (bytes == 0) return Nothing(pointer);
  return Call(&Driver::cuMemHostAlloc, pointer, bytes, flags);
}
RT_API cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  return cudaHostAlloc(pointer, bytes, cudaHostAllocDefault);
}
RT_API cudaError_t cudaFreeHost(void* pointer) {
  const Driver* driver;
  if (pointer == nullptr) return Say(Enter(&driver));
  return Call(&Driver::cuMemFreeHost, pointer);
}
RT_API cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned int flags) {
  return Call(&Driver::cuMemHostRegister, pointer, bytes, flags);
}
RT_API cudaError_t cudaHostUnregister(void* pointer) {
  return Call(&Driver::cuMemHostUnregister, pointer);
}
RT_API cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned int flags) {
  return Call(&Driver::cuMemHostGetDevicePointer, AsAddress(device), host, flags);
}
RT_API cudaError_t cudaHostGetFlags(unsigned int* flags, void* host) {
  return Call(&Driver::cuMemHostGetFlags, flags, host);
}

RT_API cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned int flags) {
  if (pointer == nullptr || bytes == 0) return Say(cudaErrorInvalidValue);
  return Call(&Driver::cuMemAllocManaged, AsAddress(pointer), bytes, flags);
}
RT_API cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, enum cudaMemoryAdvise advice,
                                 struct cudaMemLocation location) {
  const CUmemLocation same{static_cast<CUmemLocationType>(location.type), location.id};
  return Call(&Driver::cuMemAdvise, AsAddress(pointer), bytes, static_cast<CUmem_advise>(advice),
              same);
}
RT_API cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes,
                                        struct cudaMemLocation location, unsigned int flags,
                                        cudaStream_t stream) {
  const CUmemLocation same{static_cast<CUmemLocationType>(location.type), location.id};
  return Call(&Driver::cuMemPrefetchAsync, AsAddress(pointer), bytes, same, flags, Resolve(stream));
}

RT_API cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  if (pointer == nullptr) return Say(cudaErrorInvalidValue);
  if (bytes == 0) return Nothing(pointer);
  return Call(&Driver::cuMemAllocAsync, AsAddress(pointer), bytes, Resolve(stream));
}
RT_API cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool,
                                           cudaStream_t stream) {
  if (pointer == nullptr) return Say(cudaErrorInvalidValue);
  if (bytes == 0) return Nothing(pointer);
  return Call(&Driver::cuMemAllocFromPoolAsync, AsAddress(pointer), bytes, pool, Resolve(stream));
}
RT_API cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  if (pointer == nullptr) return cudaSuccess;
  return Call(&Driver::cuMemFreeAsync, AsAddress(pointer), Resolve(stream));
}

RT_API cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return CallDriver(&Driver::cuDeviceGetDefaultMemPool, pool, device);
}
RT_API cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return CallDriver(&Driver::cuDeviceGetMemPool, pool, device);
}
RT_API cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  return CallDriver(&Driver::cuDeviceSetMemPool, device, pool);
}
RT_API cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const struct cudaMemPoolProps* props) {
  static_assert(sizeof(*props) == sizeof(CUmemPoolProps));
  return Call(&Driver::cuMemPoolCreate, pool, reinterpret_cast<const CUmemPoolProps*>(props));
}
RT_API cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  return Call(&Driver::cuMemPoolDestroy, pool);
}
RT_API cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep) {
  return Call(&Driver::cuMemPoolTrimTo, pool, keep);
}
RT_API cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attr,
                                           void* value) {
  return Call(&Driver::cuMemPoolSetAttribute, pool, static_cast<CUmemPool_attribute>(attr), value);
}
RT_API cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attr,
                                           void* value) {
  return Call(&Driver::cuMemPoolGetAttribute, pool, static_cast<CUmemPool_attribute>(attr), value);
}
RT_API cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc* list,
                                        size_t count) {
  static_assert(sizeof(*list) == sizeof(CUmemAccessDesc));
  return Call(&Driver::cuMemPoolSetAccess, pool, reinterpret_cast<const CUmemAccessDesc*>(list),
              count);
}
RT_API cudaError_t cudaMemPoolGetAccess(enum cudaMemAccessFlags* flags, cudaMemPool_t pool,
                                        struct cudaMemLocation* location) {
  static_assert(sizeof(*location) == sizeof(CUmemLocation));
  return Call(&Driver::cuMemPoolGetAccess, reinterpret_cast<CUmemAccess_flags*>(flags), pool,
              reinterpret_cast<CUmemLocation*>(location));
}

RT_API cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes* attributes,
                                            const void* pointer) {
  if (attributes == nullptr) return Say(cudaErrorInvalidValue);
  int type = 0;
  int managed = 0;
  int device = cudaInvalidDeviceId;
  void* device_pointer = nullptr;
  void* host_pointer = nullptr;
  CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                 CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                 CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                 CU_POINTER_ATTRIBUTE_HOST_POINTER};
  void* places[] = {&type, &managed, &device, &device_pointer, &host_pointer};
  if (cudaError_t bad =
          Call(&Driver::cuPointerGetAttributes, 5u, names, places, AsAddress(pointer))) {
    return bad;
  }
  *attributes = cudaPointerAttributes{};
  attributes->device = device;
  attributes->devicePointer = device_pointer;
  attributes->hostPointer = host_pointer;
  if (managed != 0) {
    attributes->type = cudaMemoryTypeManaged;
  } else if (type == CU_MEMORYTYPE_DEVICE) {
    attributes->type = cudaMemoryTypeDevice;
  } else if (type == CU_MEMORYTYPE_HOST) {
    attributes->type = cudaMemoryTypeHost;
  } else {  // a pointer that the driver does not know: the process's own memory
    attributes->type = cudaMemoryTypeUnregistered;
    attributes->device = cudaInvalidDeviceId;
    attributes->hostPointer = const_cast<void*>(pointer);
  }
  return cudaSuccess;
}

RT_API cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
  return Call(&Driver::cuIpcGetMemHandle, reinterpret_cast<CUipcMemHandle*>(handle),
              AsAddress(pointer));
}
RT_API cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle,
                                        unsigned int flags) {
  CUipcMemHandle same;
  static_assert(sizeof(same) == sizeof(handle));
  __builtin_memcpy(&same, &handle, sizeof(same));
  return Call(&Driver::cuIpcOpenMemHandle, AsAddress(pointer), same, flags);
}
RT_API cudaError_t cudaIpcCloseMemHandle(void* pointer) {
  return Call(&Driver::cuIpcCloseMemHandle, AsAddress(pointer));
}
