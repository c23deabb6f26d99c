// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/doctor_probes.h"

#include <poll.h>

#include <fstream>

#include "tools/sgprs/child_process.h"
#include "tools/sgprs/temporary_directory.h"

namespace sgprs::cli {
namespace {

// The kernel's verifier needs some 50 ms; this only tells a hang from a slow machine.
constexpr int kPatienceMs = 30'000;

}  // namespace

Result<RecordingInfo> CheckProbes(const std::string& sgprsd) {
  const Result<TemporaryDirectory> directory = TemporaryDirectory::Make("sgprs-doctor-");
  if (!directory.ok()) return directory.status();
  Result<ChildProcess> child = ChildProcess::Start({.name = "sgprsd --check-probes",
                                                    .arguments = {sgprsd, "--check-probes"},
                                                    .environment = {},
                                                    .output_path = directory->path() + "/level",
                                                    .log_path = directory->path() + "/log"});
  if (!child.ok()) return child.status();
  pollfd ended = {.fd = child->pidfd(), .events = POLLIN, .revents = 0};
  poll(&ended, 1, kPatienceMs);
  const std::optional<int> status = child->Poll();
  if (!status.has_value()) {
    return Status(ErrorCode::kUnavailable, "sgprsd --check-probes does not end");
  }
  if (*status != 0) return Status(ErrorCode::kUnavailable, child->Epitaph());
  std::ifstream file(directory->path() + "/level");
  RecordingInfo info;
  if (!std::getline(file, info.level) || info.level.empty()) {
    return Status(ErrorCode::kUnavailable, "sgprsd --check-probes says nothing");
  }
  std::getline(file, info.why);
  return info;
}

}  // namespace sgprs::cli
