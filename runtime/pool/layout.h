// SPDX-License-Identifier: Apache-2.0
// Where the partitions of the pool lie on a device.
#ifndef SGPRS_RUNTIME_POOL_LAYOUT_H_
#define SGPRS_RUNTIME_POOL_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "runtime/base/result.h"
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
// alignment, at most the device. A list is taken as it is, rounded the same way. `full_size`
// (policy::PolicyTraits::full_size_pool): every partition is the whole device.
// "auto": 3 partitions, fewer on a device that has not room for 3 of the least size.
//
// Places: intervals spread evenly from the first SM to the last, so that they overlap as little as
// their sizes allow; disjoint if the sizes fit.
//
// Error kInvalid: the device has no SMs, or a size that it can not give.
Result<std::vector<PartitionSpan>> LayOutPool(const PoolConfig& config, const DeviceShape& device,
                                              bool full_size);

// Stages at once in a partition: the configured number, else papers.md 1.4: 3 with two partitions,
// 2 with three or more; 4 with one (two high and two low streams).
uint32_t PartitionCapacity(const PoolConfig& config, uint32_t partition_count);

}  // namespace sgprs::pool

#endif  // SGPRS_RUNTIME_POOL_LAYOUT_H_
