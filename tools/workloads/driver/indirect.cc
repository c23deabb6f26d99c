// SPDX-License-Identifier: Apache-2.0
// Instead of direct.cc, in programs that do not name libcuda.so.1 among their libraries.
#include "tools/workloads/driver/cuda_api.h"

namespace workloads {

DriverEntry DefaultDriverEntry() { return DriverEntry::kDlopen; }

bool DirectDriver(CudaApi*) { return false; }

}  // namespace workloads
