// SPDX-License-Identifier: Apache-2.0
// What a task is called that was given no name.
#ifndef SGPRS_TOOLS_SGPRS_TASK_NAME_H_
#define SGPRS_TOOLS_SGPRS_TASK_NAME_H_

#include <string>
#include <vector>

namespace sgprs::cli {

// File name of the program; of a Python its script's without ".py", or the module of -m: several
// Python programs are told apart, and have a profile each. `program` is not empty.
std::string DefaultTaskName(const std::vector<std::string>& program);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_TASK_NAME_H_
