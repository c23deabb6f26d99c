// SPDX-License-Identifier: Apache-2.0
// Pictures of what `sgprs demo` measured: rates of all policies, and for each a Gantt of the middle
// of its window, drawn from its trace.
#ifndef SGPRS_TOOLS_SGPRS_DEMO_PICTURES_H_
#define SGPRS_TOOLS_SGPRS_DEMO_PICTURES_H_

#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "tools/sgprs/demo_report.h"
#include "tools/sgprs/demo_session.h"
#include "tools/sgprs/svg_bars.h"
#include "tools/sgprs/svg_gantt.h"
#include "tools/sgprs/trace_reader.h"

namespace sgprs::cli {

// Where they go: beside the traces. "sgprs-demo.rates.svg", "sgprs-demo-naive.gantt.svg".
std::string DemoRatesPath(const DemoOptions& options);
std::string DemoGanttPath(const DemoOptions& options, const std::string& policy);
std::string DemoHtmlPath(const DemoOptions& options, const std::string& policy);

RateFigure DemoRateFigure(const DemoOptions& options, const std::vector<DemoResult>& results);
// A tenth of a second, at least three periods, in the middle of the measured window.
Gantt DemoGantt(const DemoOptions& options, const DemoResult& result, const RecordedTrace& trace);

// Writes all; the paths. Error: a trace that can not be read, a file that can not be written.
Result<std::vector<std::string>> WriteDemoPictures(const DemoOptions& options,
                                                   const std::vector<DemoResult>& results);

// The whole run of one policy, learning included, out of its job log: what `sgprs report` writes.
Status WriteDemoHtml(const DemoOptions& options, const std::string& policy,
                     const std::string& job_log);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_DEMO_PICTURES_H_
