// SPDX-License-Identifier: Apache-2.0
// Where the partitions of the pool lie on a device.
#ifndef SGPRS_RUNTIME_POOL_LAYOUT_H_
#define SGPRS_RUNTIME_POOL_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/policy/policy.h"
#include "runtime/pool/config.h"

namespace sgprs::pool {

// What a device allows (SgprsHello).
struct DeviceShape {
  uint32_t sm_count = 0;
  uint32_t sm_minimum = 1;  // least SMs of a partition
  uint32_t sm_alignment =
      1;  // what sizes and beginnings are multiples of; the whole device is allowed
};

struct PartitionSpan {
  uint32_t first_sm = 0;
  uint32_t sm_count = 0;
};

// Sizes. Equal split (papers.md 1.4): ceil(floor(SMs * oversubscription) / n), rounded up to the
// alignment, at most the device. A list is taken as it is, rounded the same way. `shape`
// (policy::PolicyTraits::pool): kFullSize: every partition is the whole device; kDisjoint: an equal
// split rounded down, so that the parts do not overlap (least sizes permitting).
// "auto": 3 partitions, fewer on a device that has not room for 3 of the least size.
//
// Places: intervals spread evenly from the first SM to the last, so that they overlap as little as
// their sizes allow; disjoint if the sizes fit.
//
// Error kInvalid: the device has no SMs, or a size that it can not give.
Result<std::vector<PartitionSpan>> LayOutPool(const PoolConfig& config, const DeviceShape& device,
                                              policy::PoolShape shape);

}  // namespace sgprs::pool

#endif  // SGPRS_RUNTIME_POOL_LAYOUT_H_
