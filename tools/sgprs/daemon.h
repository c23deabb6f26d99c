// SPDX-License-Identifier: Apache-2.0
// A watched daemon: connection and mapped state segment together, as the reading commands need
// them.
#ifndef SGPRS_TOOLS_SGPRS_DAEMON_H_
#define SGPRS_TOOLS_SGPRS_DAEMON_H_

#include <memory>
#include <string>

#include "runtime/base/result.h"
#include "tools/sgprs/control_client.h"
#include "tools/sgprs/state_reader.h"

namespace sgprs::cli {

struct Daemon {
  ControlClient control;
  std::unique_ptr<StateReader> state;
};

// Connects and maps; blocks for a few seconds at most. Errors as ControlClient and StateReader.
Result<Daemon> OpenDaemon(const std::string& socket_path);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_DAEMON_H_
