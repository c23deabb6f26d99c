// SPDX-License-Identifier: Apache-2.0
// Asks a simulated device for its own counts (tools/simgpu/protocol.h).
#ifndef SGPRS_TOOLS_SGPRS_SIMGPU_CLIENT_H_
#define SGPRS_TOOLS_SGPRS_SIMGPU_CLIENT_H_

#include <nlohmann/json.hpp>
#include <string>

#include "runtime/base/result.h"

namespace sgprs::cli {

// The device's counters as it sends them. Blocks for some seconds at most. Errors: kUnavailable (no
// device there), kInternal (an answer that is no JSON).
Result<nlohmann::ordered_json> ReadSimgpuStats(const std::string& socket_path);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_SIMGPU_CLIENT_H_
