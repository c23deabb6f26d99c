// SPDX-License-Identifier: Apache-2.0
// One run of a program under a private sgprsd that measures each stage in partitions of several
// sizes and writes what it learnt.
#ifndef SGPRS_TOOLS_SGPRS_PROFILE_PROFILE_SESSION_H_
#define SGPRS_TOOLS_SGPRS_PROFILE_PROFILE_SESSION_H_

#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/profile/profile.h"
#include "tools/sgprs/child_group.h"
#include "tools/sgprs/installation.h"

namespace sgprs::cli {

struct ProfileRequest {
  std::string task;              // its name
  std::vector<std::string> run;  // options of `sgprs run` that are passed on
  bool simulate = false;
  std::string device = "rtx2080ti";  // with simulate
  std::vector<std::string> program;
};

struct ProfileOutcome {
  int exit_code = 0;  // the program's, as a shell has it
  profile::Profile profile;
};

// Blocks until the program has ended; it has our terminal, and Ctrl-C ends it, not us. What was
// started is ended, whatever happens. Errors: what could not be started; kNotFound: the program
// ended before its stages were learnt, with sgprsd's reason.
Result<ProfileOutcome> RunProfiled(const ProfileRequest& request, const Installation& installation);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_PROFILE_PROFILE_SESSION_H_
