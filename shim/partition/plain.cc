// SPDX-License-Identifier: Apache-2.0
// Back-ends without partitions of their own: `priority` keeps the level's stream priority, `none`
// keeps nothing but the order that the runtime grants.
#include <new>

#include "shim/interpose/interpose.h"
#include "shim/partition/backend.h"

namespace sgprs::shim {
namespace {

class Plain final : public Backend {
 public:
  explicit Plain(SgprsBackend kind) : kind_(kind) {}
  SgprsBackend kind() const override { return kind_; }

  bool Probe(const DeviceFacts& facts) override {
    return kind_ == SGPRS_BACKEND_NONE || facts.priority_greatest < facts.priority_least;
  }

  bool Build(const DeviceFacts& facts, const SgprsPartitionPlan*, uint32_t count,
             uint32_t* sm_counts) override {
    for (uint32_t p = 0; p < count; ++p) sm_counts[p] = facts.sm_count;
    return true;
  }

  bool HasPartitions() const override { return false; }

  CUstream MakeStream(uint32_t, int priority) override {
    CUstream stream = nullptr;
    const int wanted = kind_ == SGPRS_BACKEND_PRIORITY ? priority : 0;
    return SGPRS_REAL(cuStreamCreateWithPriority)(&stream, CU_STREAM_NON_BLOCKING, wanted) ==
                   CUDA_SUCCESS
               ? stream
               : nullptr;
  }

 private:
  SgprsBackend kind_;
};

}  // namespace

Backend* PriorityBackend() {
  static Plain* backend = new (std::nothrow) Plain(SGPRS_BACKEND_PRIORITY);
  return backend;
}

Backend* NoneBackend() {
  static Plain* backend = new (std::nothrow) Plain(SGPRS_BACKEND_NONE);
  return backend;
}

}  // namespace sgprs::shim
