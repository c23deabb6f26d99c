// SPDX-License-Identifier: Apache-2.0
// The lines that tools send in COMMAND messages. THE list of commands is in commands.cc.
#ifndef SGPRS_RUNTIME_COMMANDS_H_
#define SGPRS_RUNTIME_COMMANDS_H_

#include <string>

#include "runtime/ingress/control_server.h"

namespace sgprs::runtime {

class Daemon;

// Runs `line` (words separated by blanks). Reply: status 0 and JSON, else an exit code for the tool
// (1 failed, 2 no such command or argument) and one line. `privileged`: the peer may change things.
ingress::ControlHandler::Reply RunCommand(Daemon* daemon, const std::string& line, bool privileged);

}  // namespace sgprs::runtime

#endif  // SGPRS_RUNTIME_COMMANDS_H_
