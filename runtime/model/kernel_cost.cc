// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/kernel_cost.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace sgprs::model {
namespace {

constexpr double kTinyStep = 1e-7;
constexpr uint32_t kRegisterUnit = 8;  // registers of a thread are handed out in eights

struct Work {
  double flops;
  double bytes;
};

Work WorkOf(const DeviceDescription& device, const KernelGeometry& geometry) {
  if (geometry.flops > 0 || geometry.dram_bytes > 0) return {geometry.flops, geometry.dram_bytes};
  const double threads = static_cast<double>(geometry.blocks) * geometry.threads;
  return {threads * device.cost.guess_flops_per_thread,
          threads * device.cost.guess_bytes_per_thread};
}

// Time of the busiest SM when blocks are dealt evenly over `sms` SMs. `k` blocks that run together
// on an SM take k * block_ns, or as long as one block alone at a rate below saturation.
class ComputeCurve {
 public:
  ComputeCurve(const DeviceDescription& device, const KernelGeometry& geometry, double flops,
               uint32_t resident)
      : blocks_(static_cast<double>(geometry.blocks)), resident_(std::max(1u, resident)) {
    const double peak_flops_per_ns =
        2.0 * device.fp32_lanes_per_sm * device.clock_khz * 1e-6 * device.cost.compute_efficiency;
    block_ns_ = flops / blocks_ / peak_flops_per_ns + device.cost.block_ns;
    blocks_to_saturate_ = std::max(1.0, device.cost.saturating_threads / geometry.threads);
  }
  double TimeNs(uint32_t sms) const {
    const double on_busiest = std::ceil(blocks_ / sms);
    const double rounds = std::floor(on_busiest / resident_);
    return rounds * RoundNs(resident_) + RoundNs(on_busiest - rounds * resident_);
  }

 private:
  double RoundNs(double blocks) const {
    return blocks > 0 ? block_ns_ * std::max(blocks, blocks_to_saturate_) : 0;
  }

  double blocks_;
  double resident_;
  double block_ns_ = 0;
  double blocks_to_saturate_ = 1;
};

}  // namespace

uint32_t ResidentBlocks(const DeviceDescription& device, const KernelGeometry& geometry) {
  const uint32_t threads = std::max(1u, geometry.threads);
  uint32_t blocks = std::min(device.blocks_per_sm, device.threads_per_sm / threads);
  if (geometry.shared_bytes > 0) {
    blocks = std::min(blocks, device.shared_bytes_per_sm / geometry.shared_bytes);
  }
  if (geometry.registers > 0) {
    const uint32_t rounded =
        (geometry.registers + kRegisterUnit - 1) / kRegisterUnit * kRegisterUnit;
    blocks = std::min(blocks, device.registers_per_sm / (rounded * ((threads + 31) / 32 * 32)));
  }
  return blocks;
}

KernelCost::KernelCost(const DeviceDescription& device, const KernelGeometry& geometry)
    : latency_ns_(device.cost.latency_ns), resident_blocks_(ResidentBlocks(device, geometry)) {
  const Work work = WorkOf(device, geometry);
  const ComputeCurve compute(device, geometry, work.flops, resident_blocks_);
  const double dram = device.dram_bytes_per_ns * device.cost.dram_efficiency;
  const bool fits_l2 = work.bytes <= device.l2_bytes;
  const double bandwidth = fits_l2 ? dram * device.cost.l2_bandwidth_ratio : dram;
  dram_bytes_ = fits_l2 ? 0 : work.bytes;

  const uint32_t most = static_cast<uint32_t>(std::min<uint64_t>(device.sm_count, geometry.blocks));
  rate_.assign(most + 1, 0);
  for (uint32_t sms = 1; sms <= most; ++sms) {
    const double memory_ns = work.bytes / std::min(bandwidth, sms * device.cost.sm_bytes_per_ns);
    rate_[sms] = 1 / std::max(1.0, std::max(compute.TimeNs(sms), memory_ns));
  }
  uint32_t fill = most;
  while (fill > 1 && rate_[fill - 1] >= rate_[most] * (1 - 1e-9)) --fill;
  rate_.resize(fill + 1);
  fill_sms_ = fill;
  demand_.resize(fill);
  std::iota(demand_.begin(), demand_.end(), 0.0);
}

