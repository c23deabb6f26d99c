// SPDX-License-Identifier: Apache-2.0
// The device that the first client told of, the pool of partitions laid out on it, and the
// scheduler over them. One device a daemon; it may change when no client is left.
//
// Thread: the loop's.
#ifndef SGPRS_RUNTIME_DEVICE_POOL_H_
#define SGPRS_RUNTIME_DEVICE_POOL_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/pool/config.h"
#include "runtime/pool/layout.h"
#include "runtime/sched/scheduler.h"
#include "sgprs/abi/control.h"
#include "sgprs/abi/state.h"

namespace sgprs::runtime {

class DevicePool {
 public:
  // Lays out the pool for the device of `hello`. Error kInvalid: the configuration does not fit it.
  static Result<std::unique_ptr<DevicePool>> Make(const pool::Config& config,
                                                  std::string_view policy, const SgprsHello& hello);

  // Whether a later client's device is this one; else the text says how it differs.
  Status CheckSame(const SgprsHello& hello) const;
  // The plan and the back-end that the client is to try first.
  void FillWelcome(const SgprsHello& hello, SgprsWelcome* welcome) const;
  // Error kInvalid: what the client built is not the plan.
  Status CheckReady(const SgprsReady& ready) const;
  void NoteReady(const SgprsReady& ready);

  // The layout that it was given, by the policy of that moment.
  policy::PoolShape shape() const { return shape_; }
  sched::Scheduler* scheduler() { return scheduler_.get(); }
  uint32_t partition_count() const { return static_cast<uint32_t>(spans_.size()); }
  const pool::PartitionSpan& span(uint32_t partition) const { return spans_[partition]; }
  const std::string& device_name() const { return device_name_; }
  uint32_t sm_count() const { return sm_count_; }
  SgprsPartitionRow Row(uint32_t partition, uint64_t now_ns) const;
  // "3 partitions of 34, 34, 34 SMs of NVIDIA X (68 SMs)".
  std::string Describe() const;

 private:
  DevicePool() = default;

  std::array<uint8_t, SGPRS_UUID_BYTES> uuid_ = {};
  std::string device_name_;
  uint32_t sm_count_ = 0;
  SgprsBackend backend_ = SGPRS_BACKEND_GREEN;
  policy::PoolShape shape_ = policy::PoolShape::kConfigured;
  std::vector<pool::PartitionSpan> spans_;
  std::vector<uint32_t> sm_actual_;  // smallest that a client got
  std::unique_ptr<sched::Scheduler> scheduler_;
};

// What the scheduler is to be made with.
sched::SchedulerConfig MakeSchedulerConfig(const pool::Config& config, std::string_view policy,
                                           const std::vector<pool::PartitionSpan>& spans,
                                           uint32_t device_sm_count);

}  // namespace sgprs::runtime

#endif  // SGPRS_RUNTIME_DEVICE_POOL_H_
