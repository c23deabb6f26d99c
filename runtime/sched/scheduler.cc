// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/scheduler.h"

#include <string>
#include <utility>

#include "runtime/sched/scheduler_core.h"

namespace sgprs::sched {
namespace {

Status CheckRange(const char* name, uint64_t value, uint64_t least, uint64_t most) {
  if (value >= least && value <= most) return Status::Ok();
  return Status(ErrorCode::kInvalid, std::string(name) + " is " + std::to_string(value) +
                                         ", must be " + std::to_string(least) + " to " +
                                         std::to_string(most));
}

Status CheckPartitions(const SchedulerConfig& config) {
  Status status =
      CheckRange("number of partitions", config.partitions.size(), 1, SGPRS_MAX_PARTITIONS);
  for (size_t i = 0; status.ok() && i < config.partitions.size(); ++i) {
    const std::string which = "partition " + std::to_string(i);
    status =
        CheckRange("SM count", config.partitions[i].sm_count, 1, UINT32_MAX).WithContext(which);
    if (status.ok()) {
      status = CheckRange("capacity", config.partitions[i].capacity, 0, 1024).WithContext(which);
    }
  }
  return status;
}

Status Check(const SchedulerConfig& config) {
  const struct {
    const char* name;
    uint64_t value, least, most;
  } ranges[] = {
      {"max_tasks", config.max_tasks, 1, 1'000'000},
      {"stages", config.stages, 1, SGPRS_MAX_STAGES},
      {"window", config.window, 1, 1000},
      {"learning_jobs", config.learning_jobs, 1, 1000},
      {"learning_chunks", config.learning_chunks, 1, SGPRS_MAX_STAGES},
      {"relearn_after", config.relearn_after, 1, 1'000'000},
      {"max_open_launches", config.max_open_launches, 1, 1'000'000},
      {"stall_factor", config.stall_factor, 1, 1'000'000},
  };
  for (const auto& range : ranges) {
    Status status = CheckRange(range.name, range.value, range.least, range.most);
    if (!status.ok()) return status;
  }
  if (!(config.options.deadline_margin > 0.0 && config.options.deadline_margin <= 1.0)) {
    return Status(ErrorCode::kInvalid, "deadline_margin is " +
                                           std::to_string(config.options.deadline_margin) +
                                           ", must be above 0 and at most 1");
  }
  return CheckPartitions(config);
}

}  // namespace

Result<std::unique_ptr<Scheduler>> Scheduler::Make(const SchedulerConfig& config) {
  Status status = Check(config);
  if (!status.ok()) return status;
  std::unique_ptr<policy::Policy> policy = policy::MakePolicy(config.policy, config.options);
  if (policy == nullptr) {
    return Status(ErrorCode::kNotFound, "no policy \"" + config.policy + "\"; there are " +
                                            std::string(policy::PolicyNames()));
  }
  return std::unique_ptr<Scheduler>(new SchedulerCore(config, std::move(policy)));
}

}  // namespace sgprs::sched
