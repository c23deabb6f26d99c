// SPDX-License-Identifier: Apache-2.0
// What a report says of a job log: read twice, once for what is usual, once for what went wrong.
#ifndef SGPRS_TOOLS_SGPRS_REPORT_REPORT_DATA_H_
#define SGPRS_TOOLS_SGPRS_REPORT_REPORT_DATA_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/model/sim_result.h"
#include "tools/sgprs/jobs/job_history.h"
#include "tools/sgprs/jobs/miss_cause.h"
#include "tools/sgprs/json.h"
#include "tools/sgprs/recording_info.h"
#include "tools/sgprs/task_rates.h"

namespace sgprs::cli {

struct CauseCount {
  uint64_t jobs = 0;
  uint64_t worst_late_ns = 0;
};

struct ReportTask {
  std::string label;
  HistoryTask task;
  TaskStatistics statistics;
  uint64_t first_release_ns = 0;
  uint64_t last_complete_ns = 0;
  uint64_t missed_learning = 0;  // missed while learning: not diagnosed
  std::map<JobPart, CauseCount> causes;

  uint64_t on_time() const { return statistics.jobs() - statistics.missed(); }
  // Over the time from its first release to its last completion. Skipped frames are in no log, so
  // miss_percent is of the jobs that were.
  TaskRates rates() const;
};

struct ReportMiss {
  size_t task = 0;  // in ReportData::tasks
  HistoryJob job;   // its `task` is not to be used
  Diagnosis diagnosis;
};

// A part of the run to be drawn.
struct ReportWindow {
  size_t task = 0;  // of the job that it is about
  uint64_t job = 0;
  bool missed = false;
  uint64_t from_ns = 0;
  uint64_t to_ns = 0;
  std::vector<model::JobRow> jobs;
  std::vector<model::StageRow> stages;
  uint64_t left_out = 0;  // jobs beyond kMostRows
};

struct ReportData {
  static constexpr size_t kMostMisses = 25;
  static constexpr size_t kMostWindows = 3;
  static constexpr size_t kMostRows = 2000;
  static constexpr uint64_t kLongestWindowNs = 250'000'000;

  std::string log;
  std::optional<RecordingInfo> recording;  // of a daemon that runs
  SgprsLogHeader header = {};              // of the newest file read
  observe::JobLogReaderCounts counts;
  uint64_t from_ns = 0;  // first release and last completion of all
  uint64_t to_ns = 0;
  TaskStatistics all;
  std::vector<ReportTask> tasks;
  std::map<JobPart, CauseCount> causes;
  uint64_t missed_learning = 0;
  std::vector<ReportMiss> worst;  // by lateness, the worst first
  std::vector<ReportWindow> windows;
};

// Reads what is in the log now. Memory: the tasks, and what is kept of the worst. Errors: as
// JobHistory; kNotFound: it holds no job yet.
Result<ReportData> ReadReport(const std::string& log);

// The numbers of the report, for programs.
Json ReportJson(const ReportData& data);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_REPORT_REPORT_DATA_H_
