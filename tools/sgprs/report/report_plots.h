// SPDX-License-Identifier: Apache-2.0
// The pictures of a report, as SVG without the XML declaration. Pure.
#ifndef SGPRS_TOOLS_SGPRS_REPORT_REPORT_PLOTS_H_
#define SGPRS_TOOLS_SGPRS_REPORT_REPORT_PLOTS_H_

#include <string>
#include <string_view>

#include "tools/sgprs/report/report_data.h"

namespace sgprs::cli {

// One phase: how many jobs took how long, five bars a decade from 1 us to 10 s.
std::string PhaseSvg(const DurationHistogram& histogram, std::string_view name,
                     std::string_view help);
// Frames completed and on time, a row a task; the first `most` tasks.
std::string FpsSvg(const ReportData& data, size_t most);
// What ran where in one window, and every task with its releases and deadlines.
std::string TimelineSvg(const ReportData& data, const ReportWindow& window);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_REPORT_REPORT_PLOTS_H_
