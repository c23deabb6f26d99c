// SPDX-License-Identifier: Apache-2.0
// Owns a file descriptor.
#ifndef SGPRS_RUNTIME_BASE_UNIQUE_FD_H_
#define SGPRS_RUNTIME_BASE_UNIQUE_FD_H_

#include <unistd.h>

namespace sgprs {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release() {
    int fd = fd_;
    fd_ = -1;
    return fd;
  }
  void reset(int fd = -1) {
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

}  // namespace sgprs

#endif  // SGPRS_RUNTIME_BASE_UNIQUE_FD_H_
