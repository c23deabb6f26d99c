// SPDX-License-Identifier: Apache-2.0
// Who gets how many SMs. More urgent streams first get what they ask; equal ones share evenly
// (max-min fair over the atoms that they may use). Work-conserving.
#ifndef SGPRS_RUNTIME_MODEL_SM_SHARING_H_
#define SGPRS_RUNTIME_MODEL_SM_SHARING_H_

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/model/sm_atoms.h"

namespace sgprs::model {

struct SmDemand {
  int priority = 0;    // lower is more urgent
  uint32_t set = 0;    // SmAtoms index
  uint32_t group = 0;  // index into the group limits: kernels that share one cap
  double sms = 0;      // most it can use
};

// Reuses its buffers: no allocation once warm. Not thread-safe.
class SmSharing {
 public:
  // Writes one number of SMs per demand. `group_limits`: SMs that each group may use together.
  void Share(const SmAtoms& atoms, std::span<const SmDemand> demands,
             std::span<const double> group_limits, std::vector<double>* given);

 private:
  void ShareLevel(const SmAtoms& atoms, std::span<const SmDemand> demands,
                  std::vector<double>* given);
  // One round of water-filling over active_; false = nothing moved.
  bool Round(const SmAtoms& atoms, std::span<const SmDemand> demands, std::vector<double>* given);

  std::vector<uint32_t> order_;   // demands by urgency
  std::vector<uint32_t> active_;  // of the level: not yet satisfied
  std::vector<double> free_;      // per atom
  std::vector<double> taken_;     // per atom, this round
  std::vector<double> share_;     // per atom, offered to each active demand
  std::vector<double> group_free_;
  std::vector<double> group_taken_;
  std::vector<uint32_t> group_active_;
};

// Max-min fair shares of `capacity` among `wishes`, in place.
void ShareEvenly(double capacity, std::vector<double>* wishes);

}  // namespace sgprs::model

#endif  // SGPRS_RUNTIME_MODEL_SM_SHARING_H_
