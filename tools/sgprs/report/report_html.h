// SPDX-License-Identifier: Apache-2.0
// A report as one HTML file that loads nothing: styles and pictures are in it, no script runs. It
// is well-formed XML, too. Every text from a client is escaped. Pure.
#ifndef SGPRS_TOOLS_SGPRS_REPORT_REPORT_HTML_H_
#define SGPRS_TOOLS_SGPRS_REPORT_REPORT_HTML_H_

#include <string>

#include "tools/sgprs/report/report_data.h"

namespace sgprs::cli {

std::string ReportHtml(const ReportData& data);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_REPORT_REPORT_HTML_H_
