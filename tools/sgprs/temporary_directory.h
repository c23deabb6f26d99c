// SPDX-License-Identifier: Apache-2.0
// A private directory that goes with its owner.
#ifndef SGPRS_TOOLS_SGPRS_TEMPORARY_DIRECTORY_H_
#define SGPRS_TOOLS_SGPRS_TEMPORARY_DIRECTORY_H_

#include <string>

#include "runtime/base/result.h"

namespace sgprs::cli {

class TemporaryDirectory {
 public:
  // In $TMPDIR, else /tmp; mode 0700. Error kUnavailable.
  static Result<TemporaryDirectory> Make(const std::string& prefix);
  TemporaryDirectory(TemporaryDirectory&& other) noexcept : path_(std::move(other.path_)) {
    other.path_.clear();
  }
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
  ~TemporaryDirectory();  // removes it and all in it

  const std::string& path() const { return path_; }
  // Leaves it where it is.
  void Keep() { path_.clear(); }

 private:
  explicit TemporaryDirectory(std::string path) : path_(std::move(path)) {}

  std::string path_;  // empty: nothing to remove
};

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_TEMPORARY_DIRECTORY_H_
