// SPDX-License-Identifier: Apache-2.0
// What `sgprs run` changes in the environment of the program it becomes. Pure: options,
// installation and the present environment in, variables out.
#ifndef SGPRS_TOOLS_SGPRS_RUN_ENVIRONMENT_H_
#define SGPRS_TOOLS_SGPRS_RUN_ENVIRONMENT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "tools/sgprs/installation.h"

namespace sgprs::cli {

// Options of `sgprs run`. What is not given stays as the environment has it.
struct RunOptions {
  std::optional<std::string> name;
  std::optional<uint64_t> period_ns;
  std::optional<uint64_t> deadline_ns;  // relative
  std::optional<std::string> task_class;
  std::optional<std::string> job;
  std::optional<std::string> release;
  std::optional<std::string> backend;
  bool simulate = false;
  std::optional<std::string> device;         // with simulate
  std::vector<std::string> kernels;          // absolute paths, with simulate
  std::optional<std::string> simgpu_socket;  // absolute path, with simulate
  bool require = false;
  std::optional<std::string> profile;  // absolute path, or "none"
  std::optional<std::string> socket;   // absolute path
};

// Value of a variable, or nullptr; std::getenv but for tests.
using EnvironmentLookup = std::function<const char*(const char*)>;

// Variables to set. Error kInvalid: a library's path that LD_PRELOAD or LD_LIBRARY_PATH can not
// carry (a blank, ':' or ';' in it), another NVTX tool beside --job nvtx:NAME.
Result<std::map<std::string, std::string>> BuildRunEnvironment(const RunOptions& options,
                                                               const Installation& installation,
                                                               const EnvironmentLookup& lookup);

// Checks of single values; empty = good, else what is wrong with it, as the end of a sentence.
std::string CheckTaskName(const std::string& name);
std::string CheckTaskClass(const std::string& task_class);
std::string CheckJobRule(const std::string& job);
std::string CheckRelease(const std::string& release);
std::string CheckBackend(const std::string& backend);
std::string CheckDevice(const std::string& device);  // one that can be simulated

// Period of `text` frames per second ("30", "29.97"), in ns. Error kInvalid.
Result<uint64_t> ParseFpsAsPeriodNs(const std::string& text);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_RUN_ENVIRONMENT_H_
