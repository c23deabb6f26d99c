// SPDX-License-Identifier: Apache-2.0
// `sgprs sim` over a scenario: its runs, as a report.
#ifndef SGPRS_TOOLS_SGPRS_SIM_SWEEP_H_
#define SGPRS_TOOLS_SGPRS_SIM_SWEEP_H_

#include "runtime/base/result.h"
#include "tools/sgprs/sim_report.h"
#include "tools/sgprs/sim_series.h"

namespace sgprs::cli {

// Blocks while it runs. Errors kInvalid and kNotFound: what was asked for can not be; kUnavailable:
// a file can not be read.
Result<SimReport> SweepReport(const SimOptions& options);

// Runs `scenarios` with a progress line, and puts the results in order.
Result<std::vector<SimSeries>> RunSeries(const SimOptions& options,
                                         std::vector<model::Scenario> scenarios);

// Text, JSON, CSV and pictures of any set of series. `published`: the paper's curves are drawn
// beside ours.
SimReport ReportOf(const SimOptions& options, std::string_view kind, const std::string& title,
                   const std::vector<SimSeries>& series, bool published);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_SIM_SWEEP_H_
