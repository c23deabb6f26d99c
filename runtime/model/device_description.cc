// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/device_description.h"

#include <algorithm>

namespace sgprs::model {
namespace {

constexpr uint32_t kKiB = 1024;
constexpr uint64_t kMiB = 1024 * 1024;

// Fitted to facts/papers.md 1.8 (README.md).
constexpr CostParameters kTuringCost = {
    .latency_ns = 10'500,
    .compute_efficiency = 0.88,
    .sm_bytes_per_ns = 28,
    .dram_efficiency = 0.85,
    .l2_bandwidth_ratio = 3,
    .saturating_threads = 256,
    .block_ns = 30,
    .dispatch_part = 0.9,
    .dispatch_contention = 0.025,
    .contention = 0.15,
    .guess_flops_per_thread = 256,
    .guess_bytes_per_thread = 12,
};

// Not fitted: no measurements at hand. The 2080 Ti's efficiencies with a shorter latency, and with
// each SM's share of the bandwidth scaled so that about a third of the SMs saturate the memory.
constexpr CostParameters Scaled(double sm_bytes_per_ns) {
  CostParameters cost = kTuringCost;
  cost.latency_ns = 5'250;
  cost.sm_bytes_per_ns = sm_bytes_per_ns;
  return cost;
}

constexpr DeviceDescription kDevices[] = {
    {
        .name = "rtx2080ti",
        .display_name = "simulated NVIDIA GeForce RTX 2080 Ti",
        .sm_count = 68,
        .sm_minimum = 2,
        .sm_alignment = 2,
        .compute_major = 7,
        .compute_minor = 5,
        .threads_per_sm = 1024,
        .blocks_per_sm = 16,
        .registers_per_sm = 65536,
        .shared_bytes_per_sm = 64 * kKiB,
        .shared_bytes_per_block = 48 * kKiB,
        .shared_bytes_per_block_optin = 64 * kKiB,
        .fp32_lanes_per_sm = 64,
        .clock_khz = 1'545'000,
        .memory_clock_khz = 7'000'000,
        .memory_bus_bits = 352,
        .l2_bytes = 5632 * kKiB,
        .memory_bytes = 11264 * kMiB,
        .dram_bytes_per_ns = 616,
        .copy_engines = 3,
        .host_to_device_bytes_per_ns = 12,
        .device_to_host_bytes_per_ns = 12.5,
        .copy_latency_ns = 4'000,
        .priority_least = 0,
        .priority_greatest = -5,
        .cost = kTuringCost,
    },
    {
        .name = "a100",
        .display_name = "simulated NVIDIA A100-SXM4-80GB",
        .sm_count = 108,
        .sm_minimum = 4,
        .sm_alignment = 2,
        .compute_major = 8,
        .compute_minor = 0,
        .threads_per_sm = 2048,
        .blocks_per_sm = 32,
        .registers_per_sm = 65536,
        .shared_bytes_per_sm = 164 * kKiB,
        .shared_bytes_per_block = 48 * kKiB,
        .shared_bytes_per_block_optin = 163 * kKiB,
        .fp32_lanes_per_sm = 64,
        .clock_khz = 1'410'000,
        .memory_clock_khz = 1'593'000,
        .memory_bus_bits = 5120,
        .l2_bytes = 40 * 1024 * kKiB,
        .memory_bytes = 81920 * kMiB,
        .dram_bytes_per_ns = 2039,
        .copy_engines = 3,
        .host_to_device_bytes_per_ns = 24,
        .device_to_host_bytes_per_ns = 25,
        .copy_latency_ns = 3'000,
        .priority_least = 0,
        .priority_greatest = -5,
        .cost = Scaled(57),
    },
    {
        .name = "h200",
        .display_name = "simulated NVIDIA H200",
        .sm_count = 132,
        .sm_minimum = 8,
        .sm_alignment = 8,
        .compute_major = 9,
        .compute_minor = 0,
        .threads_per_sm = 2048,
        .blocks_per_sm = 32,
        .registers_per_sm = 65536,
        .shared_bytes_per_sm = 228 * kKiB,
        .shared_bytes_per_block = 48 * kKiB,
        .shared_bytes_per_block_optin = 227 * kKiB,
        .fp32_lanes_per_sm = 128,
        .clock_khz = 1'980'000,
        .memory_clock_khz = 3'201'000,
        .memory_bus_bits = 6144,
        .l2_bytes = 50 * 1024 * kKiB,
        .memory_bytes = 143'771 * kMiB,
        .dram_bytes_per_ns = 4800,
        .copy_engines = 3,
        .host_to_device_bytes_per_ns = 52,
        .device_to_host_bytes_per_ns = 54,
        .copy_latency_ns = 2'500,
        .priority_least = 0,
        .priority_greatest = -5,
        .cost = Scaled(110),
    },
};

}  // namespace

std::span<const DeviceDescription> AllDevices() { return kDevices; }

const DeviceDescription* FindDevice(std::string_view name) {
  for (const DeviceDescription& device : kDevices) {
    if (device.name == name) return &device;
  }
  return nullptr;
}

bool IsSimulated(std::string_view display_name) {
  const std::span<const DeviceDescription> all = AllDevices();
  return std::any_of(all.begin(), all.end(), [display_name](const DeviceDescription& device) {
    return device.display_name == display_name;
  });
}

}  // namespace sgprs::model
