// SPDX-License-Identifier: Apache-2.0
// What cuStreamWaitValue, cuStreamWriteValue and cuStreamBatchMemOp put into a stream; also what
// batch nodes of graphs are made from.
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_MEM_OP_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_MEM_OP_H_

#include "tools/simgpu/driver/objects.h"
#include "tools/simgpu/driver/op.h"
#include "tools/simgpu/driver/queue.h"

namespace sgprs::simgpu::driver {

// Operation, flags, address. INVALID_VALUE; NOT_SUPPORTED: flushes of remote writes.
CUresult CheckMemOp(const CUstreamBatchMemOpParams& params, const Context* root);

struct MemOpKinds {
  CommandKind command;
  OpKind op;
};
MemOpKinds KindsOf(const CUstreamBatchMemOpParams& params);
// Of a checked operation, into a stream of that id.
void WriteMemOp(const CUstreamBatchMemOpParams& params, uint32_t stream, Op* op);

// Is the condition of a wait met now?
bool ConditionMet(const WaitOp& wait);

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_MEM_OP_H_
