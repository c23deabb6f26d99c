// SPDX-License-Identifier: Apache-2.0
// Devices as data: published limits, plus the few numbers that the cost model is fitted with.
#ifndef SGPRS_RUNTIME_MODEL_DEVICE_DESCRIPTION_H_
#define SGPRS_RUNTIME_MODEL_DEVICE_DESCRIPTION_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace sgprs::model {

// Fitted numbers. Source and fit error: runtime/model/README.md.
struct CostParameters {
  double latency_ns;              // of every kernel, whatever it does and wherever it runs
  double compute_efficiency;      // of the fp32 peak that a good kernel reaches
  double sm_bytes_per_ns;         // memory traffic that one SM can have in flight
  double dram_efficiency;         // of the published bandwidth
  double l2_bandwidth_ratio;      // bandwidth of data that fits the L2, against DRAM
  double saturating_threads;      // resident threads at which an SM computes at full rate
  double block_ns;                // SM time to place and retire one block
  double dispatch_part;           // of the latency: one launch of the device at a time
  double dispatch_contention;     // ... longer by so much per waiting launch of the same context
  double contention;              // slow-down by others that keep all SMs busy, as a ratio minus 1
  double guess_flops_per_thread;  // for launches of unknown work
  double guess_bytes_per_thread;
};

struct DeviceDescription {
  std::string_view name;          // what people type
  std::string_view display_name;  // what cuDeviceGetName says
  uint32_t sm_count;
  uint32_t sm_minimum;    // green contexts: least SMs of a group ...
  uint32_t sm_alignment;  // ... and multiple
  uint32_t compute_major;
  uint32_t compute_minor;
  uint32_t threads_per_sm;
  uint32_t blocks_per_sm;
  uint32_t registers_per_sm;
  uint32_t shared_bytes_per_sm;
  uint32_t shared_bytes_per_block;
  uint32_t shared_bytes_per_block_optin;
  uint32_t fp32_lanes_per_sm;
  uint32_t clock_khz;
  uint32_t memory_clock_khz;
  uint32_t memory_bus_bits;
  uint32_t l2_bytes;
  uint64_t memory_bytes;
  double dram_bytes_per_ns;  // published
  uint32_t copy_engines;
  double host_to_device_bytes_per_ns;
  double device_to_host_bytes_per_ns;
  double copy_latency_ns;
  int32_t priority_least;
  int32_t priority_greatest;  // CUDA sense: lower is more urgent
  CostParameters cost;
};

inline constexpr std::string_view kDefaultDevice = "rtx2080ti";

// All devices, the default first. Static data.
std::span<const DeviceDescription> AllDevices();

// nullptr: no such device.
const DeviceDescription* FindDevice(std::string_view name);

// Whether this is what cuDeviceGetName says of a simulated device.
bool IsSimulated(std::string_view display_name);

}  // namespace sgprs::model

#endif  // SGPRS_RUNTIME_MODEL_DEVICE_DESCRIPTION_H_
