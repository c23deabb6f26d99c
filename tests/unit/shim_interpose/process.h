// SPDX-License-Identifier: Apache-2.0
// Runs a program and keeps what it wrote.
#ifndef SGPRS_TESTS_SHIM_INTERPOSE_PROCESS_H_
#define SGPRS_TESTS_SHIM_INTERPOSE_PROCESS_H_

#include <string>
#include <vector>

struct Outcome {
  int exit_code = -1;  // 128 + signal if a signal ended it
  std::string output;  // stdout
  std::string error;   // stderr
  std::vector<std::string> log;
};

// `environment` is all the program gets, plus PATH and INTERPOSE_TEST_LOG. Blocks until it ends.
Outcome RunProgram(const std::vector<std::string>& command,
                   const std::vector<std::string>& environment);

#endif  // SGPRS_TESTS_SHIM_INTERPOSE_PROCESS_H_
