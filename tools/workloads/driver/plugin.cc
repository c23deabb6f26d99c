// SPDX-License-Identifier: Apache-2.0
// Entry of libworkload-plugin.so, which is direct.cc and this.
#include "tools/workloads/driver/cuda_api.h"

extern "C" __attribute__((visibility("default"))) int workload_plugin_fill(
    workloads::CudaApi* api) {
  return workloads::DirectDriver(api) ? 1 : 0;
}
