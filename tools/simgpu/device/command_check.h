// SPDX-License-Identifier: Apache-2.0
// What of a client's command can be judged without its history: kinds, counts, sizes.
#ifndef SGPRS_TOOLS_SIMGPU_DEVICE_COMMAND_CHECK_H_
#define SGPRS_TOOLS_SIMGPU_DEVICE_COMMAND_CHECK_H_

#include "runtime/base/result.h"
#include "runtime/model/device_description.h"
#include "tools/simgpu/protocol.h"

namespace sgprs::simgpu {

// Error: what is impossible, with the value. `command` must be our own copy.
Status CheckCommand(const model::DeviceDescription& device, const Command& command);

}  // namespace sgprs::simgpu

#endif  // SGPRS_TOOLS_SIMGPU_DEVICE_COMMAND_CHECK_H_
