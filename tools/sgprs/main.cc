// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "tools/sgprs/command_line.h"
#include "tools/sgprs/exit_code.h"

int main(int argc, char** argv) {
  try {
    return sgprs::cli::RunCommandLine(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& error) {  // no memory, a full file system
    std::fprintf(stderr, "sgprs: %s\n", error.what());
    return sgprs::cli::kExitFailure;
  }
}
