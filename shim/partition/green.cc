// SPDX-License-Identifier: Apache-2.0
// Green contexts, streams only, never made current (facts/cuda.md 2.4, 2.5). One split of the whole
// device into atoms of the smallest size; a partition is a union of consecutive atoms, so
// partitions may overlap (2.7).
#include <string.h>

#include <new>

#include "shim/interpose/interpose.h"
#include "shim/partition/backend.h"

namespace sgprs::shim {
namespace {

constexpr uint32_t kMostAtoms = 256;

class Green final : public Backend {
 public:
  SgprsBackend kind() const override { return SGPRS_BACKEND_GREEN; }

  bool Probe(const DeviceFacts& facts) override {
    // Green contexts hang on the primary context: work of another one can not run there.
    if (!facts.primary || !SGPRS_HAS(cuGreenCtxCreate) || !SGPRS_HAS(cuGreenCtxStreamCreate)) {
      return false;
    }
    CUdevResource whole;
    memset(&whole, 0, sizeof(whole));
    return SGPRS_REAL(cuDeviceGetDevResource)(facts.device, &whole, CU_DEV_RESOURCE_TYPE_SM) ==
               CUDA_SUCCESS &&
           whole.sm.smCount != 0;
  }

  bool Build(const DeviceFacts& facts, const SgprsPartitionPlan* plan, uint32_t count,
             uint32_t* sm_counts) override {
    if (!SplitIntoAtoms(facts)) return false;
    for (uint32_t p = 0; p < count; ++p) {
      if (!MakePartition(facts, plan[p], p, &sm_counts[p])) return false;
    }
    return true;
  }

  CUstream MakeStream(uint32_t partition, int priority) override {
    CUstream stream = nullptr;
    const CUresult result = SGPRS_REAL(cuGreenCtxStreamCreate)(&stream, contexts_[partition],
                                                               CU_STREAM_NON_BLOCKING, priority);
    return result == CUDA_SUCCESS ? stream : nullptr;
  }

 private:
  bool SplitIntoAtoms(const DeviceFacts& facts) {
    CUdevResource whole;
    memset(&whole, 0, sizeof(whole));
    memset(atoms_, 0, sizeof(atoms_));
    memset(&rest_, 0, sizeof(rest_));
    if (SGPRS_REAL(cuDeviceGetDevResource)(facts.device, &whole, CU_DEV_RESOURCE_TYPE_SM) !=
        CUDA_SUCCESS) {
      return false;
    }
    unsigned groups = whole.sm.smCount / facts.sm_minimum;
    if (groups == 0 || groups > kMostAtoms) return false;
    if (SGPRS_REAL(cuDevSmResourceSplitByCount)(atoms_, &groups, &whole, &rest_, 0,
                                                facts.sm_minimum) != CUDA_SUCCESS) {
      return false;
    }
    atom_count_ = groups;
    atom_sms_ = atoms_[0].sm.smCount;
    return atom_count_ != 0 && atom_sms_ != 0;
  }

  // The interval [first_sm, first_sm + sm_count) in atoms; what the split left over goes to the
  // partition that reaches the end of the device.
  bool MakePartition(const DeviceFacts& facts, const SgprsPartitionPlan& plan, uint32_t index,
                     uint32_t* sm_count) {
    const uint32_t first = plan.first_sm / atom_sms_;
    uint32_t atoms = (plan.sm_count + atom_sms_ - 1) / atom_sms_;
    if (first >= atom_count_ || atoms == 0) return false;
    if (first + atoms > atom_count_) atoms = atom_count_ - first;
    CUdevResource parts[kMostAtoms + 1];
    memcpy(parts, atoms_ + first, atoms * sizeof(CUdevResource));
    uint32_t part_count = atoms;
    if (rest_.sm.smCount != 0 && plan.first_sm + plan.sm_count >= facts.sm_count) {
      parts[part_count++] = rest_;
    }
    CUdevResourceDesc description = nullptr;
    if (SGPRS_REAL(cuDevResourceGenerateDesc)(&description, parts, part_count) != CUDA_SUCCESS ||
        SGPRS_REAL(cuGreenCtxCreate)(&contexts_[index], description, facts.device,
                                     CU_GREEN_CTX_DEFAULT_STREAM) != CUDA_SUCCESS) {
      return false;
    }
    CUdevResource given;
    memset(&given, 0, sizeof(given));
    SGPRS_REAL(cuGreenCtxGetDevResource)(contexts_[index], &given, CU_DEV_RESOURCE_TYPE_SM);
    *sm_count = given.sm.smCount;
    return *sm_count != 0;
  }

  CUdevResource atoms_[kMostAtoms];
  CUdevResource rest_;
  uint32_t atom_count_ = 0;
  uint32_t atom_sms_ = 0;
  CUgreenCtx contexts_[SGPRS_MAX_PARTITIONS] = {};
};

}  // namespace

Backend* GreenBackend() {
  static Green* backend = new (std::nothrow) Green;
  return backend;
}

}  // namespace sgprs::shim
