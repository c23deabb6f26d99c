// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/cudart/device_properties.h"

#include <cstddef>
#include <cstring>

namespace sgprs::simgpu::cudart {
namespace {

// One field that is one attribute of the driver.
struct Field {
  size_t offset;
  size_t bytes;
  CUdevice_attribute attribute;
};

#define FIELD(name, attribute) \
  { offsetof(cudaDeviceProp, name), sizeof(cudaDeviceProp::name), CU_DEVICE_ATTRIBUTE_##attribute }
#define ELEMENT(name, index, attribute)                                  \
  {                                                                      \
    offsetof(cudaDeviceProp, name) + (index) * sizeof(int), sizeof(int), \
        CU_DEVICE_ATTRIBUTE_##attribute                                  \
  }

constexpr Field kFields[] = {
    FIELD(sharedMemPerBlock, MAX_SHARED_MEMORY_PER_BLOCK),
    FIELD(regsPerBlock, MAX_REGISTERS_PER_BLOCK),
    FIELD(warpSize, WARP_SIZE),
    FIELD(memPitch, MAX_PITCH),
    FIELD(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK),
    ELEMENT(maxThreadsDim, 0, MAX_BLOCK_DIM_X),
    ELEMENT(maxThreadsDim, 1, MAX_BLOCK_DIM_Y),
    ELEMENT(maxThreadsDim, 2, MAX_BLOCK_DIM_Z),
    ELEMENT(maxGridSize, 0, MAX_GRID_DIM_X),
    ELEMENT(maxGridSize, 1, MAX_GRID_DIM_Y),
    ELEMENT(maxGridSize, 2, MAX_GRID_DIM_Z),
    FIELD(totalConstMem, TOTAL_CONSTANT_MEMORY),
    FIELD(major, COMPUTE_CAPABILITY_MAJOR),
    FIELD(minor, COMPUTE_CAPABILITY_MINOR),
    FIELD(textureAlignment, TEXTURE_ALIGNMENT),
    FIELD(texturePitchAlignment, TEXTURE_PITCH_ALIGNMENT),
    FIELD(multiProcessorCount, MULTIPROCESSOR_COUNT),
    FIELD(integrated, INTEGRATED),
    FIELD(canMapHostMemory, CAN_MAP_HOST_MEMORY),
    FIELD(maxTexture1D, MAXIMUM_TEXTURE1D_WIDTH),
    ELEMENT(maxTexture2D, 0, MAXIMUM_TEXTURE2D_WIDTH),
    ELEMENT(maxTexture2D, 1, MAXIMUM_TEXTURE2D_HEIGHT),
    ELEMENT(maxTexture3D, 0, MAXIMUM_TEXTURE3D_WIDTH),
    ELEMENT(maxTexture3D, 1, MAXIMUM_TEXTURE3D_HEIGHT),
    ELEMENT(maxTexture3D, 2, MAXIMUM_TEXTURE3D_DEPTH),
    FIELD(surfaceAlignment, SURFACE_ALIGNMENT),
    FIELD(concurrentKernels, CONCURRENT_KERNELS),
    FIELD(ECCEnabled, ECC_ENABLED),
    FIELD(pciBusID, PCI_BUS_ID),
    FIELD(pciDeviceID, PCI_DEVICE_ID),
    FIELD(pciDomainID, PCI_DOMAIN_ID),
    FIELD(tccDriver, TCC_DRIVER),
    FIELD(asyncEngineCount, ASYNC_ENGINE_COUNT),
    FIELD(unifiedAddressing, UNIFIED_ADDRESSING),
    FIELD(memoryBusWidth, GLOBAL_MEMORY_BUS_WIDTH),
    FIELD(l2CacheSize, L2_CACHE_SIZE),
    FIELD(persistingL2CacheMaxSize, MAX_PERSISTING_L2_CACHE_SIZE),
    FIELD(maxThreadsPerMultiProcessor, MAX_THREADS_PER_MULTIPROCESSOR),
    FIELD(streamPrioritiesSupported, STREAM_PRIORITIES_SUPPORTED),
    FIELD(globalL1CacheSupported, GLOBAL_L1_CACHE_SUPPORTED),
    FIELD(localL1CacheSupported, LOCAL_L1_CACHE_SUPPORTED),
    FIELD(sharedMemPerMultiprocessor, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
    FIELD(regsPerMultiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR),
    FIELD(managedMemory, MANAGED_MEMORY),
    FIELD(isMultiGpuBoard, MULTI_GPU_BOARD),
    FIELD(multiGpuBoardGroupID, MULTI_GPU_BOARD_GROUP_ID),
    FIELD(hostNativeAtomicSupported, HOST_NATIVE_ATOMIC_SUPPORTED),
    FIELD(pageableMemoryAccess, PAGEABLE_MEMORY_ACCESS),
    FIELD(concurrentManagedAccess, CONCURRENT_MANAGED_ACCESS),
    FIELD(computePreemptionSupported, COMPUTE_PREEMPTION_SUPPORTED),
    FIELD(canUseHostPointerForRegisteredMem, CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM),
    FIELD(cooperativeLaunch, COOPERATIVE_LAUNCH),
    FIELD(sharedMemPerBlockOptin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
    FIELD(pageableMemoryAccessUsesHostPageTables, PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES),
    FIELD(directManagedMemAccessFromHost, DIRECT_MANAGED_MEM_ACCESS_FROM_HOST),
    FIELD(maxBlocksPerMultiProcessor, MAX_BLOCKS_PER_MULTIPROCESSOR),
    FIELD(accessPolicyMaxWindowSize, MAX_ACCESS_POLICY_WINDOW_SIZE),
    FIELD(reservedSharedMemPerBlock, RESERVED_SHARED_MEMORY_PER_BLOCK),
    FIELD(hostRegisterSupported, HOST_REGISTER_SUPPORTED),
    FIELD(sparseCudaArraySupported, SPARSE_CUDA_ARRAY_SUPPORTED),
    FIELD(hostRegisterReadOnlySupported, READ_ONLY_HOST_REGISTER_SUPPORTED),
    FIELD(timelineSemaphoreInteropSupported, TIMELINE_SEMAPHORE_INTEROP_SUPPORTED),
    FIELD(memoryPoolsSupported, MEMORY_POOLS_SUPPORTED),
    FIELD(gpuDirectRDMASupported, GPU_DIRECT_RDMA_SUPPORTED),
    FIELD(memoryPoolSupportedHandleTypes, MEMPOOL_SUPPORTED_HANDLE_TYPES),
    FIELD(deferredMappingCudaArraySupported, DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED),
    FIELD(ipcEventSupported, IPC_EVENT_SUPPORTED),
    FIELD(clusterLaunch, CLUSTER_LAUNCH),
    FIELD(unifiedFunctionPointers, UNIFIED_FUNCTION_POINTERS),
    FIELD(deviceNumaConfig, NUMA_CONFIG),
    FIELD(deviceNumaId, NUMA_ID),
    FIELD(mpsEnabled, MPS_ENABLED),
    FIELD(hostNumaId, HOST_NUMA_ID),
};
#undef FIELD
#undef ELEMENT

}  // namespace

cudaError_t ReadProperties(const Driver& driver, int device, cudaDeviceProp* properties) {
  memset(properties, 0, sizeof(*properties));
  CUresult result = driver.cuDeviceGetName(properties->name, sizeof(properties->name), device);
  if (result == CUDA_SUCCESS) {
    result = driver.cuDeviceTotalMem(&properties->totalGlobalMem, device);
  }
  CUuuid uuid;
  if (result == CUDA_SUCCESS) result = driver.cuDeviceGetUuid(&uuid, device);
  if (result != CUDA_SUCCESS) return static_cast<cudaError_t>(result);
  memcpy(&properties->uuid, &uuid, sizeof(properties->uuid));
  for (const Field& field : kFields) {
    int value = 0;
    // An attribute that this driver does not know reads as 0, "not supported".
    if (driver.cuDeviceGetAttribute(&value, field.attribute, device) != CUDA_SUCCESS) value = 0;
    const auto wide = static_cast<size_t>(value);
    char* place = reinterpret_cast<char*>(properties) + field.offset;
    if (field.bytes == sizeof(size_t)) {
      memcpy(place, &wide, sizeof(wide));
    } else {
      memcpy(place, &value, sizeof(value));
    }
  }
  return cudaSuccess;
}

}  // namespace sgprs::simgpu::cudart