KernelCost::KernelCost(std::span<const std::shared_ptr<const KernelCost>> parts) {
  resident_blocks_ = UINT32_MAX;
  double most = 1;
  for (const auto& part : parts) {
    latency_ns_ += part->latency_ns_;
    dram_bytes_ += part->dram_bytes_;
    resident_blocks_ = std::min(resident_blocks_, part->resident_blocks_);
    most = std::max(most, part->fill_sms_);
  }
  // Rate and mean use of the sequence where each kernel may use up to `limit` SMs.
  rate_.push_back(0);
  demand_.push_back(0);
  for (double limit = 1; limit <= most; ++limit) {
    double sum_ns = 0;
    double sm_ns = 0;
    for (const auto& part : parts) {
      const double sms = std::min(limit, part->fill_sms_);
      sum_ns += 1 / part->Rate(sms);
      sm_ns += sms / part->Rate(sms);
    }
    rate_.push_back(1 / sum_ns);
    demand_.push_back(sm_ns / sum_ns);
  }
  // A limit between two steps of the waves holds SMs that do not help: not counted, so that more
  // use is never slower. Strictly rising, so that a limit has its own rate.
  for (size_t i = demand_.size() - 1; i > 0; --i) {
    demand_[i - 1] = std::min(demand_[i - 1], demand_[i] * (1 - kTinyStep));
  }
  fill_sms_ = demand_.back();
  composed_ = true;
}

KernelCost::KernelCost(uint32_t sms, double (*time_ns)(uint32_t))
    : resident_blocks_(1), fill_sms_(sms), rate_(sms + 1), demand_(sms) {
  for (uint32_t s = 1; s <= sms; ++s) rate_[s] = 1 / time_ns(s);
  std::iota(demand_.begin(), demand_.end(), 0.0);
}

double KernelCost::Rate(double sms) const {
  if (sms >= fill_sms_) return rate_.back();
  if (!composed_) {
    const auto below = static_cast<size_t>(sms);
    return rate_[below] + (sms - static_cast<double>(below)) * (rate_[below + 1] - rate_[below]);
  }
  const auto above =
      static_cast<size_t>(std::upper_bound(demand_.begin(), demand_.end(), sms) - demand_.begin());
  const double part = (sms - demand_[above - 1]) / (demand_[above] - demand_[above - 1]);
  return rate_[above - 1] + part * (rate_[above] - rate_[above - 1]);
}

// Between two points of the table SMs / rate is monotonic, so the least is at a point.
double KernelCost::LeastSmNs(uint32_t limit) const {
  double least = DemandUnder(1) / Rate(DemandUnder(1));
  for (uint32_t i = 2; i <= limit; ++i) {
    const double sms = DemandUnder(i);
    least = std::min(least, sms / Rate(sms));
    if (sms >= fill_sms_) break;
  }
  return least;
}

size_t CostTable::Hash::operator()(const KernelGeometry& geometry) const {
  uint64_t hash = 0xcbf29ce484222325;
  for (uint64_t word :
       {geometry.blocks, uint64_t{geometry.threads}, uint64_t{geometry.shared_bytes},
        uint64_t{geometry.registers}, std::bit_cast<uint64_t>(geometry.flops),
        std::bit_cast<uint64_t>(geometry.dram_bytes)}) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  }
  return hash;
}

std::shared_ptr<const KernelCost> CostTable::Get(const KernelGeometry& geometry) {
  auto found = costs_.find(geometry);
  if (found != costs_.end()) return found->second;
  if (costs_.size() >= kMaxEntries) costs_.clear();  // costs in use live on in their kernels
  auto cost = std::make_shared<const KernelCost>(device_, geometry);
  costs_.emplace(geometry, cost);
  return cost;
}

}  // namespace sgprs::model
