// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/networks.h"

#include "runtime/model/kernel_shapes.h"

namespace sgprs::model {
namespace {

void BasicBlock(double in, double out, double size, bool downsample, Kernels* kernels) {
  const double elements = out * size * size;
  const KernelGeometry pass = Elementwise(elements, 2 * kFloatBytes * elements);
  for (double channels : {in, out}) {
    Convolution(channels, out, size, 3, kernels);
    kernels->push_back(pass);  // batch normalisation
    kernels->push_back(pass);  // ReLU
  }
  if (downsample) {
    Convolution(in, out, size, 1, kernels);
    kernels->push_back(pass);
  }
  kernels->push_back(Elementwise(elements, 3 * kFloatBytes * elements));  // addition
}

// 1x3x224x224. Stages: stem, four residual groups, head (facts/papers.md 1.2).
Network ResNet18(std::string name, int blocks_per_group) {
  Network network;
  network.name = std::move(name);
  Kernels& kernels = network.kernels;
  const auto end_stage = [&network] {
    network.stage_ends.push_back(static_cast<uint32_t>(network.kernels.size()));
  };
  const double stem = 64 * 112 * 112;
  Convolution(3, 64, 112, 7, &kernels);
  kernels.push_back(Elementwise(stem, 2 * kFloatBytes * stem));
  kernels.push_back(Elementwise(stem, 2 * kFloatBytes * stem));
  kernels.push_back(Elementwise(stem / 4, kFloatBytes * stem * 7 / 4));
  end_stage();
  double in = 64;
  double size = 56;
  for (double out : {64.0, 128.0, 256.0, 512.0}) {
    for (int block = 0; block < blocks_per_group; ++block) {
      BasicBlock(in, out, size, in != out, &kernels);
      in = out;
    }
    size /= 2;
    end_stage();
  }
  kernels.push_back(Elementwise(512 * 49, kFloatBytes * 512 * 50));
  kernels.push_back(FullyConnected(512, 1000));
  end_stage();
  return network;
}

}  // namespace

const std::vector<NetworkRow>& NetworkTable() {
  static const std::vector<NetworkRow> rows = {
      {"resnet18-upstream", "ResNet18 as the paper's code builds it: 12 blocks, 1x3x224x224",
       [] { return ResNet18("resnet18-upstream", 3); }},
      {"resnet18", "the right ResNet18: 8 blocks, 1x3x224x224",
       [] { return ResNet18("resnet18", 2); }},
  };
  return rows;
}

const NetworkRow* FindNetwork(std::string_view name) {
  for (const NetworkRow& row : NetworkTable()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

std::string NetworkNames() {
  std::string names;
  for (const NetworkRow& row : NetworkTable()) {
    if (!names.empty()) names += ", ";
    names += row.name;
  }
  return names;
}

}  // namespace sgprs::model
