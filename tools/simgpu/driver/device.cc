// SPDX-License-Identifier: Apache-2.0
// cuInit, cuDriverGetVersion and cuDevice*: what the device says of itself.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "tools/simgpu/driver/device_attributes.h"
#include "tools/simgpu/driver/memory_pool.h"
#include "tools/simgpu/driver/memory_table.h"
#include "tools/simgpu/driver/process.h"
#include "tools/simgpu/driver/thread_state.h"
#include "tools/simgpu/driver/visible_devices.h"

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

namespace {

// "01:00.0" is device 0's, as "0000:01:00.0" is.
bool NamesDevice(const char* name, CUdevice device) {
  const std::string id = PciBusId(device);
  return strcasecmp(name, id.c_str()) == 0 || strcasecmp(name, id.c_str() + 5) == 0;
}

}  // namespace

SIM_API CUresult cuInit(unsigned int Flags) {
  if (InHostFunction::Active()) return CUDA_ERROR_NOT_PERMITTED;
  if (Flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return InitialiseProcess();
}

SIM_API CUresult cuDriverGetVersion(int* driverVersion) {
  if (driverVersion == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *driverVersion = 13000;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (CUresult status = Enter()) return status;
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!DeviceExists(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuDeviceGetCount(int* count) {
  if (CUresult status = Enter()) return status;
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = DeviceCount();
  return CUDA_SUCCESS;
}

SIM_API CUresult cuDeviceGetName(char* name, int len, CUdevice dev) {
  if (CUresult status = EnterWithDevice(dev)) return status;
  if (name == nullptr || len <= 0) return CUDA_ERROR_INVALID_VALUE;
  const auto& welcome = TheProcess().channel.welcome();
  snprintf(name, static_cast<size_t>(len), "%.*s", static_cast<int>(sizeof(welcome.name)),
           welcome.name);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice dev) {
  if (CUresult status = EnterWithDevice(dev)) return status;
  if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
  DeviceUuid(dev, reinterpret_cast<uint8_t*>(uuid->bytes));
  return CUDA_SUCCESS;
}
SIM_API CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice dev) {
  return cuDeviceGetUuid_v2(uuid, dev);
}

SIM_API CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice dev) {
  if (CUresult status = EnterWithDevice(dev)) return status;
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *bytes = Memory().total_bytes(dev);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuDeviceGetAttribute(int* pi, CUdevice_attribute attrib, CUdevice dev) {
  if (CUresult status = EnterWithDevice(dev)) return status;
  if (pi == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (attrib == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID) {
    *pi = static_cast<int>(PhysicalIndex(dev)) + 1;
    return CUDA_SUCCESS;
  }
  return DeviceAttribute(TheProcess().channel.welcome(), attrib, pi) ? CUDA_SUCCESS
                                                                     : CUDA_ERROR_INVALID_VALUE;
}

SIM_API CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice dev) {
  if (CUresult status = EnterWithDevice(dev)) return status;
  if (major == nullptr || minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *major = static_cast<int>(TheProcess().channel.welcome().compute_major);
  *minor = static_cast<int>(TheProcess().channel.welcome().compute_minor);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuDeviceGetProperties(CUdevprop* prop, CUdevice dev) {
  if (CUresult status = EnterWithDevice(dev)) return status;
  if (prop == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto& welcome = TheProcess().channel.welcome();
  *prop = CUdevprop{};
  prop->maxThreadsPerBlock = 1024;
  const int block[3] = {1024, 1024, 64};
  const int grid[3] = {0x7fffffff, 65535, 65535};
  memcpy(prop->maxThreadsDim, block, sizeof(block));
  memcpy(prop->maxGridSize, grid, sizeof(grid));
  prop->sharedMemPerBlock = static_cast<int>(welcome.shared_bytes_per_block);
  prop->totalConstantMemory = 65536;
  prop->SIMDWidth = 32;
  prop->memPitch = 0x7fffffff;
  prop->regsPerBlock = static_cast<int>(welcome.registers_per_sm);
  prop->clockRate = static_cast<int>(welcome.clock_khz);
  prop->textureAlign = 512;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuDeviceGetExecAffinitySupport(int* pi, CUexecAffinityType type, CUdevice dev) {
  if (CUresult status = EnterWithDevice(dev)) return status;
  if (pi == nullptr || type < 0 || type >= CU_EXEC_AFFINITY_TYPE_MAX) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *pi = TheProcess().channel.welcome().mps != 0 ? 1 : 0;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuDeviceGetPCIBusId(char* pciBusId, int len, CUdevice dev) {
  if (CUresult status = EnterWithDevice(dev)) return status;
  if (pciBusId == nullptr || len <= 0) return CUDA_ERROR_INVALID_VALUE;
  snprintf(pciBusId, static_cast<size_t>(len), "%s", PciBusId(dev).c_str());
  return CUDA_SUCCESS;
}

SIM_API CUresult cuDeviceGetByPCIBusId(CUdevice* dev, const char* pciBusId) {
  if (CUresult status = Enter()) return status;
  if (dev == nullptr || pciBusId == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (CUdevice device = 0; device < DeviceCount(); ++device) {
    if (!NamesDevice(pciBusId, device)) continue;
    *dev = device;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_DEVICE;
}

namespace {

CUresult PoolOfDevice(CUmemoryPool* pool, CUdevice dev) {
  if (CUresult status = EnterWithDevice(dev)) return status;
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pool = reinterpret_cast<CUmemoryPool>(DefaultPool(dev));
  return CUDA_SUCCESS;
}

}  // namespace

SIM_API CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool_out, CUdevice dev) {
  return PoolOfDevice(pool_out, dev);
}
SIM_API CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice dev) {
  if (CUresult status = PoolOfDevice(pool, dev)) return status;
  *pool = reinterpret_cast<CUmemoryPool>(CurrentPool(dev));
  return CUDA_SUCCESS;
}
SIM_API CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool) {
  if (CUresult status = EnterWithDevice(dev)) return status;
  MemoryPool* found = Pools().Find(pool);
  if (found == nullptr || found->device != dev) return CUDA_ERROR_INVALID_VALUE;
  SetCurrentPool(dev, found);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuProfilerInitialize(const char*, const char*, CUoutput_mode) {
  return CUDA_ERROR_NOT_SUPPORTED;  // as every driver since CUDA 12
}
SIM_API CUresult cuProfilerStart(void) { return Enter(); }
SIM_API CUresult cuProfilerStop(void) { return Enter(); }

SIM_API CUresult cuGetExportTable(const void** ppExportTable, const CUuuid* pExportTableId) {
  if (ppExportTable == nullptr || pExportTableId == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *ppExportTable = nullptr;
  return CUDA_ERROR_NOT_FOUND;
}
