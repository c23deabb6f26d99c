// SPDX-License-Identifier: Apache-2.0
// A tool's connection to sgprsd (include/sgprs/abi/control.h): asks for the state segment, sends
// commands.
#ifndef SGPRS_TOOLS_SGPRS_CONTROL_CLIENT_H_
#define SGPRS_TOOLS_SGPRS_CONTROL_CLIENT_H_

#include <string>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace sgprs::cli {

// One thread at a time. Every call blocks for at most kTimeoutMs.
class ControlClient {
 public:
  static constexpr int kTimeoutMs = 3000;

  // Errors: kUnavailable (nobody listens; the text says how to start a daemon), kRefused (no right
  // to the socket), kInvalid (path too long).
  static Result<ControlClient> Connect(const std::string& socket_path);

  // The read-only memfd of the state segment. Errors: kUnavailable (no answer), kRefused (with the
  // daemon's words), kInternal (an answer that is none).
  Result<UniqueFd> RequestState();

  // Whether the daemon still holds its end. Never blocks. Error kUnavailable: it is gone.
  Status CheckAlive() const;

  struct Reply {
    int status = 0;    // 0, or the exit code that the daemon suggests
    std::string text;  // status 0: JSON, else one line
  };
  // Errors as RequestState, and kInvalid: `line` is too long.
  Result<Reply> Command(const std::string& line);

 private:
  explicit ControlClient(UniqueFd socket) : socket_(std::move(socket)) {}

  UniqueFd socket_;
};

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_CONTROL_CLIENT_H_
