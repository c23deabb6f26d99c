// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/daemon.h"

#include <utility>

namespace sgprs::cli {

Result<Daemon> OpenDaemon(const std::string& socket_path) {
  Result<ControlClient> control = ControlClient::Connect(socket_path);
  if (!control.ok()) return control.status();
  Result<UniqueFd> fd = control->RequestState();
  if (!fd.ok()) return fd.status();
  Result<std::unique_ptr<StateReader>> state = StateReader::Open(std::move(fd).value());
  if (!state.ok()) return state.status();
  return Daemon{std::move(control).value(), std::move(state).value()};
}

}  // namespace sgprs::cli
