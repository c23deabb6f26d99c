// SPDX-License-Identifier: Apache-2.0
// The metrics as OpenMetrics 1.0 text (prometheus.io's successor format), from copies of the state
// segment's rows. What there is: metrics.inc, task_counters.inc, job_phases.inc; nothing else.
// Pure; any thread.
#ifndef SGPRS_RUNTIME_OBSERVE_OPEN_METRICS_H_
#define SGPRS_RUNTIME_OBSERVE_OPEN_METRICS_H_

#include <cstdint>
#include <span>
#include <string>

#include "runtime/observe/job_phases.h"
#include "sgprs/abi/state.h"

namespace sgprs::observe {

struct TaskMetrics {
  SgprsTaskRow row = {};
  const PhaseHistograms* phases = nullptr;  // null: not kept
};

// Of the kernel probes and the job log.
struct ProbeMetrics {
  uint64_t level = 0;
  uint64_t sent = 0;
  uint64_t lost = 0;
  uint64_t incomplete = 0;
  uint64_t missed = 0;
  uint64_t log_written = 0;
  uint64_t log_dropped = 0;
};

// Ends with "# EOF". Tasks are labelled task="NAME", client="ID"; text from clients is escaped.
// Rows in state SGPRS_TASK_NONE are left out.
std::string OpenMetricsText(const SgprsStateHeader& header,
                            std::span<const SgprsPartitionRow> partitions,
                            std::span<const TaskMetrics> tasks, const ProbeMetrics& probes);

// `text` as the answer to an HTTP/1.x request of a scraper; the connection is to be closed after.
std::string OpenMetricsHttp(const std::string& text);

}  // namespace sgprs::observe

#endif  // SGPRS_RUNTIME_OBSERVE_OPEN_METRICS_H_
