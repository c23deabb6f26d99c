// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/driver/launch_attributes.h"

#include <algorithm>
#include <initializer_list>

#include "tools/simgpu/driver/process.h"

namespace sgprs::simgpu::driver {
namespace {

CUresult SetCluster(unsigned int x, unsigned int y, unsigned int z, Launch* launch) {
  if (TheProcess().channel.welcome().compute_major < 9) return CUDA_ERROR_NOT_SUPPORTED;
  const unsigned int size[3] = {x, y, z};
  uint64_t blocks = 1;
  for (int i = 0; i < 3; ++i) {
    if (size[i] == 0 || launch->grid[i] % size[i] != 0) return CUDA_ERROR_INVALID_VALUE;
    blocks *= size[i];
    launch->cluster[i] = size[i];
  }
  return blocks <= kMostClusterBlocks ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CLUSTER_SIZE;
}

CUresult SetEvent(CUevent handle, Launch* launch) {
  Event* event;
  if (CUresult bad = FindEvent(handle, &event)) return bad;
  // cuda.h: events of launches carry no time and no other process knows them.
  if ((event->flags & CU_EVENT_DISABLE_TIMING) == 0) return CUDA_ERROR_INVALID_VALUE;
  if ((event->flags & CU_EVENT_INTERPROCESS) != 0) return CUDA_ERROR_INVALID_VALUE;
  launch->events[launch->event_count++] = event;
  return CUDA_SUCCESS;
}

CUresult ReadOne(const CUlaunchAttribute& attribute, Launch* launch) {
  const CUlaunchAttributeValue& value = attribute.value;
  switch (attribute.id) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      launch->cooperative = value.cooperative != 0;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      return SetCluster(value.clusterDim.x, value.clusterDim.y, value.clusterDim.z, launch);
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: {
      const auto& welcome = TheProcess().channel.welcome();
      launch->has_priority = true;
      launch->priority =
          std::clamp(value.priority, welcome.priority_greatest, welcome.priority_least);
      return CUDA_SUCCESS;
    }
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
      return SetEvent(value.programmaticEvent.event, launch);
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
      return SetEvent(value.launchCompletionEvent.event, launch);
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
      return value.deviceUpdatableKernelNode.deviceUpdatable != 0 ? CUDA_ERROR_NOT_SUPPORTED
                                                                  : CUDA_SUCCESS;
    default:  // hints: the simulated device has nothing to do with them
      return CUDA_SUCCESS;
  }
}

}  // namespace

bool IsKernelAttribute(CUlaunchAttributeID id) {
  return id >= CU_LAUNCH_ATTRIBUTE_IGNORE && id < CU_LAUNCH_ATTRIBUTE_MAX &&
         id != CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY;
}

CUresult ReadAttributes(const CUlaunchAttribute* attributes, size_t count, Launch* launch) {
  int events[2] = {0, 0};
  for (size_t i = 0; i < count; ++i) {
    const CUlaunchAttributeID id = attributes[i].id;
    if (!IsKernelAttribute(id)) return CUDA_ERROR_INVALID_VALUE;
    if (id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT && ++events[0] > 1) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT && ++events[1] > 1) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (CUresult bad = ReadOne(attributes[i], launch)) return bad;
  }
  return CUDA_SUCCESS;
}

}  // namespace sgprs::simgpu::driver
