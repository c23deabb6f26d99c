// SPDX-License-Identifier: Apache-2.0
// The driver's state in this process, from cuInit to exit. Nothing here is ever destroyed: calls
// and our own threads may still run while the process exits.
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_PROCESS_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_PROCESS_H_

#include <atomic>
#include <cstdint>

#include "tools/simgpu/driver/api.h"
#include "tools/simgpu/driver/channel.h"
#include "tools/simgpu/driver/executor.h"
#include "tools/simgpu/driver/fault.h"
#include "tools/simgpu/driver/queue.h"

namespace sgprs::simgpu::driver {

enum class ProcessState : uint32_t {
  kUninitialised,
  kReady,
  kLost,           // the device process has gone: CUDA_ERROR_DEVICE_UNAVAILABLE from now on
  kForked,         // child of an initialised process: CUDA_ERROR_NOT_INITIALIZED
  kDeinitialised,  // exit() has begun: CUDA_ERROR_DEINITIALIZED
};

struct Process {
  std::atomic<ProcessState> state{ProcessState::kUninitialised};
  Channel channel;
  Queue queue;
  Executor executor;
  uint64_t call_ns = 0;  // $SGPRS_SIMGPU_CALL_NS
  FaultPlan fault;
};

Process& TheProcess();

// cuInit's work. Errors: NO_DEVICE (none answers, or hidden by CUDA_VISIBLE_DEVICES), or what the
// device process refused with.
CUresult InitialiseProcess();

// First line of every call: CUDA_SUCCESS, or why no call can be served now.
CUresult Enter();
// Enter without the rule that host functions make no calls.
CUresult ProcessStatus();

// The device process has gone; idempotent. Thread: any.
void MarkLost();

// Appends a line to $SGPRS_SIMGPU_LOG, if set.
void LogLine(const char* format, ...) __attribute__((format(printf, 1, 2)));

// A call that is not simulated; logs `name` once.
CUresult NotSupported(const char* name, std::atomic<bool>* logged);

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_PROCESS_H_
