// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/temporary_directory.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "runtime/base/environment.h"

namespace sgprs::cli {

Result<TemporaryDirectory> TemporaryDirectory::Make(const std::string& prefix) {
  const char* base = env::Get("TMPDIR");
  std::string path = std::string(base != nullptr ? base : "/tmp") + "/" + prefix + "XXXXXX";
  if (mkdtemp(path.data()) == nullptr) {
    return Status(ErrorCode::kUnavailable, path + ": " + std::strerror(errno));
  }
  return TemporaryDirectory(path);
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;  // a file that stays is no reason to fail
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace sgprs::cli
