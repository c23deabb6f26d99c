// SPDX-License-Identifier: Apache-2.0
// Experiments that ship: the SGPRS paper's (facts/papers.md 1.9) and DARIS's (2.3, 2.4) beside
// their published numbers, and what the parts of the method are worth. The model is fitted to none
// of these numbers: ours are predictions.
#ifndef SGPRS_TOOLS_SGPRS_SIM_PAPER_H_
#define SGPRS_TOOLS_SGPRS_SIM_PAPER_H_

#include <optional>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/model/paper_data.h"
#include "tools/sgprs/sim_report.h"
#include "tools/sgprs/sim_series.h"

namespace sgprs::cli {

// Errors kInvalid: options that would make it another experiment.
Result<SimReport> PaperReport(const SimOptions& options);
Result<SimReport> AblationReport(const SimOptions& options);
Result<SimReport> DarisReport(const SimOptions& options);

// The published curve of a series, if it ran what the paper ran; from rest and after a standstill.
const model::PaperCurve* PublishedFor(const SimSeries& series);

// One sentence of the paper about the shape of its curves, checked.
struct PaperClaim {
  std::string pool;
  std::string what;
  std::string unit;
  uint64_t standstill_ns = 0;  // of the series compared
  double ours = 0;
  double published = 0;
  bool holds = false;
};
// Those whose points are there: `series` are naive's and sgprs's, N up to 30. Only series with the
// same standstill are compared.
std::vector<PaperClaim> CheckClaims(const std::vector<SimSeries>& series);

// The pivot of each seed on its own; a seed without one is left out.
std::vector<uint32_t> PivotsBySeed(const SimSeries& series);

// Whether `options` changes what the experiment is; "" or the option that does.
std::string ForeignOption(const SimOptions& options);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_SIM_PAPER_H_
