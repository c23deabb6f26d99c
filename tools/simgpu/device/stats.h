// SPDX-License-Identifier: Apache-2.0
// The device's counters as one JSON text (protocol.h, HelloKind::kStats), and the list of devices.
#ifndef SGPRS_TOOLS_SIMGPU_DEVICE_STATS_H_
#define SGPRS_TOOLS_SIMGPU_DEVICE_STATS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/model/device_description.h"
#include "tools/simgpu/device/engine.h"

namespace sgprs::simgpu {

// {"version":1,"device","sms","mps","uptime_ns","simulated_ns","kernels_total","kernels_running",
//  "clients_total","clients_alive","clients":[{...}]}. Of more than `max_clients` clients the
//  oldest
// are shown. kernels_total counts finished kernels, also of clients that are gone.
std::string StatsJson(const Engine& engine, const model::DeviceDescription& device, bool mps,
                      uint64_t uptime_ns, size_t max_clients);

// {"version":1,"devices":[{"name","sms",...}]}
std::string DevicesJson();
// The same as a table.
std::string DevicesText();

}  // namespace sgprs::simgpu

#endif  // SGPRS_TOOLS_SIMGPU_DEVICE_STATS_H_
