// SPDX-License-Identifier: Apache-2.0
// The table of a program (or plug-in) that is linked against libcuda.so.1.
#include "tools/workloads/driver/cuda_api.h"

namespace workloads {

DriverEntry DefaultDriverEntry() { return DriverEntry::kDirect; }

bool DirectDriver(CudaApi* api) {
#define CUDA_CALL(name, symbol) api->name = &::name;
#include "tools/workloads/driver/cuda_calls.inc"
#undef CUDA_CALL
  return true;
}

}  // namespace workloads
