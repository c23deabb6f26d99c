// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/profile/profile_pick.h"

#include <cstdlib>
#include <utility>

#include "runtime/profile/profile.h"
#include "tools/sgprs/control_client.h"

namespace sgprs::cli {

std::string ProfileDirectory() {
  const char* data = std::getenv("XDG_DATA_HOME");
  if (data != nullptr && data[0] == '/') return std::string(data) + "/sgprs/profiles";
  const char* home = std::getenv("HOME");
  if (home == nullptr || home[0] != '/') return "";
  return std::string(home) + "/.local/share/sgprs/profiles";
}

std::string ProfilePath(const std::string& task) {
  const std::string directory = ProfileDirectory();
  return directory.empty() ? "" : directory + "/" + profile::FileName(task);
}

Status LoadProfile(const std::string& socket, const std::string& path) {
  Result<ControlClient> daemon = ControlClient::Connect(socket);
  if (!daemon.ok()) return daemon.status();
  const Result<ControlClient::Reply> reply = daemon->Command("profile load " + path);
  if (!reply.ok()) return reply.status();
  if (reply->status != 0) return Status(ErrorCode::kRefused, reply->text);
  return Status::Ok();
}

}  // namespace sgprs::cli
