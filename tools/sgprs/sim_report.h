// SPDX-License-Identifier: Apache-2.0
// What a run of `sgprs sim` has to show, and where it goes.
#ifndef SGPRS_TOOLS_SGPRS_SIM_REPORT_H_
#define SGPRS_TOOLS_SGPRS_SIM_REPORT_H_

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "tools/sgprs/sim_options.h"
#include "tools/sgprs/state_view.h"

namespace sgprs::cli {

struct Picture {
  std::string name;  // of the file in a directory, without .svg
  std::string svg;
};

struct SimReport {
  std::string text;
  Json json;
  std::string csv;  // empty = this mode has none
  std::vector<Picture> pictures;
};

// Whether `--svg` names a file; else a directory.
bool IsSvgFile(std::string_view path);

// `--svg` and `--csv` before anything runs: kInvalid if `pictures` of them can not go into one
// file, or if there is nothing to write.
Status CheckOutputs(const SimOptions& options, size_t pictures, bool has_csv);

// Writes the files and prints text, JSON or CSV on stdout; what was written is said on stderr.
// Error: a file or stdout could not be written.
Status Deliver(const SimOptions& options, const SimReport& report);

// Whole file or error (kUnavailable, the text says why); directories above it are made.
Status WriteFile(const std::string& path, std::string_view text);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_SIM_REPORT_H_
