// SPDX-License-Identifier: Apache-2.0
// Job records as a picture for Perfetto: process "tasks" with a track a task (jobs, and in each the
// parts of its response time), "partitions" with a track each (stages, and in each its time on the
// GPU), "CPUs" (what the records know of them: who woke where, and who was in the way). An arrow
// leads from each job's release through its stages to its completion.
//
// Memory: the jobs of kWindow records; later ones may begin earlier by no more than that.
#ifndef SGPRS_TOOLS_SGPRS_JOBS_PERFETTO_EXPORT_H_
#define SGPRS_TOOLS_SGPRS_JOBS_PERFETTO_EXPORT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "tools/sgprs/jobs/chrome_trace.h"
#include "tools/sgprs/jobs/job_history.h"

namespace sgprs::cli {

// Of otherData.sgprs_jobs: the names of tracks, parts and arguments; raised when one changes.
inline constexpr int kPerfettoExportVersion = 1;

class PerfettoExport {
 public:
  explicit PerfettoExport(std::function<bool(std::string_view)> write);

  void Add(const HistoryJob& job, const std::string& label);
  // The rest, and the closing brackets. `header`: of the log.
  void Finish(const SgprsLogHeader& header);
  bool full() const { return trace_.full(); }
  uint64_t jobs() const { return jobs_; }

 private:
  static constexpr size_t kWindow = 4096;
  enum Process : uint32_t { kTasks = 1, kPartitions = 2, kCpus = 3 };
  struct Waiting {
    HistoryJob job;
    std::string label;
  };
  void Draw(const Waiting& one);
  void DrawStages(const Waiting& one, uint64_t flow);
  void DrawCpu(const Waiting& one);

  ChromeTrace trace_;
  std::multimap<uint64_t, Waiting> waiting_;  // by release
  uint64_t jobs_ = 0;
};

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_JOBS_PERFETTO_EXPORT_H_
