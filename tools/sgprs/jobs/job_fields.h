// SPDX-License-Identifier: Apache-2.0
// A job record as text: one line for people, a row of CSV, a JSON object. Pure.
#ifndef SGPRS_TOOLS_SGPRS_JOBS_JOB_FIELDS_H_
#define SGPRS_TOOLS_SGPRS_JOBS_JOB_FIELDS_H_

#include <string>

#include "tools/sgprs/jobs/job_history.h"
#include "tools/sgprs/json.h"

namespace sgprs::cli {

// "19:07:51.123456 cam 812 missed by 3.4 ms: run_queue 8.2 ms, user 295 us, ...": the parts of its
// response time, in order. The time is its release by the clock on the wall. Ends in '\n'.
std::string JobLine(const HistoryJob& job, const std::string& label, const SgprsLogHeader& header);

// Moments are ns of CLOCK_MONOTONIC, empty (JSON: null) if not seen. Both end in '\n'.
std::string CsvHeader();
std::string CsvRow(const HistoryJob& job, const std::string& label);

// The same fields, and the stages.
Json JobJson(const HistoryJob& job, const std::string& label);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_JOBS_JOB_FIELDS_H_
