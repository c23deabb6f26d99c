// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/fluid_bound.h"

#include "runtime/base/clock.h"

namespace sgprs::model {

FluidDemand& FluidDemand::operator+=(const FluidDemand& other) {
  dispatch_ns += other.dispatch_ns;
  sm_ns += other.sm_ns;
  dram_bytes += other.dram_bytes;
  return *this;
}

FluidDemand operator*(double times, const FluidDemand& demand) {
  return {times * demand.dispatch_ns, times * demand.sm_ns, times * demand.dram_bytes};
}

FluidDemand DemandOf(const DeviceDescription& device,
                     std::span<const std::shared_ptr<const KernelCost>> kernels, uint32_t largest) {
  FluidDemand demand;
  for (const auto& kernel : kernels) {
    demand += {kernel->latency_ns() * device.cost.dispatch_part, kernel->LeastSmNs(largest),
               kernel->dram_bytes()};
  }
  return demand;
}

double PartOf(const DeviceDescription& device, const FluidDemand& per_second,
              std::string_view resource) {
  const double second = static_cast<double>(kNsPerSecond);
  if (resource == "dispatch") return per_second.dispatch_ns / second;
  if (resource == "SMs") return per_second.sm_ns / second / device.sm_count;
  if (resource != "DRAM") return 0;
  return per_second.dram_bytes / second / (device.dram_bytes_per_ns * device.cost.dram_efficiency);
}

FluidBound BoundOf(const DeviceDescription& device, const FluidDemand& per_second) {
  FluidBound bound;
  for (const std::string_view resource : {"dispatch", "SMs", "DRAM"}) {
    const double part = PartOf(device, per_second, resource);
    if (part > bound.part_of_resource) bound = {1 / part, resource, part};
  }
  return bound;
}

}  // namespace sgprs::model
