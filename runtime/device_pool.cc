// SPDX-License-Identifier: Apache-2.0
#include "runtime/device_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/observe/text.h"
#include "runtime/policy/policy.h"

namespace sgprs::runtime {

sched::SchedulerConfig MakeSchedulerConfig(const pool::Config& config, std::string_view policy,
                                           const std::vector<pool::PartitionSpan>& spans,
                                           uint32_t device_sm_count) {
  sched::SchedulerConfig out;
  for (const pool::PartitionSpan& span : spans) out.partitions.push_back({span.sm_count});
  out.device_sm_count = device_sm_count;
  out.policy = policy;
  out.options = config.options;
  out.overload = config.overload;
  out.stages = config.stages;
  out.window = config.window;
  out.learning_jobs = config.learning_jobs;
  out.learning_chunks = config.learning_chunks;
  out.relearn_after = config.relearn_after;
  out.min_stage_ns = config.min_stage_ns;
  out.force_switch = config.force_switch;
  out.sweep = config.profile_sweep;
  out.max_open_launches = config.max_open_launches;
  out.open_grant_ns = config.open_grant_ns;
  out.park_after_ns = config.park_after_ns;
  out.stall_factor = config.stall_factor;
  out.stall_min_ns = config.stall_min_ns;
  out.max_wait_ns = config.max_wait_ns;
  return out;
}

namespace {

// Sizes that a profile is taken in: from a sixth of the device to all of it.
std::vector<uint32_t> SweepSizes(const SgprsHello& hello) {
  std::vector<uint32_t> sizes;
  for (const uint32_t sixths : {1u, 2u, 3u, 4u, 6u}) {
    const uint32_t sms = hello.sm_count * sixths / 6;
    const uint32_t size = std::max(sms - sms % hello.sm_alignment, hello.sm_minimum);
    if (sizes.empty() || size > sizes.back()) sizes.push_back(size);
  }
  return sizes;
}

}  // namespace

Result<std::unique_ptr<DevicePool>> DevicePool::Make(const pool::Config& config,
                                                     std::string_view policy,
                                                     const SgprsHello& hello) {
  const std::unique_ptr<policy::Policy> chosen = policy::MakePolicy(policy, config.options);
  if (chosen == nullptr) {
    return Status(ErrorCode::kInvalid, "no policy '" + std::string(policy) + "'");
  }
  pool::PoolConfig wanted = config.pool;
  if (config.profile_sweep) wanted.sm_counts = SweepSizes(hello);
  Result<std::vector<pool::PartitionSpan>> spans = pool::LayOutPool(
      wanted, {hello.sm_count, hello.sm_minimum, hello.sm_alignment}, chosen->traits().pool);
  if (!spans.ok()) return spans.status();
  auto scheduler =
      sched::Scheduler::Make(MakeSchedulerConfig(config, policy, *spans, hello.sm_count));
  if (!scheduler.ok()) return scheduler.status();

  std::unique_ptr<DevicePool> made(new DevicePool);
  std::memcpy(made->uuid_.data(), hello.device_uuid, SGPRS_UUID_BYTES);
  made->device_name_ = observe::OneLine(hello.device_name);
  made->sm_count_ = hello.sm_count;
  made->backend_ = config.pool.backend;
  made->shape_ = chosen->traits().pool;
  made->spans_ = std::move(*spans);
  made->sm_actual_.assign(made->spans_.size(), 0);
  made->scheduler_ = std::move(*scheduler);
  return made;
}

Status DevicePool::CheckSame(const SgprsHello& hello) const {
  if (std::memcmp(uuid_.data(), hello.device_uuid, SGPRS_UUID_BYTES) == 0 &&
      hello.sm_count == sm_count_) {
    return Status::Ok();
  }
  return Status(ErrorCode::kInvalid,
                fmt::format("this sgprsd schedules {} ({} SMs), not {} ({} SMs)", device_name_,
                            sm_count_, observe::OneLine(hello.device_name), hello.sm_count));
}

void DevicePool::FillWelcome(const SgprsHello& hello, SgprsWelcome* welcome) const {
  welcome->partition_count = partition_count();
  for (uint32_t i = 0; i < partition_count(); ++i) {
    welcome->partitions[i] = {spans_[i].first_sm, spans_[i].sm_count};
  }
  // The configured one, else the next that the client can; `none` is always there in the end.
  welcome->backend_wanted = SGPRS_BACKEND_NONE;
  for (uint32_t backend = backend_; backend < SGPRS_BACKEND_COUNT; ++backend) {
    if ((hello.backends & (1u << backend)) == 0) continue;
    welcome->backend_wanted = backend;
    return;
  }
}

Status DevicePool::CheckReady(const SgprsReady& ready) const {
  if (ready.partition_count != partition_count()) {
    return Status(ErrorCode::kInvalid, fmt::format("READY with {} partitions of {}",
                                                   ready.partition_count, partition_count()));
  }
  for (uint32_t i = 0; i < ready.partition_count; ++i) {
    if (ready.sm_counts[i] <= sm_count_) continue;
    return Status(ErrorCode::kInvalid, fmt::format("READY with a partition of {} SMs of {}",
                                                   ready.sm_counts[i], sm_count_));
  }
  return Status::Ok();
}

void DevicePool::NoteReady(const SgprsReady& ready) {
  for (uint32_t i = 0; i < ready.partition_count; ++i) {
    uint32_t& actual = sm_actual_[i];
    actual = actual == 0 ? ready.sm_counts[i] : std::min(actual, ready.sm_counts[i]);
  }
}

SgprsPartitionRow DevicePool::Row(uint32_t partition, uint64_t now_ns) const {
  const sched::PartitionStats stats = scheduler_->Stats(partition, now_ns);
  SgprsPartitionRow row = {};
  row.index = partition;
  row.first_sm = spans_[partition].first_sm;
  row.sm_count = spans_[partition].sm_count;
  row.sm_actual = sm_actual_[partition];
  row.running = stats.running;
  row.queued = stats.queued;
  row.stalled = stats.stalled != 0 ? 1 : 0;
  row.busy_ns = stats.busy_ns;
  row.stages_completed = stats.stages_completed;
  row.switches_in = stats.switches_in;
  return row;
}

std::string DevicePool::Describe() const {
  std::vector<uint32_t> sizes;
  for (const pool::PartitionSpan& span : spans_) sizes.push_back(span.sm_count);
  return fmt::format("{} partitions of {} SMs on {} ({} SMs)", sizes.size(), fmt::join(sizes, ", "),
                     device_name_, sm_count_);
}

}  // namespace sgprs::runtime
