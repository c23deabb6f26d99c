// SPDX-License-Identifier: Apache-2.0
// What copies and fills have in common: where the operands lie, and the way into a stream.
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_TRANSFER_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_TRANSFER_H_

#include <cstdint>

#include "tools/simgpu/driver/memory_table.h"
#include "tools/simgpu/driver/objects.h"
#include "tools/simgpu/driver/op.h"
#include "tools/simgpu/driver/queue.h"

namespace sgprs::simgpu::driver {

enum class Side {
  kDevice,
  kHost,
  kAny,
  kPeer,  // as kAny; the call names the contexts
};

// One operand.
struct Place {
  bool device = false;    // device or managed memory
  bool pageable = false;  // host memory that the driver does not know
  bool managed = false;
  bool sync_memops = false;
  CUdevice ordinal = 0;  // of device memory
};

// Looks `bytes` from `address` on up. INVALID_VALUE: NULL, not of that side, over the end of its
// allocation, device memory of another context than `root`, or of a device that it has no access
// to.
CUresult Locate(CUdeviceptr address, uint64_t bytes, Side side, const Context* root, Place* place);

// A copy whose operands are checked.
struct Transfer {
  CopyOp copy{};
  Place target;
  Place source;
  uint64_t bytes = 0;
};

// Fills `transfer` for a flat copy.
CUresult PlanFlat(CUdeviceptr target, Side target_side, CUdeviceptr source, Side source_side,
                  uint64_t bytes, const Context* root, Transfer* transfer);

// ... and for one with a shape.
CUresult PlanShaped(const CUDA_MEMCPY3D& copy, const Context* root, Transfer* transfer);
// How a planned copy of linear memory would have been asked for.
CUDA_MEMCPY3D Describe(const CopyOp& copy);

// Address, alignment, bounds. `place`: where it lies.
CUresult CheckFill(const FillOp& fill, const Context* root, Place* place);

// Writes the command. `staging`: malloc'd copy of the source, taken over; or nullptr.
void WriteTransfer(const Transfer& transfer, void* staging, Op* op, Command* command);
void WriteFill(const FillOp& fill, Op* op, Command* command);

// As the async calls do: returns at once, but for pageable memory (target: when all is copied;
// source: a small one is staged, a large one waited for).
CUresult CopyAsync(Stream* stream, const Transfer& transfer);
// As the synchronous calls do: waits, but for copies within the device.
CUresult CopySync(Stream* stream, const Transfer& transfer);

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_TRANSFER_H_
