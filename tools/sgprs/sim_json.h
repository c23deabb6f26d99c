// SPDX-License-Identifier: Apache-2.0
// Results of virtual runs for programs: JSON ("version": 1) and CSV. Times in ns, rates per second.
// Pure.
#ifndef SGPRS_TOOLS_SGPRS_SIM_JSON_H_
#define SGPRS_TOOLS_SGPRS_SIM_JSON_H_

#include <string>
#include <vector>

#include "tools/sgprs/sim_series.h"
#include "tools/sgprs/state_view.h"

namespace sgprs::cli {

// {"version", "kind", "device", "device_sm_count", "warmup_ns", "horizon_ns", "series": [...]};
// a series has its policy and pool, "summary", and "points" with a spread over the seeds and each
// run in full.
Json SweepJson(std::string_view kind, const std::vector<SimSeries>& series);

// The parts, for other documents.
Json SpreadJson(const Spread& spread);
Json KeyJson(const SeriesKey& key);
Json SummaryJson(const SeriesSummary& summary);
Json RunJson(const model::SimResult& run);

// A line a run, under a line of column names; RFC 4180.
std::string SweepCsv(const std::vector<SimSeries>& series);
std::string CsvField(std::string_view text);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_SIM_JSON_H_
