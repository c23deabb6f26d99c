// SPDX-License-Identifier: Apache-2.0
// A driver in the test itself: host memory, every call done at once, kernels by their host bodies.
#ifndef SGPRS_TESTS_UNIT_WORKLOADS_FAKE_DRIVER_H_
#define SGPRS_TESTS_UNIT_WORKLOADS_FAKE_DRIVER_H_

#include <cstdint>

#include "tools/workloads/driver/cuda_api.h"

namespace workloads {

// Process-wide counters of the fake; a test resets them.
struct FakeDriverCounts {
  uint64_t launches = 0;
  uint64_t live_allocations = 0;
};

FakeDriverCounts& FakeCounts();
CudaApi FakeDriver();

}  // namespace workloads

#endif  // SGPRS_TESTS_UNIT_WORKLOADS_FAKE_DRIVER_H_
