// SPDX-License-Identifier: Apache-2.0
// The configuration of sgprsd: a TOML file, every key said once in config_keys.cc.
//
// Thread: any; reads a file, else pure. Errors are one line with file, line, key and value.
#ifndef SGPRS_RUNTIME_POOL_CONFIG_H_
#define SGPRS_RUNTIME_POOL_CONFIG_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/policy/admission.h"
#include "runtime/policy/overload.h"
#include "runtime/policy/policy_options.h"
#include "sgprs/abi/abi.h"
#include "sgprs/abi/job_log.h"

namespace sgprs::pool {

// [pool]
struct PoolConfig {
  uint32_t partitions = 0;                     // how many; 0 = auto
  std::vector<uint32_t> sm_counts;             // sizes in SMs; empty = an equal split
  double oversubscription = 1.5;               // of an equal split
  SgprsBackend backend = SGPRS_BACKEND_GREEN;  // the first that clients try
};

struct Config {
  std::string policy = "sgprs";
  policy::PolicyOptions options;  // [policy_options]
  policy::OverloadMode overload = policy::OverloadMode::kLate;
  policy::AdmissionMode admission = policy::AdmissionMode::kOff;
  std::string log_level = "info";
  PoolConfig pool;

  // [stages]
  uint32_t stages = 6;
  uint64_t min_stage_ns = 20'000;
  bool force_switch = false;

  // [learning]
  uint32_t window = 5;
  uint32_t learning_jobs = 2;
  uint32_t learning_chunks = 24;
  uint32_t relearn_after = 3;

  // [limits]
  uint32_t max_clients = SGPRS_MAX_TASKS;
  uint32_t max_open_launches = 256;
  uint64_t open_grant_ns = 5'000'000;
  uint64_t park_after_ns = 1'000'000;
  uint32_t stall_factor = 10;
  uint64_t stall_min_ns = 1'000'000'000;
  uint64_t max_wait_ns = 1'000'000'000;

  // [socket], [trace]
  std::string socket_path;  // empty = the default of SGPRS_SOCKET and SGPRS_RUNTIME_DIR
  std::string trace_file;   // empty = no trace

  // [probes]
  bool probes = true;
  SgprsReleaseRule release = SGPRS_RELEASE_GRID;  // of tasks that do not say
  uint64_t min_wait_ns = 50'000;

  // [job_log], [metrics]
  std::string job_log_directory;  // empty = none is written
  uint32_t job_log_mib = 64;
  uint32_t job_log_files = 4;
  std::string metrics_listen;  // empty = not served

  // [profiles]
  std::string profile_directory;  // empty = none are written
  bool profile_sweep = false;
};

// Reads a file. Errors: kNotFound (no such file), kUnavailable (can not be read), kInvalid.
Result<Config> LoadConfig(const std::string& path);
// `name` stands in messages for the file.
Result<Config> ParseConfig(std::string_view text, std::string_view name);

// Every key with type, default and meaning, a section at a time, for `sgprsd --help-config`.
// It is itself a valid configuration file that changes nothing.
std::string ConfigHelp();

}  // namespace sgprs::pool

#endif  // SGPRS_RUNTIME_POOL_CONFIG_H_
