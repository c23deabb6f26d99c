// SPDX-License-Identifier: Apache-2.0
// The offline phase of the paper in the model (facts/papers.md 1.3): every stage of a network in
// every partition size, while dummies of the same network loop in the other partitions; 10 repeats
// to warm up, the mean of 25. Pure.
#ifndef SGPRS_RUNTIME_MODEL_PROFILE_H_
#define SGPRS_RUNTIME_MODEL_PROFILE_H_

#include <cstdint>
#include <span>

#include "runtime/model/device_description.h"
#include "runtime/model/job_work.h"
#include "runtime/sched/scheduler.h"

namespace sgprs::model {

// Networks that run at once while a profile is measured, of a pool of so many slots: the subject
// and its dummies. Their times bound what a frame needs of the pool: time / this many.
uint32_t ProfiledAtOnce(uint32_t slots);

// `sm_counts`: of the pool's partitions; `capacity`: stages at once in each. Dummies: partitions x
// capacity - 1, at most 4, round robin over the other partitions.
sched::TaskProfile ProfileNetwork(const DeviceDescription& device, NetworkCosts* costs,
                                  std::span<const uint32_t> sm_counts, uint32_t capacity);

}  // namespace sgprs::model

#endif  // SGPRS_RUNTIME_MODEL_PROFILE_H_
