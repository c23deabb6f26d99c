// SPDX-License-Identifier: Apache-2.0
// What one launch costs: a roofline with wave quantisation, T(s) ~ latency + work / min(s, fill).
// Formula and fit: README.md.
#ifndef SGPRS_RUNTIME_MODEL_KERNEL_COST_H_
#define SGPRS_RUNTIME_MODEL_KERNEL_COST_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/model/device_description.h"

namespace sgprs::model {

struct KernelGeometry {
  uint64_t blocks = 1;
  uint32_t threads = 1;  // per block
  uint32_t shared_bytes = 0;
  uint32_t registers = 0;  // per thread, 0 = unknown
  double flops = 0;        // of the whole launch; flops and dram_bytes 0 = unknown: guessed
  double dram_bytes = 0;
  friend bool operator==(const KernelGeometry&, const KernelGeometry&) = default;
};

// Immutable once made.
class KernelCost {
 public:
  KernelCost(const DeviceDescription& device, const KernelGeometry& geometry);
  // Kernels one after the other as one: all latencies first, then all the work, at the rate of the
  // sequence when every kernel may use the same limit. Its SMs are the mean over that time
  // (README.md, "Detail"). `parts` is not empty.
  explicit KernelCost(std::span<const std::shared_ptr<const KernelCost>> parts);
  // A measured curve: no latency, `time_ns(s)` of work on s = 1 .. `sms` SMs, not increasing.
  KernelCost(uint32_t sms, double (*time_ns)(uint32_t));

  double latency_ns() const { return latency_ns_; }
  // Most SMs that make the launch faster.
  double fill_sms() const { return fill_sms_; }
  // SMs that it asks for where it may use `limit`.
  double DemandUnder(uint32_t limit) const {
    return limit < demand_.size() ? demand_[limit] : fill_sms_;
  }
  // Blocks that fit one SM at once; 0 = the launch can not run.
  uint32_t resident_blocks() const { return resident_blocks_; }
  // Traffic that the DRAM sees (0 if all of it fits the L2).
  double dram_bytes() const { return dram_bytes_; }
  // Fraction of the work done per ns on `sms` SMs, alone on the device. `sms` may be a fraction.
  double Rate(double sms) const;
  // Least SM time of the work on any number of SMs up to `limit`.
  double LeastSmNs(uint32_t limit) const;
  // Isolated time on `sms` SMs, latency included.
  double TimeNs(uint32_t sms) const { return latency_ns_ + 1 / Rate(DemandUnder(sms)); }

 private:
  double latency_ns_ = 0;
  double dram_bytes_ = 0;
  uint32_t resident_blocks_ = 0;
  double fill_sms_ = 1;
  bool composed_ = false;
  std::vector<double> rate_;    // [s], s = 0 .. fill_sms_; if composed, at demand_[limit]
  std::vector<double> demand_;  // [limit], up to where it is the fill
};

// Blocks of this shape that one SM holds at once; 0 = none fits.
uint32_t ResidentBlocks(const DeviceDescription& device, const KernelGeometry& geometry);

// Makes costs and remembers them: launches of one network repeat. Not thread-safe.
class CostTable {
 public:
  explicit CostTable(const DeviceDescription& device) : device_(device) {}
  std::shared_ptr<const KernelCost> Get(const KernelGeometry& geometry);

 private:
  struct Hash {
    size_t operator()(const KernelGeometry& geometry) const;
  };
  static constexpr size_t kMaxEntries = 8192;

  const DeviceDescription& device_;
  std::unordered_map<KernelGeometry, std::shared_ptr<const KernelCost>, Hash> costs_;
};

}  // namespace sgprs::model

#endif  // SGPRS_RUNTIME_MODEL_KERNEL_COST_H_
