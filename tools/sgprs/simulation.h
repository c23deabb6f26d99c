// SPDX-License-Identifier: Apache-2.0
// Makes sure that a simulated device and a daemon run, for `sgprs run --simulate`.
#ifndef SGPRS_TOOLS_SGPRS_SIMULATION_H_
#define SGPRS_TOOLS_SGPRS_SIMULATION_H_

#include <string>

#include "runtime/base/result.h"
#include "tools/sgprs/installation.h"

namespace sgprs::cli {

struct SimulationRequest {
  std::string control_socket;
  std::string simgpu_socket;
  std::string device;  // empty = sgprsd's default
};

// Whether something accepts connections at `socket`.
bool Answers(const std::string& socket);

// If neither daemon nor device answers, starts `sgprsd --simulate` on its own (new session, log in
// the runtime directory) and waits until both do. Returns a line to tell the user, empty if nothing
// was done. A lock in the runtime directory lets one of several callers do it. Blocks for some
// seconds at most. Errors: a daemon without a simulated device, another device there than the one
// asked for, a start that failed (with the last line of its log).
Result<std::string> EnsureSimulation(const SimulationRequest& request,
                                     const Installation& installation);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_SIMULATION_H_
