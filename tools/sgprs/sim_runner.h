// SPDX-License-Identifier: Apache-2.0
// Runs many scenarios in virtual time, several at once.
#ifndef SGPRS_TOOLS_SGPRS_SIM_RUNNER_H_
#define SGPRS_TOOLS_SGPRS_SIM_RUNNER_H_

#include <cstddef>
#include <functional>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/model/virtual_run.h"

namespace sgprs::cli {

struct SimJob {
  model::Scenario scenario;
  model::RunOptions options;
};

// Told after each run, from one thread at a time.
using SimProgress = std::function<void(size_t done, size_t all)>;

// Results in the order of `jobs`, however many threads (at least 1) take part. Blocks until all are
// done. Error: that of the first job, in order, that could not run.
Result<std::vector<model::SimResult>> RunAll(const std::vector<SimJob>& jobs, unsigned threads,
                                             const SimProgress& progress);

// A line on stderr, rewritten in place, from the second second on; nothing where stderr is no
// terminal.
class ProgressLine {
 public:
  ProgressLine();
  // Takes the line away.
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void Show(size_t done, size_t all);

 private:
  const bool terminal_;
  const uint64_t began_ns_;
  uint64_t shown_ns_ = 0;
};

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_SIM_RUNNER_H_
