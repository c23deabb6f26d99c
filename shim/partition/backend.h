// SPDX-License-Identifier: Apache-2.0
// A partition back-end: how the stages of one process are held to a number of SMs. Built once, when
// the process registers; a switch afterwards creates and allocates nothing (facts/cuda.md D1, D2).
#ifndef SGPRS_SHIM_PARTITION_BACKEND_H_
#define SGPRS_SHIM_PARTITION_BACKEND_H_

#include <cuda.h>

#include <cstdint>

#include "sgprs/abi/control.h"

namespace sgprs::shim {

// What a back-end may need to know of the process's device.
struct DeviceFacts {
  CUdevice device = 0;
  CUcontext context = nullptr;  // the application's, whose streams are redirected
  bool primary = false;         // `context` is the device's primary context
  uint8_t uuid[SGPRS_UUID_BYTES] = {};
  char name[SGPRS_NAME_BYTES] = {};
  uint32_t sm_count = 0;
  uint32_t sm_minimum = 0;
  uint32_t sm_alignment = 0;
  int priority_least = 0;
  int priority_greatest = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual SgprsBackend kind() const = 0;
  // Can it work for this process? Cheap, no lasting effect. Called with `facts.context` current.
  virtual bool Probe(const DeviceFacts& facts) = 0;
  // Makes the partitions; writes the SMs that the device really gives. May be called again with
  // another plan: the old partitions are left as they are. False: they could not be made.
  virtual bool Build(const DeviceFacts& facts, const SgprsPartitionPlan* plan, uint32_t count,
                     uint32_t* sm_counts) = 0;
  // A stream in `partition` (< count of Build) with a priority of the device's range, for work of
  // `facts.context`. nullptr: could not be made. Issuer thread; created once per pair and kept.
  virtual CUstream MakeStream(uint32_t partition, int priority) = 0;
  // The function to launch on a stream of `partition`; nullptr if it can not run there.
  virtual CUfunction FunctionFor(CUfunction function, uint32_t partition) {
    (void)partition;
    return function;
  }
  // An event that can be recorded on streams of `partition`. Issuer thread, `facts.context`
  // current.
  virtual CUevent MakeEvent(uint32_t partition, unsigned flags);
  // True if its streams are of another context than the application's: then only kernels go there.
  // Copies, fills and events name memory and events of the application's context.
  virtual bool KernelsOnly() const { return false; }
  // False: a stream of any partition has all SMs; only order and priority differ.
  virtual bool HasPartitions() const { return true; }
};

// One object of each kind, in order of preference; never destroyed.
Backend* BackendOf(SgprsBackend kind);
Backend* GreenBackend();
Backend* MpsBackend();
Backend* PriorityBackend();
Backend* NoneBackend();

// Reads `facts` of the current context. False: not a context that can be scheduled.
bool ReadDeviceFacts(CUcontext context, DeviceFacts* facts);

}  // namespace sgprs::shim

#endif  // SGPRS_SHIM_PARTITION_BACKEND_H_
