// SPDX-License-Identifier: Apache-2.0
// The command line as a whole: from arguments to an exit code.
#ifndef SGPRS_TOOLS_SGPRS_COMMAND_LINE_H_
#define SGPRS_TOOLS_SGPRS_COMMAND_LINE_H_

#include <string>
#include <vector>

namespace sgprs::cli {

// Runs what `arguments` (without the program's name) ask for. A line that is not understood gives
// one line on stderr and kExitUsage. `run` does not come back if it could start its program.
int RunCommandLine(const std::vector<std::string>& arguments);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_COMMAND_LINE_H_
