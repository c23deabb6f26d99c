// SPDX-License-Identifier: Apache-2.0
// One command into a stream: to the device, or into the graph that the stream captures.
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_ENQUEUE_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_ENQUEUE_H_

#include <cstdint>

#include "tools/simgpu/driver/capture.h"
#include "tools/simgpu/driver/objects.h"
#include "tools/simgpu/driver/queue.h"

namespace sgprs::simgpu::driver {

// `fill(Op&, Command&)` writes what is special to the command; called at most once, under the
// queue's lock. `seq` (may be nullptr): the command's number; untouched if
// the command was captured.
template <typename Fill>
CUresult Enqueue(Stream* stream, CommandKind kind, OpKind op_kind, Fill fill,
                 uint64_t* seq = nullptr) {
  if (CaptureActive()) {
    bool captured;
    const CUresult result = CaptureCommand(stream, kind, op_kind, fill, &captured);
    if (captured || result != CUDA_SUCCESS) return result;
  }
  Submission submission(stream);
  if (!submission.Next(kind, op_kind)) return submission.status();
  fill(submission.op(), submission.command());
  const uint64_t number = submission.Commit();
  if (seq != nullptr) *seq = number;
  return submission.Publish();
}

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_ENQUEUE_H_
