// SPDX-License-Identifier: Apache-2.0
// A file replaced whole or not at all, for output that somebody may be reading.
#ifndef SGPRS_RUNTIME_BASE_REPLACE_FILE_H_
#define SGPRS_RUNTIME_BASE_REPLACE_FILE_H_

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "runtime/base/result.h"

namespace sgprs {

// `text` becomes what `path` holds, by way of a file beside it. A link stays one, its target is
// replaced; what is no regular file (/dev/stdout, a pipe) is written to: a rename would put a file
// in its place. Blocks as the file system does. Error kUnavailable: the reason in words, the old
// content stands.
inline Status ReplaceFile(const std::string& path, std::string_view text) {
  struct stat info;
  const bool exists = stat(path.c_str(), &info) == 0;
  const bool beside = !exists || S_ISREG(info.st_mode);
  std::string target = path;
  if (char* real = exists ? realpath(path.c_str(), nullptr) : nullptr; real != nullptr) {
    target = real;
    free(real);
  }
  const std::string fresh = beside ? target + "." + std::to_string(getpid()) : path;
  std::FILE* file = std::fopen(fresh.c_str(), "wbe");
  bool written = file != nullptr;
  if (written) written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  int error = written ? 0 : errno;
  if (file != nullptr && std::fclose(file) != 0 && written) {
    written = false;
    error = errno;
  }
  if (written && beside && std::rename(fresh.c_str(), target.c_str()) != 0) {
    written = false;
    error = errno;
  }
  if (written) return Status::Ok();
  if (file != nullptr && beside) std::remove(fresh.c_str());
  return Status(ErrorCode::kUnavailable, std::strerror(error));
}

}  // namespace sgprs

#endif  // SGPRS_RUNTIME_BASE_REPLACE_FILE_H_
