// SPDX-License-Identifier: Apache-2.0
// Occupancy of clusters (function.cc has that of blocks).
#include <algorithm>

#include "tools/simgpu/driver/function_attributes.h"
#include "tools/simgpu/driver/launch.h"
#include "tools/simgpu/driver/launch_attributes.h"
#include "tools/simgpu/driver/module.h"
#include "tools/simgpu/driver/objects.h"
#include "tools/simgpu/driver/process.h"

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

namespace {

constexpr uint32_t kPortableCluster = 8;
constexpr uint32_t kSmsOfClusterGroup = 16;  // a cluster stays within a GPC: so many SMs at least

struct Query {
  Function* function = nullptr;
  Context* view = nullptr;  // whose SMs: the stream's, else the current context's
  Launch launch;
  uint32_t blocks_per_sm = 0;
};

CUresult Enter(CUfunction handle, const CUlaunchConfig* config, bool clusters, Query* query) {
  if (CUresult status = EnterWithContext(&query->view)) return status;
  if (handle == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (config == nullptr || (config->numAttrs > 0 && config->attrs == nullptr)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (TheProcess().channel.welcome().compute_major < 9) return CUDA_ERROR_NOT_SUPPORTED;
  if (config->hStream != nullptr) {
    Stream* stream;
    if (CUresult bad = FindStream(config->hStream, &stream)) return bad;
    query->view = stream->view;
  }
  if (CUresult bad = FindFunction(handle, query->view->root, &query->function)) return bad;
  const uint32_t grid[3] = {config->gridDimX, config->gridDimY, config->gridDimZ};
  std::copy(grid, grid + 3, query->launch.grid);
  query->launch.function = query->function;
  if (CUresult bad = ReadAttributes(config->attrs, config->numAttrs, &query->launch)) return bad;
  if (clusters && query->launch.cluster[0] == 0) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  const uint64_t threads = uint64_t{config->blockDimX} * config->blockDimY * config->blockDimZ;
  if (threads == 0 || threads > 1024) return CUDA_ERROR_INVALID_VALUE;
  query->blocks_per_sm =
      BlocksPerSm(*query->function->info, static_cast<uint32_t>(threads), config->sharedMemBytes);
  return CUDA_SUCCESS;
}

}  // namespace

SIM_API CUresult cuOccupancyMaxActiveClusters(int* numClusters, CUfunction func,
                                              const CUlaunchConfig* config) {
  Query query;
  if (CUresult bad = Enter(func, config, true, &query)) return bad;
  if (numClusters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const uint32_t* c = query.launch.cluster;
  *numClusters = static_cast<int>(query.blocks_per_sm * SmsOf(*query.view) / (c[0] * c[1] * c[2]));
  return CUDA_SUCCESS;
}

SIM_API CUresult cuOccupancyMaxPotentialClusterSize(int* clusterSize, CUfunction func,
                                                    const CUlaunchConfig* config) {
  Query query;
  if (CUresult bad = Enter(func, config, false, &query)) return bad;
  if (clusterSize == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const uint32_t allowed = query.function->settings.non_portable_cluster != 0
                               ? static_cast<uint32_t>(kMostClusterBlocks)
                               : kPortableCluster;
  const uint32_t room = query.blocks_per_sm * std::min(SmsOf(*query.view), kSmsOfClusterGroup);
  uint32_t size = 1;
  while (size * 2 <= std::min(allowed, room)) size *= 2;
  *clusterSize = static_cast<int>(size);
  return CUDA_SUCCESS;
}
