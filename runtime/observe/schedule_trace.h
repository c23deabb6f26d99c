// SPDX-License-Identifier: Apache-2.0
// Puts jobs and stages on the tracks of a TraceFile: process "tasks" with a track a task (its jobs,
// and in them its stages), process "partitions" with a track per partition and concurrent stage.
// For who reads the file back (`sgprs sim --replay`) there are facts besides: sgprs_trace (the
// version), sgprs_pool, sgprs_partition, sgprs_task. Times of facts and arguments are ns.
//
// Thread: the loop's.
#ifndef SGPRS_RUNTIME_OBSERVE_SCHEDULE_TRACE_H_
#define SGPRS_RUNTIME_OBSERVE_SCHEDULE_TRACE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/observe/trace_file.h"
#include "sgprs/abi/abi.h"

namespace sgprs::observe {

// Of the names and meanings of facts and arguments; raised when one changes or goes.
inline constexpr int kScheduleTraceVersion = 1;

struct PoolTrace {
  std::string_view device;
  uint32_t sm_count = 0;
  std::string_view policy;
};

struct TaskTrace {
  std::string_view name;
  uint32_t task_class = SGPRS_CLASS_LOW;
  uint64_t period_ns = 0;    // 0 = none
  uint64_t deadline_ns = 0;  // relative, 0 = none
};

struct StageTrace {
  uint64_t task = 0;  // client id
  uint64_t job = 0;
  uint32_t stage = 0;
  uint32_t stage_count = 1;
  uint32_t partition = 0;
  uint32_t level = 0;  // SgprsLevel
  bool learning = false;
  bool switched = false;
  uint64_t launches = 0;  // 0 = unknown: an open range
  uint64_t granted_ns = 0;
  uint64_t first_issue_ns = 0;  // 0 = unknown
  uint64_t complete_ns = 0;
  uint64_t virtual_deadline_ns = UINT64_MAX;
};

struct JobTrace {
  uint64_t task = 0;
  uint64_t job = 0;
  uint64_t release_ns = 0;
  uint64_t complete_ns = 0;
  uint64_t deadline_ns = UINT64_MAX;
  bool on_time = true;
  bool off_signature = false;
};

class ScheduleTrace {
 public:
  explicit ScheduleTrace(std::unique_ptr<TraceFile> file);

  // Again when the policy changes.
  void SetPool(const PoolTrace& pool);
  // `label` names the track. Events of a task that was not added go to an unnamed one.
  void AddTask(uint64_t task, std::string_view label, const TaskTrace& facts);
  void RemoveTask(uint64_t task) { ends_of_task_.erase(task); }
  void AddPartition(uint32_t partition, uint32_t sm_count);
  // Call when the stage is complete, in order of completion within its task.
  void AddStage(const StageTrace& stage);
  void AddJob(const JobTrace& job);
  // At least once a second.
  Status Flush() { return file_->Flush(); }
  const std::string& path() const { return file_->path(); }

 private:
  struct Partition {
    uint32_t sm_count = 0;
    std::vector<uint64_t> lane_end_ns;  // per concurrent track: where its last slice ends
  };
  TraceFile::Track PartitionTrack(uint32_t partition, uint64_t begin_ns, uint64_t end_ns);

  // Slices of one track must nest: where the last ones ended.
  struct Ends {
    uint64_t stage_ns = 0;
    uint64_t job_ns = 0;
  };
  std::unique_ptr<TraceFile> file_;
  std::map<uint64_t, Ends> ends_of_task_;
  std::map<uint32_t, Partition> partitions_;
};

}  // namespace sgprs::observe

#endif  // SGPRS_RUNTIME_OBSERVE_SCHEDULE_TRACE_H_
