// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "shim/interpose/interpose.h"
#include "shim/partition/backend.h"

namespace sgprs::shim {
namespace {

// Is `context` the device's primary context? Never makes one active.
bool IsPrimary(CUdevice device, CUcontext context) {
  unsigned flags = 0;
  int active = 0;
  if (SGPRS_REAL(cuDevicePrimaryCtxGetState)(device, &flags, &active) != CUDA_SUCCESS ||
      active == 0) {
    return false;
  }
  CUcontext primary = nullptr;
  if (SGPRS_REAL(cuDevicePrimaryCtxRetain)(&primary, device) != CUDA_SUCCESS) return false;
  if (SGPRS_HAS(cuDevicePrimaryCtxRelease_v2)) {
    SGPRS_REAL(cuDevicePrimaryCtxRelease_v2)(device);
  } else {
    SGPRS_REAL(cuDevicePrimaryCtxRelease)(device);
  }
  return primary == context;
}

uint32_t Attribute(CUdevice device, CUdevice_attribute attribute) {
  int value = 0;
  SGPRS_REAL(cuDeviceGetAttribute)(&value, attribute, device);
  return value > 0 ? static_cast<uint32_t>(value) : 0;
}

}  // namespace

bool ReadDeviceFacts(CUcontext context, DeviceFacts* facts) {
  *facts = DeviceFacts();
  CUdevice device = 0;
  if (SGPRS_REAL(cuCtxGetDevice)(&device) != CUDA_SUCCESS) return false;
  facts->device = device;
  facts->context = context;
  facts->primary = IsPrimary(device, context);
  facts->sm_count = Attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  facts->sm_minimum = 2;
  facts->sm_alignment = 2;
  CUdevResource resource;
  memset(&resource, 0, sizeof(resource));
  if (SGPRS_REAL(cuDeviceGetDevResource)(device, &resource, CU_DEV_RESOURCE_TYPE_SM) ==
      CUDA_SUCCESS) {
    if (resource.sm.minSmPartitionSize != 0) facts->sm_minimum = resource.sm.minSmPartitionSize;
    if (resource.sm.smCoscheduledAlignment != 0) {
      facts->sm_alignment = resource.sm.smCoscheduledAlignment;
    }
  }
  CUuuid uuid;
  if (SGPRS_REAL(cuDeviceGetUuid_v2)(&uuid, device) == CUDA_SUCCESS ||
      SGPRS_REAL(cuDeviceGetUuid)(&uuid, device) == CUDA_SUCCESS) {
    memcpy(facts->uuid, uuid.bytes, sizeof(facts->uuid));
  }
  SGPRS_REAL(cuDeviceGetName)(facts->name, sizeof(facts->name), device);
  facts->name[sizeof(facts->name) - 1] = '\0';
  SGPRS_REAL(cuCtxGetStreamPriorityRange)(&facts->priority_least, &facts->priority_greatest);
  return facts->sm_count != 0;
}

CUevent Backend::MakeEvent(uint32_t partition, unsigned flags) {
  (void)partition;
  CUevent event = nullptr;
  return SGPRS_REAL(cuEventCreate)(&event, flags) == CUDA_SUCCESS ? event : nullptr;
}

Backend* BackendOf(SgprsBackend kind) {
  switch (kind) {
    case SGPRS_BACKEND_GREEN:
      return GreenBackend();
    case SGPRS_BACKEND_MPS:
      return MpsBackend();
    case SGPRS_BACKEND_PRIORITY:
      return PriorityBackend();
    default:
      return NoneBackend();
  }
}

}  // namespace sgprs::shim
