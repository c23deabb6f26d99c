// SPDX-License-Identifier: Apache-2.0
// MPS SM-affinity contexts (facts/cuda.md 1.1, 3): one context a partition, made when the process
// registers. A CUkernel runs in any context as it is. A CUfunction belongs to the context that
// loaded it: it goes to the application's own context, on all SMs, unless it came from a library.
#include <string.h>

#include <new>

#include "shim/interpose/interpose.h"
#include "shim/partition/backend.h"
#include "shim/session.h"

namespace sgprs::shim {
namespace {

// Makes `context` current for the scope.
class Current {
 public:
  explicit Current(CUcontext context) { SGPRS_REAL(cuCtxPushCurrent_v2)(context); }
  ~Current() {
    CUcontext popped = nullptr;
    SGPRS_REAL(cuCtxPopCurrent_v2)(&popped);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
};

class Mps final : public Backend {
 public:
  SgprsBackend kind() const override { return SGPRS_BACKEND_MPS; }

  bool Probe(const DeviceFacts& facts) override {
    if (!SGPRS_HAS(cuCtxCreate_v3) && !SGPRS_HAS(cuCtxCreate_v4)) return false;
    int on = 0;
    int supported = 0;
    // Support says what the device could do; without a running MPS the call answers 224.
    return SGPRS_REAL(cuDeviceGetAttribute)(&on, CU_DEVICE_ATTRIBUTE_MPS_ENABLED, facts.device) ==
               CUDA_SUCCESS &&
           on != 0 &&
           SGPRS_REAL(cuDeviceGetExecAffinitySupport)(&supported, CU_EXEC_AFFINITY_TYPE_SM_COUNT,
                                                      facts.device) == CUDA_SUCCESS &&
           supported != 0;
  }

  bool Build(const DeviceFacts& facts, const SgprsPartitionPlan* plan, uint32_t count,
             uint32_t* sm_counts) override {
    for (uint32_t p = 0; p < count; ++p) {
      if (!MakeContext(facts, plan[p].sm_count, &contexts_[p], &sm_counts[p])) return false;
    }
    return true;
  }

  CUstream MakeStream(uint32_t partition, int priority) override {
    const Current current(contexts_[partition]);
    CUstream stream = nullptr;
    return SGPRS_REAL(cuStreamCreateWithPriority)(&stream, CU_STREAM_NON_BLOCKING, priority) ==
                   CUDA_SUCCESS
               ? stream
               : nullptr;
  }

  CUevent MakeEvent(uint32_t partition, unsigned flags) override {
    const Current current(contexts_[partition]);
    CUevent event = nullptr;
    return SGPRS_REAL(cuEventCreate)(&event, flags) == CUDA_SUCCESS ? event : nullptr;
  }

  CUfunction FunctionFor(CUfunction function, uint32_t) override {
    const KernelInfo* info = TheSession()->kernels.Find(function);
    return info != nullptr && info->is_kernel ? function : nullptr;
  }

  bool KernelsOnly() const override { return true; }

 private:
  bool MakeContext(const DeviceFacts& facts, uint32_t sms, CUcontext* context, uint32_t* given) {
    CUexecAffinityParam affinity;
    memset(&affinity, 0, sizeof(affinity));
    affinity.type = CU_EXEC_AFFINITY_TYPE_SM_COUNT;
    affinity.param.smCount.val = sms;
    CUresult result = CUDA_ERROR_NOT_SUPPORTED;
    if (SGPRS_HAS(cuCtxCreate_v4)) {
      CUctxCreateParams params;
      memset(&params, 0, sizeof(params));
      params.execAffinityParams = &affinity;
      params.numExecAffinityParams = 1;
      result = SGPRS_REAL(cuCtxCreate_v4)(context, &params, 0, facts.device);
    } else {
      result = SGPRS_REAL(cuCtxCreate_v3)(context, &affinity, 1, 0, facts.device);
    }
    if (result != CUDA_SUCCESS) return false;
    memset(&affinity, 0, sizeof(affinity));
    // The count is rounded up to what the hardware can do: read it back.
    SGPRS_REAL(cuCtxGetExecAffinity)(&affinity, CU_EXEC_AFFINITY_TYPE_SM_COUNT);
    *given = affinity.param.smCount.val;
    CUcontext popped = nullptr;
    SGPRS_REAL(cuCtxPopCurrent_v2)(&popped);  // creation made it current
    return *given != 0;
  }

  CUcontext contexts_[SGPRS_MAX_PARTITIONS] = {};
};

}  // namespace

Backend* MpsBackend() {
  static Mps* backend = new (std::nothrow) Mps;
  return backend;
}

}  // namespace sgprs::shim
