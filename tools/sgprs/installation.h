// SPDX-License-Identifier: Apache-2.0
// Where the programs and libraries of this build lie: relative to the running executable, so that a
// build tree and an installed tree both work and nothing is compiled in.
#ifndef SGPRS_TOOLS_SGPRS_INSTALLATION_H_
#define SGPRS_TOOLS_SGPRS_INSTALLATION_H_

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"

namespace sgprs::cli {

// Absolute paths; whether the files are there is asked with Require(). Plain data.
struct Installation {
  std::string bin;           // directory of sgprs, sgprsd, simgpu and the workloads
  std::string lib;           // directory of libsgprs-shim.so
  std::string shim;          // the preloaded library
  std::string simgpu_lib;    // directory of the stand-in libcuda.so.1
  std::string simgpu_cuda;   // that libcuda.so.1
  std::string demo_kernels;  // kernel library of the workloads
  // Of the stand-ins of CUDA's runtime and libraries, those that this build has (they need NVIDIA's
  // headers): the libraries, and the kernel libraries that they need.
  std::vector<std::string> stand_ins;
  std::vector<std::string> stand_in_kernels;

  // bin/<name>.
  std::string Program(std::string_view name) const;

  // From the directory `bin` (absolute).
  static Installation At(const std::string& bin);
  // From /proc/self/exe. Error kInternal: /proc is not there.
  static Result<Installation> Find();
};

// kNotFound with a line that names `what` and the path, if `path` can not be read.
Status Require(const std::string& path, std::string_view what);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_INSTALLATION_H_
