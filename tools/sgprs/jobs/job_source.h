// SPDX-License-Identifier: Apache-2.0
// Where a command's job records come from: the log of the daemon that runs, or --log. And the words
// for times that these commands share.
#ifndef SGPRS_TOOLS_SGPRS_JOBS_JOB_SOURCE_H_
#define SGPRS_TOOLS_SGPRS_JOBS_JOB_SOURCE_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "tools/sgprs/control_client.h"
#include "tools/sgprs/jobs/job_history.h"
#include "tools/sgprs/recording_info.h"

namespace sgprs::cli {

struct SourceOptions {
  std::string log;  // empty: ask the daemon
  std::string socket;
};

// --log and --socket.
void AddSource(CLI::App* command, SourceOptions* options);

struct JobSource {
  std::unique_ptr<JobHistory> history;
  // What the daemon itself says of its probes; nullopt with --log.
  std::optional<RecordingInfo> recording;
  std::optional<ControlClient> control;  // to see whether it is still there
};

// Blocks for some seconds at most. Errors: kUnavailable (no daemon), kNotFound (no log; the text
// says how to have one), kInvalid (a log of another version).
Result<JobSource> OpenSource(const SourceOptions& options);

// "48 us", "8.21 ms", "1.25 s": three digits.
std::string TimeWords(uint64_t ns);
// "3 (0.25 %)".
std::string Share(uint64_t part, uint64_t whole);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_JOBS_JOB_SOURCE_H_
