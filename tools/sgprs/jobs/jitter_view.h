// SPDX-License-Identifier: Apache-2.0
// What `sgprs jitter` shows: per task and phase how long it took, and how far the kernel's stamps
// can be believed. Pure.
#ifndef SGPRS_TOOLS_SGPRS_JOBS_JITTER_VIEW_H_
#define SGPRS_TOOLS_SGPRS_JOBS_JITTER_VIEW_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/sgprs/jobs/miss_cause.h"
#include "tools/sgprs/json.h"
#include "tools/sgprs/recording_info.h"

namespace sgprs::cli {

// The kernel's stamps beside the process's own, the first launch (a clock read in the process).
class StampAgreement {
 public:
  void Add(const SgprsLogJob& job);
  // From the due time (an input's wakeup, if there is no timer) to the return of the wait, as the
  // kernel saw it, and to the first launch, as the process itself did.
  const DurationHistogram& kernel() const { return kernel_; }
  const DurationHistogram& process() const { return process_; }
  const DurationHistogram& apart() const { return apart_; }  // of the same job
  // The process launched before the kernel let it go: the record is of two jobs.
  uint64_t impossible() const { return impossible_; }

 private:
  DurationHistogram kernel_;
  DurationHistogram process_;
  DurationHistogram apart_;
  uint64_t impossible_ = 0;
};

struct JitterTask {
  std::string label;
  HistoryTask task;
  TaskStatistics statistics;
  StampAgreement agreement;
};

struct JitterView {
  std::string log;
  uint32_t probe_level = 0;
  std::vector<JitterTask> tasks;
  observe::JobLogReaderCounts counts;
  std::optional<RecordingInfo> recording;
};

// Reads all there is of the tasks that `word` means (empty: all). Errors: as JobHistory; kNotFound:
// no such task, or no jobs at all.
Result<JitterView> ReadJitter(JobHistory* history, const std::string& word);

// `bars`: a bar for each power of two, instead of one line a phase only.
std::string JitterText(const JitterView& view, bool bars);
Json JitterJson(const JitterView& view);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_JOBS_JITTER_VIEW_H_
