// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/installation.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace sgprs::cli {

std::string Installation::Program(std::string_view name) const {
  return fmt::format("{}/{}", bin, name);
}

Installation Installation::At(const std::string& bin) {
  Installation at;
  at.bin = bin;
  at.lib = (std::filesystem::path(bin).parent_path() / "lib").string();
  at.shim = at.lib + "/libsgprs-shim.so";
  at.simgpu_lib = at.lib + "/simgpu";
  at.simgpu_cuda = at.simgpu_lib + "/libcuda.so.1";
  at.demo_kernels = at.simgpu_lib + "/libworkload-kernels.so";
  auto add = [&](const char* name, std::vector<std::string>* list) {
    const std::string path = fmt::format("{}/{}", at.simgpu_lib, name);
    if (access(path.c_str(), R_OK) == 0) list->push_back(path);
  };
  for (const char* name :
       {"libcudart.so.13", "libcublasLt.so.13", "libcublas.so.13", "libcudnn.so.9"}) {
    add(name, &at.stand_ins);
  }
  for (const char* name : {"libtorch-kernels.so", "libmath-kernels.so"}) {
    add(name, &at.stand_in_kernels);
  }
  return at;
}

Result<Installation> Installation::Find() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) {
    return Status(ErrorCode::kInternal, "can not read /proc/self/exe: " + error.message());
  }
  return At(self.parent_path().string());
}

Status Require(const std::string& path, std::string_view what) {
  if (access(path.c_str(), R_OK) == 0) return Status::Ok();
  return Status(ErrorCode::kNotFound,
                fmt::format("{} is not there ({}: {}): is the build complete? (`make build`)", what,
                            path, std::strerror(errno)));
}

}  // namespace sgprs::cli
