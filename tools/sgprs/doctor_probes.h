// SPDX-License-Identifier: Apache-2.0
// At which level a daemon started here would run its kernel probes.
#ifndef SGPRS_TOOLS_SGPRS_DOCTOR_PROBES_H_
#define SGPRS_TOOLS_SGPRS_DOCTOR_PROBES_H_

#include <string>

#include "runtime/base/result.h"
#include "tools/sgprs/recording_info.h"

namespace sgprs::cli {

// Runs `sgprsd --check-probes`, which really loads them: with our rights, or with the capabilities
// that the file of sgprsd has. Fills in `level` and `why` only. Blocks until it ended, kPatienceMs
// at most. Errors: it could not be run, or said nothing.
Result<RecordingInfo> CheckProbes(const std::string& sgprsd);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_DOCTOR_PROBES_H_
