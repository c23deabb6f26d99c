// SPDX-License-Identifier: Apache-2.0
#include "shim/issue/cooperative.h"

#include "shim/interpose/interpose.h"
#include "shim/session.h"

namespace sgprs::shim {

bool FitsCooperatively(CUfunction function, const uint32_t* grid, const uint32_t* block,
                       uint32_t shared_bytes, uint32_t partition) {
  int per_sm = 0;
  const int threads = static_cast<int>(block[0] * block[1] * block[2]);
  if (SGPRS_REAL(cuOccupancyMaxActiveBlocksPerMultiprocessor)(&per_sm, function, threads,
                                                              shared_bytes) != CUDA_SUCCESS) {
    return false;
  }
  const uint64_t blocks = uint64_t{grid[0]} * grid[1] * grid[2];
  return blocks <= uint64_t{TheSession()->sm_counts[partition]} * static_cast<uint64_t>(per_sm);
}

}  // namespace sgprs::shim
