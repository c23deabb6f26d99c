// SPDX-License-Identifier: Apache-2.0
// Results of virtual runs as tables for people. Pure.
#ifndef SGPRS_TOOLS_SGPRS_SIM_TABLE_H_
#define SGPRS_TOOLS_SGPRS_SIM_TABLE_H_

#include <string>
#include <vector>

#include "tools/sgprs/sim_series.h"

namespace sgprs::cli {

// "on rtx2080ti (68 SMs, modelled), 10s counted after 1s, seeds 1..5".
std::string ConditionsText(const std::vector<SimSeries>& series);

// A line a point.
std::string PointsText(const std::vector<SimSeries>& series);
// A line a series: pivot, peak, best on-time rate, what is left of them at the largest N. Empty if
// no series has three points.
std::string SummaryText(const std::vector<SimSeries>& series);
// A line a task of each point's first run.
std::string PerTaskText(const std::vector<SimSeries>& series);
// A line a point: where the device's time went, in FPS of the fluid bound.
std::string LossesText(const std::vector<SimSeries>& series);
// What admission control had to say, a line each.
std::string WarningsText(const std::vector<SimSeries>& series);

// "712.4", "0.0".
std::string OneDigit(double value);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_SIM_TABLE_H_
