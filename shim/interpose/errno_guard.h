// SPDX-License-Identifier: Apache-2.0
// Leaves errno as it was: the application asked for something that does not set it.
#ifndef SGPRS_SHIM_INTERPOSE_ERRNO_GUARD_H_
#define SGPRS_SHIM_INTERPOSE_ERRNO_GUARD_H_

#include <cerrno>

namespace sgprs::shim {

class ErrnoGuard {
 public:
  ErrnoGuard() : saved_(errno) {}
  ~ErrnoGuard() { errno = saved_; }
  ErrnoGuard(const ErrnoGuard&) = delete;
  ErrnoGuard& operator=(const ErrnoGuard&) = delete;

 private:
  int saved_;
};

}  // namespace sgprs::shim

#endif  // SGPRS_SHIM_INTERPOSE_ERRNO_GUARD_H_
