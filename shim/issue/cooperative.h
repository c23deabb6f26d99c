// SPDX-License-Identifier: Apache-2.0
#ifndef SGPRS_SHIM_ISSUE_COOPERATIVE_H_
#define SGPRS_SHIM_ISSUE_COOPERATIVE_H_

#include <cuda.h>

#include <cstdint>

namespace sgprs::shim {

// A grid-wide barrier needs every block resident: do the partition's SMs hold them all
// (facts/cuda.md 2.10)? Any thread with the scheduled context current; asks the driver.
bool FitsCooperatively(CUfunction function, const uint32_t* grid, const uint32_t* block,
                       uint32_t shared_bytes, uint32_t partition);

}  // namespace sgprs::shim

#endif  // SGPRS_SHIM_ISSUE_COOPERATIVE_H_
