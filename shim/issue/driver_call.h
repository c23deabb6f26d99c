// SPDX-License-Identifier: Apache-2.0
#ifndef SGPRS_SHIM_ISSUE_DRIVER_CALL_H_
#define SGPRS_SHIM_ISSUE_DRIVER_CALL_H_

#include <cuda.h>

#include <cstdint>

#include "shim/record/entry.h"
#include "shim/session.h"

namespace sgprs::shim {

inline constexpr uint32_t kAnchorPartition = SGPRS_MAX_PARTITIONS;

// The driver call of a recorded entry, on `target`, a stream of `partition` (kAnchorPartition: the
// application's own). `granted`: the partition of the grant, for what is not bound to its stream's.
// Issuer thread, issue_lock held.
CUresult IssueToDriver(Session* session, const Entry& entry, CUstream target, uint32_t partition,
                       uint32_t granted);

}  // namespace sgprs::shim

#endif  // SGPRS_SHIM_ISSUE_DRIVER_CALL_H_
