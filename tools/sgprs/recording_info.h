// SPDX-License-Identifier: Apache-2.0
// What sgprsd records of jobs, in its own words (command "recording"): at which level its kernel
// probes run and what is missing, what was lost, where the job log lies.
#ifndef SGPRS_TOOLS_SGPRS_RECORDING_INFO_H_
#define SGPRS_TOOLS_SGPRS_RECORDING_INFO_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "tools/sgprs/control_client.h"
#include "tools/sgprs/json.h"

namespace sgprs::cli {

struct RecordingInfo {
  // runtime/kernel/probe_level.h: root, capabilities, plain, no-btf, none.
  std::string level;
  std::string why;          // what keeps it from "root", and what to do; empty at root
  uint64_t records = 0;     // waits that the probes told of
  uint64_t lost = 0;        // found the probes' ring full
  uint64_t complete = 0;    // every stamp there and in order
  uint64_t incomplete = 0;  // stamps missing or out of order: counted, never used
  uint64_t missing = 0;     // by sequence number: neither told nor counted as lost
  uint64_t unreleased = 0;  // jobs whose wait was not found
  uint64_t missed = 0;      // events that the kernel did not hand to a running probe
  std::string job_log;      // directory, absolute; empty = none is written
  uint64_t log_written = 0;
  uint64_t log_dropped = 0;
  std::string log_trouble;  // of the latest write that failed; empty: none did
  std::string metrics;      // address; empty = not served
};

// Of a level's name: whether the kernel stamps releases.
bool HasStamps(std::string_view level);

// The reply of "recording". Error kInternal: not what this sgprs knows.
Result<RecordingInfo> ParseRecording(std::string_view reply);

// Blocks as ControlClient does. Errors as ControlClient::Command, kUnavailable: sgprsd is older
// than the command.
Result<RecordingInfo> AskRecording(ControlClient* control);

// The directory of the job log that the daemon at `socket_path` writes. Errors as OpenDaemon and
// AskRecording; kNotFound: it writes none (the text says how to have one).
Result<std::string> FindJobLog(const std::string& socket_path);

// One line each: "root", "none: WHY; releases are first launches"; the counts.
std::string ProbesInWords(const RecordingInfo& info);
std::string ProbeCountsInWords(const RecordingInfo& info);
std::string JobLogInWords(const RecordingInfo& info);

Json ProbesJson(const RecordingInfo& info);
Json JobLogJson(const RecordingInfo& info);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_RECORDING_INFO_H_
