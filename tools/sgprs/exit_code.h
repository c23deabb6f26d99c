// SPDX-License-Identifier: Apache-2.0
// Exit codes of the CLI. `sgprs run` otherwise ends with the code of the program it became.
#ifndef SGPRS_TOOLS_SGPRS_EXIT_CODE_H_
#define SGPRS_TOOLS_SGPRS_EXIT_CODE_H_

namespace sgprs::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;          // it was understood and did not work
inline constexpr int kExitUsage = 2;            // it was not understood
inline constexpr int kExitNotExecutable = 126;  // as a shell says it
inline constexpr int kExitNotFound = 127;

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_EXIT_CODE_H_
