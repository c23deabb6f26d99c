// SPDX-License-Identifier: Apache-2.0
#include "runtime/pool/layout.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace sgprs::pool {
namespace {

constexpr uint32_t kAutoPartitions = 3;

// Rounded up to what the device can give.
uint32_t Fit(uint64_t sm_count, const DeviceShape& device) {
  const uint64_t alignment = std::max(1u, device.sm_alignment);
  const uint64_t wanted = std::max<uint64_t>(sm_count, device.sm_minimum);
  const uint64_t rounded = (wanted + alignment - 1) / alignment * alignment;
  return static_cast<uint32_t>(std::min<uint64_t>(rounded, device.sm_count));
}

uint32_t PartitionCount(const PoolConfig& config, const DeviceShape& device) {
  if (config.partitions != 0) return std::min<uint32_t>(config.partitions, SGPRS_MAX_PARTITIONS);
  return std::clamp(device.sm_count / Fit(1, device), 1u, kAutoPartitions);
}

Result<std::vector<uint32_t>> Sizes(const PoolConfig& config, const DeviceShape& device,
                                    policy::PoolShape shape) {
  const uint32_t count = config.sm_counts.empty() ? PartitionCount(config, device)
                                                  : static_cast<uint32_t>(config.sm_counts.size());
  if (shape == policy::PoolShape::kFullSize) return std::vector<uint32_t>(count, device.sm_count);
  if (shape == policy::PoolShape::kDisjoint) {
    const uint32_t alignment = std::max(1u, device.sm_alignment);
    const uint32_t part = device.sm_count / count / alignment * alignment;
    return std::vector<uint32_t>(count, Fit(std::max(1u, part), device));
  }
  if (config.sm_counts.empty()) {
    const auto total = static_cast<uint64_t>(
        std::floor(static_cast<double>(device.sm_count) * config.oversubscription));
    return std::vector<uint32_t>(count, Fit((total + count - 1) / count, device));
  }
  std::vector<uint32_t> sizes;
  for (const uint32_t size : config.sm_counts) {
    if (size > device.sm_count) {
      return Status(ErrorCode::kInvalid, "pool.partitions asks for " + std::to_string(size) +
                                             " SMs, the device has " +
                                             std::to_string(device.sm_count));
    }
    sizes.push_back(Fit(size, device));
  }
  return sizes;
}

}  // namespace

Result<std::vector<PartitionSpan>> LayOutPool(const PoolConfig& config, const DeviceShape& device,
                                              policy::PoolShape shape) {
  if (device.sm_count == 0) return Status(ErrorCode::kInvalid, "the device has no SMs");
  if (device.sm_minimum > device.sm_count) {
    return Status(ErrorCode::kInvalid, "the device has " + std::to_string(device.sm_count) +
                                           " SMs, fewer than its least partition of " +
                                           std::to_string(device.sm_minimum));
  }
  Result<std::vector<uint32_t>> sizes = Sizes(config, device, shape);
  if (!sizes.ok()) return sizes.status();

  uint64_t total = 0;
  for (const uint32_t size : *sizes) total += size;
  // Beginnings follow the running sum of sizes, squeezed so that the last interval ends the device.
  const uint64_t last = sizes->back();
  const uint64_t room = device.sm_count - last;
  const uint64_t sum = total - last;
  const uint64_t alignment = std::max(1u, device.sm_alignment);
  std::vector<PartitionSpan> spans;
  uint64_t before = 0;
  for (const uint32_t size : *sizes) {
    uint64_t first = before;
    if (total > device.sm_count && sum != 0) first = before * room / sum / alignment * alignment;
    first = std::min<uint64_t>(first, device.sm_count - size);
    spans.push_back({static_cast<uint32_t>(first), size});
    before += size;
  }
  return spans;
}

}  // namespace sgprs::pool
