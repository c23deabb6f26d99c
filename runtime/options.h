// SPDX-License-Identifier: Apache-2.0
// The command line of sgprsd.
#ifndef SGPRS_RUNTIME_OPTIONS_H_
#define SGPRS_RUNTIME_OPTIONS_H_

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/pool/config.h"

namespace sgprs::runtime {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;

struct Options {
  pool::Config config;  // file, environment and command line put together
  std::string socket_path;
  std::string device;  // of --simulate and --check; empty = the default
  bool simulate = false;
  bool check = false;
  bool check_probes = false;
  std::vector<uid_t> allowed_uids;
};

// Reads the command line, the configuration file that it names, and the environment. Error: an exit
// code, everything said already; kExitOk after --help and the like.
struct ParseResult {
  bool run = false;
  int exit_code = kExitOk;
};
ParseResult ParseOptions(int argc, char** argv, Options* options);

// `text` to stdout, flushed. kExitOk, or kExitFailed after a line on stderr (a full disk).
int PrintText(std::string_view text);

// What --check prints: every key with its value, and the pool on the device, if one is known.
// Error kInvalid: the pool does not fit the device.
Result<std::string> CheckText(const Options& options);

}  // namespace sgprs::runtime

#endif  // SGPRS_RUNTIME_OPTIONS_H_
