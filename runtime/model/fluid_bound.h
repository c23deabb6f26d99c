// SPDX-License-Identifier: Apache-2.0
// How many frames of a mix of tasks the model's device can complete under any schedule whatever.
// Statement and proof: README.md, "The bound". Pure.
#ifndef SGPRS_RUNTIME_MODEL_FLUID_BOUND_H_
#define SGPRS_RUNTIME_MODEL_FLUID_BOUND_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "runtime/model/device_description.h"
#include "runtime/model/kernel_cost.h"

namespace sgprs::model {

// What frames need at least of each resource that all partitions share.
struct FluidDemand {
  double dispatch_ns = 0;
  double sm_ns = 0;
  double dram_bytes = 0;

  FluidDemand& operator+=(const FluidDemand& other);
};
FluidDemand operator*(double times, const FluidDemand& demand);

// Of one frame. `largest`: SMs of the largest partition.
FluidDemand DemandOf(const DeviceDescription& device,
                     std::span<const std::shared_ptr<const KernelCost>> kernels, uint32_t largest);

struct FluidBound {
  double scale = 0;             // the demand per second can grow by this factor, not by more
  std::string_view resource;    // that sets it: "dispatch", "SMs", "DRAM"
  double part_of_resource = 0;  // that the demand takes, = 1 / scale
};
// `per_second`: the demand of a second. `scale` = 0 if there is none.
FluidBound BoundOf(const DeviceDescription& device, const FluidDemand& per_second);
// The part of `resource` that a demand per second takes; 0 if there is no such resource.
double PartOf(const DeviceDescription& device, const FluidDemand& per_second,
              std::string_view resource);

}  // namespace sgprs::model

#endif  // SGPRS_RUNTIME_MODEL_FLUID_BOUND_H_
