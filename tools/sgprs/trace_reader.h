// SPDX-License-Identifier: Apache-2.0
// Reads back a trace that sgprsd recorded (runtime/observe/schedule_trace.h): what was released,
// where each stage ran and what it took. For replay and for pictures.
#ifndef SGPRS_TOOLS_SGPRS_TRACE_READER_H_
#define SGPRS_TOOLS_SGPRS_TRACE_READER_H_

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/model/sim_result.h"

namespace sgprs::cli {

// Of sgprs_trace; another one is refused.
inline constexpr int kTraceVersion = 1;

struct RecordedTask {
  std::string name;
  SgprsTaskClass task_class = SGPRS_CLASS_LOW;
  uint64_t period_ns = 0;    // 0 = none
  uint64_t deadline_ns = 0;  // relative, 0 = none
};

// A stage as it ran; `row` counts tasks as RecordedTrace does, times as the trace does.
struct RecordedStage {
  model::StageRow row;
  uint32_t launches = 0;  // 0 = unknown
  bool learning = false;
};

struct RecordedTrace {
  std::string device;  // as it calls itself
  uint32_t device_sm_count = 0;
  std::string policy;  // the last one
  std::vector<uint32_t> sm_counts;
  std::vector<RecordedTask> tasks;    // in the order in which they registered
  std::vector<model::JobRow> jobs;    // by release
  std::vector<RecordedStage> stages;  // by begin
  uint64_t begin_ns = 0;              // of the first event
  uint64_t end_ns = 0;                // of the last
};

// Errors: kUnavailable (can not be read), kInvalid (no such trace, another version, an event that
// is not whole); the text is one line and begins with the path.
Result<RecordedTrace> ReadTrace(const std::string& path);
// The same of a stream.
Result<RecordedTrace> ParseTrace(std::istream* text);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_TRACE_READER_H_
