// SPDX-License-Identifier: Apache-2.0
// The listening end of the control socket. One sgprsd a path: a lock file beside the socket says
// who has it, so that a socket left behind by a killed sgprsd is replaced and a living one is not.
#ifndef SGPRS_RUNTIME_INGRESS_LISTENER_H_
#define SGPRS_RUNTIME_INGRESS_LISTENER_H_

#include <sys/types.h>

#include <memory>
#include <string>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace sgprs::ingress {

struct ListenerOptions {
  std::string path;
  mode_t directory_mode = 0700;  // of a directory that has to be made
  mode_t socket_mode = 0600;
};

class Listener {
 public:
  // Makes the directory (its last component only), locks, binds, listens. Errors: kInvalid (path
  // too long, not a socket, no right), kUnavailable (another sgprsd serves it), kInternal.
  static Result<std::unique_ptr<Listener>> Open(const ListenerOptions& options);
  // Removes the socket, keeps the lock file (removing it would race with a successor).
  ~Listener();

  int fd() const { return socket_.get(); }
  const std::string& path() const { return path_; }

 private:
  Listener() = default;

  std::string path_;
  UniqueFd lock_;
  UniqueFd socket_;
};

}  // namespace sgprs::ingress

#endif  // SGPRS_RUNTIME_INGRESS_LISTENER_H_
