// SPDX-License-Identifier: Apache-2.0
// The program around a network: options, context, periodic loop, report.
#ifndef SGPRS_TOOLS_WORKLOADS_APP_NETWORK_APP_H_
#define SGPRS_TOOLS_WORKLOADS_APP_NETWORK_APP_H_

#include "tools/workloads/nn/plan.h"

namespace workloads {

struct NetworkProgram {
  const char* name;
  int default_blocks;  // of a group; 0: this network has no --blocks
  Plan (*plan)(InputSize input, int blocks);
};

// The whole of main(). Returns the exit code.
int RunNetworkApp(int argc, char** argv, const NetworkProgram& program);

}  // namespace workloads

#endif  // SGPRS_TOOLS_WORKLOADS_APP_NETWORK_APP_H_
