// SPDX-License-Identifier: Apache-2.0
// `sgprs sim --calibration`: the measurements that the device model is fitted to, beside what the
// model says. `--list`: what can be named on the line.
#ifndef SGPRS_TOOLS_SGPRS_SIM_CALIBRATION_H_
#define SGPRS_TOOLS_SGPRS_SIM_CALIBRATION_H_

#include "runtime/base/result.h"
#include "tools/sgprs/sim_report.h"

namespace sgprs::cli {

// Error kInvalid: the device was not measured.
Result<SimReport> CalibrationReport(const SimOptions& options);

// A scenario file that says every key.
Result<SimReport> KeysReport(const SimOptions& options);

// Scenarios, networks, devices, policies and their options.
Result<SimReport> ListReport(const SimOptions& options);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_SIM_CALIBRATION_H_
