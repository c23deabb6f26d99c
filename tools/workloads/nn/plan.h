// SPDX-License-Identifier: Apache-2.0
// A network as a list of launches, before any driver is there: which kernel, what geometry, which
// buffers. Pure data, so that tests can look at it.
#ifndef SGPRS_TOOLS_WORKLOADS_NN_PLAN_H_
#define SGPRS_TOOLS_WORKLOADS_NN_PLAN_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace workloads {

// One kernel argument. Addresses are known only later.
struct PlannedArgument {
  enum class Kind { kBuffer, kWeights, kValue };
  Kind kind;
  uint64_t index = 0;               // kBuffer: which; kWeights: offset in bytes
  std::array<uint8_t, 40> value{};  // kValue
};

struct PlannedLaunch {
  const char* kernel;  // name in the module
  uint32_t grid[2];
  uint32_t block[2];
  std::vector<PlannedArgument> arguments;
};

// Weights are uniform in [low, high), drawn in order.
struct WeightTensor {
  uint64_t offset_bytes;
  uint64_t count;
  float low;
  float high;
};

struct Plan {
  std::string name;
  std::vector<PlannedLaunch> launches;
  std::vector<uint64_t> buffer_bytes;  // activations
  std::vector<WeightTensor> weights;
  uint64_t weight_bytes = 0;
  uint64_t input_buffer = 0;
  uint64_t input_count = 0;  // floats
  uint64_t output_buffer = 0;
  uint64_t output_count = 0;
};

struct InputSize {
  int height;
  int width;
};

// 3 channels in, 1000 classes out; inputs from 32x32.
// ResNet-18 (He et al. 2015, table 1) has 2 blocks in each of its 4 groups: 68 launches. With 3 it
// is the heavier network that the SGPRS paper's code measured: 96 launches.
inline constexpr int kResNet18Blocks = 2;
Plan ResNet18(InputSize input, int blocks_per_group = kResNet18Blocks);
// MobileNet V1 (Howard et al. 2017, table 1): 83 launches.
Plan MobileNetV1(InputSize input);

}  // namespace workloads

#endif  // SGPRS_TOOLS_WORKLOADS_NN_PLAN_H_
