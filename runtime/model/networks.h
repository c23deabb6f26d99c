// SPDX-License-Identifier: Apache-2.0
// The networks that scenarios name, as sequences of kernels with the stage borders that their
// authors chose (facts/papers.md 1.2, 2.2). Static data, made once a device.
#ifndef SGPRS_RUNTIME_MODEL_NETWORKS_H_
#define SGPRS_RUNTIME_MODEL_NETWORKS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/model/kernel_cost.h"

namespace sgprs::model {

struct Network {
  std::string name;
  std::vector<KernelGeometry> kernels;
  std::vector<uint32_t> stage_ends;  // in kernels, exclusive; the last is all of them
};

struct NetworkRow {
  std::string_view name;
  std::string_view help;  // one line
  Network (*make)();
};

// THE list of networks.
const std::vector<NetworkRow>& NetworkTable();
// nullptr: none of that name.
const NetworkRow* FindNetwork(std::string_view name);
// "resnet18, ..." for messages.
std::string NetworkNames();

}  // namespace sgprs::model

#endif  // SGPRS_RUNTIME_MODEL_NETWORKS_H_
