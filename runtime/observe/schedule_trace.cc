// SPDX-License-Identifier: Apache-2.0
#include "runtime/observe/schedule_trace.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/observe/text.h"

namespace sgprs::observe {
namespace {

constexpr uint32_t kTasks = 1;  // process ids of the trace
constexpr uint32_t kPartitions = 2;
constexpr uint64_t kLanesPerPartition = 100;
// Perfetto names a thread by its id alone, whatever its process: apart from tasks, which count up
// from 1, and within 32 bits.
constexpr uint64_t kFirstPartitionTrack = 1'000'000'000;

const char* ClassName(uint32_t task_class) {
  switch (task_class) {
    case SGPRS_CLASS_HIGH:
      return "high";
    case SGPRS_CLASS_BEST_EFFORT:
      return "best-effort";
    default:
      return "low";
  }
}

const char* LevelName(uint32_t level) {
  switch (level) {
    case SGPRS_LEVEL_HIGH:
      return "high";
    case SGPRS_LEVEL_MEDIUM:
      return "medium";
    default:
      return "low";
  }
}

std::string StageArgs(const StageTrace& stage) {
  std::string args = fmt::format(
      R"("task":{},"job":{},"stage":{},"stages":{},"partition":{},"level":"{}","learning":{},"switched":{})",
      stage.task, stage.job, stage.stage, stage.stage_count, stage.partition,
      LevelName(stage.level), stage.learning, stage.switched);
  if (stage.launches != 0) args += fmt::format(R"(,"launches":{})", stage.launches);
  if (stage.virtual_deadline_ns != UINT64_MAX) {
    args += fmt::format(R"(,"virtual_deadline_ns":{},"virtual_deadline_met":{})",
                        stage.virtual_deadline_ns, stage.complete_ns <= stage.virtual_deadline_ns);
  }
  return args;
}

}  // namespace

ScheduleTrace::ScheduleTrace(std::unique_ptr<TraceFile> file) : file_(std::move(file)) {
  file_->Fact("sgprs_trace", fmt::format(R"("version":{})", kScheduleTraceVersion));
  file_->NameProcess(kTasks, "tasks");
  file_->NameProcess(kPartitions, "partitions");
}

void ScheduleTrace::SetPool(const PoolTrace& pool) {
  file_->Fact("sgprs_pool",
              fmt::format(R"("device":{},"sm_count":{},"policy":{})", JsonString(pool.device),
                          pool.sm_count, JsonString(pool.policy)));
}

void ScheduleTrace::AddTask(uint64_t task, std::string_view label, const TaskTrace& facts) {
  file_->NameThread({kTasks, task}, label);
  file_->Fact("sgprs_task",
              fmt::format(R"("task":{},"name":{},"class":"{}","period_ns":{},"deadline_ns":{})",
                          task, JsonString(facts.name), ClassName(facts.task_class),
                          facts.period_ns, facts.deadline_ns));
  ends_of_task_[task] = {};
}

void ScheduleTrace::AddPartition(uint32_t partition, uint32_t sm_count) {
  partitions_[partition].sm_count = sm_count;
  file_->Fact("sgprs_partition",
              fmt::format(R"("partition":{},"sm_count":{})", partition, sm_count));
}

TraceFile::Track ScheduleTrace::PartitionTrack(uint32_t partition, uint64_t begin_ns,
                                               uint64_t end_ns) {
  Partition& p = partitions_[partition];
  auto lane = std::find_if(p.lane_end_ns.begin(), p.lane_end_ns.end(),
                           [&](uint64_t lane_end_ns) { return lane_end_ns <= begin_ns; });
  const auto index = static_cast<uint64_t>(lane - p.lane_end_ns.begin());
  const TraceFile::Track track = {kPartitions,
                                  kFirstPartitionTrack + partition * kLanesPerPartition + index};
  if (lane == p.lane_end_ns.end()) {
    p.lane_end_ns.push_back(end_ns);
    file_->NameThread(track,
                      fmt::format("partition {} ({} SMs) #{}", partition, p.sm_count, index + 1));
  } else {
    *lane = end_ns;
  }
  return track;
}

void ScheduleTrace::AddStage(const StageTrace& stage) {
  Ends& ends = ends_of_task_[stage.task];
  const uint64_t end_ns = std::max(stage.complete_ns, stage.granted_ns);
  const uint64_t begin_ns = stage.first_issue_ns == 0
                                ? stage.granted_ns
                                : std::clamp(stage.first_issue_ns, stage.granted_ns, end_ns);
  const std::string args = StageArgs(stage);
  const std::string name = fmt::format("stage {}", stage.stage + 1);
  // Behind the first nanosecond of its job, which is written later: of slices that begin together
  // the first written is taken for the outer one.
  const uint64_t job_begin_ns = ends.job_ns == 0 ? 0 : ends.job_ns + 1;
  const uint64_t own_begin_ns = std::max({begin_ns, ends.stage_ns, job_begin_ns});
  if (own_begin_ns <= end_ns) {
    file_->Slice({kTasks, stage.task}, name, own_begin_ns, end_ns, args);
    ends.stage_ns = end_ns;
  }
  file_->Slice(PartitionTrack(stage.partition, begin_ns, end_ns),
               fmt::format("task {} stage {}", stage.task, stage.stage + 1), begin_ns, end_ns,
               args);
}

void ScheduleTrace::AddJob(const JobTrace& job) {
  Ends& ends = ends_of_task_[job.task];
  const TraceFile::Track track = {kTasks, job.task};
  std::string args = fmt::format(
      R"("job":{},"release_ns":{},"response_ns":{},"on_time":{},"off_signature":{})", job.job,
      job.release_ns, job.complete_ns - std::min(job.complete_ns, job.release_ns), job.on_time,
      job.off_signature);
  if (job.deadline_ns != UINT64_MAX) args += fmt::format(R"(,"deadline_ns":{})", job.deadline_ns);
  // A late job reaches into its successor, whose slice then begins where this one ends; the true
  // release is in `args` and on the track as a mark.
  const uint64_t begin_ns = std::max(job.release_ns, ends.job_ns);
  const uint64_t end_ns = std::max({job.complete_ns, ends.stage_ns, begin_ns});
  file_->Instant(track, fmt::format("release {}", job.job), job.release_ns, "");
  file_->Slice(track, fmt::format("job {} {}", job.job, job.on_time ? "on time" : "missed"),
               begin_ns, end_ns, args);
  ends.job_ns = end_ns;
}

}  // namespace sgprs::observe
