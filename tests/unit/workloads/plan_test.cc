// SPDX-License-Identifier: Apache-2.0
// The plans against the published networks, against the PTX and against the kernel library.
#include "tools/workloads/nn/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tools/simgpu/image/image.h"
#include "tools/workloads/kernels/host_bodies.h"
#include "tools/workloads/kernels/ptx.h"

namespace workloads {
namespace {

const SimgpuKernel* Kernel(const std::string& name) {
  for (const SimgpuKernel& kernel : NetworkKernels()) {
    if (name == kernel.name) return &kernel;
  }
  return nullptr;
}

SimgpuWork WorkOf(const PlannedLaunch& planned) {
  std::vector<const void*> params;
  for (const PlannedArgument& argument : planned.arguments) params.push_back(argument.value.data());
  const SimgpuLaunch launch{{planned.grid[0], planned.grid[1], 1},
                            {planned.block[0], planned.block[1], 1},
                            0,
                            static_cast<uint32_t>(params.size()),
                            params.data()};
  SimgpuWork work{};
  Kernel(planned.kernel)->work(&launch, &work);
  return work;
}

SimgpuWork WorkOf(const Plan& plan) {
  SimgpuWork sum{};
  for (const PlannedLaunch& launch : plan.launches) {
    const SimgpuWork work = WorkOf(launch);
    EXPECT_GT(work.flops, 0) << launch.kernel;
    EXPECT_GT(work.dram_bytes, 0) << launch.kernel;
    sum.flops += work.flops;
    sum.dram_bytes += work.dram_bytes;
  }
  return sum;
}

uint64_t Parameters(const Plan& plan) {
  uint64_t count = 0;
  for (const WeightTensor& tensor : plan.weights) count += tensor.count;
  return count;
}

std::map<std::string, int> Census(const Plan& plan) {
  std::map<std::string, int> census;
  for (const PlannedLaunch& launch : plan.launches) ++census[launch.kernel];
  return census;
}

// torchvision's resnet18: 11 689 512 parameters, 1.81 G multiply-adds.
TEST(Plan, ResNet18IsTheRealOne) {
  const Plan plan = ResNet18({224, 224});
  EXPECT_EQ(Parameters(plan), 11689512u);
  EXPECT_NEAR(WorkOf(plan).flops / 2, 1.814e9, 0.02e9);
  const std::map<std::string, int> expected = {
      {"wl_conv2d", 20},  {"wl_batch_norm", 20},  {"wl_relu", 17}, {"wl_add", 8},
      {"wl_max_pool", 1}, {"wl_average_pool", 1}, {"wl_linear", 1}};
  EXPECT_EQ(Census(plan), expected);
  EXPECT_EQ(plan.output_count, 1000u);
}

TEST(Plan, ThePapersNetworkHasTwelveBlocks) {
  std::map<std::string, int> census = Census(ResNet18({224, 224}, 3));
  EXPECT_EQ(census["wl_add"], 12);
  EXPECT_EQ(census["wl_conv2d"], 28);
}

// Howard et al. 2017, table 4: 4.2 M parameters, 569 M multiply-adds.
TEST(Plan, MobileNetIsTheRealOne) {
  const Plan plan = MobileNetV1({224, 224});
  EXPECT_EQ(Parameters(plan), 4231976u);
  EXPECT_NEAR(WorkOf(plan).flops / 2, 0.569e9, 0.02e9);
  EXPECT_EQ(Census(plan)["wl_depthwise"], 13);
  EXPECT_EQ(plan.launches.size(), 83u);
}

TEST(Plan, GeometryFollowsTheShape) {
  const Plan large = ResNet18({224, 224});
  EXPECT_EQ(large.launches[0].grid[0], 112u * 112 / 32);
  EXPECT_EQ(large.launches[0].grid[1], 2u);
  const Plan small = ResNet18({32, 32});
  EXPECT_EQ(small.launches[0].grid[0], 16u * 16 / 32);
  EXPECT_EQ(small.launches.size(), large.launches.size());
}

// Every argument has the size that the PTX says, every kernel is in the PTX and in the library.
TEST(Plan, AgreesWithThePtx) {
  sgprs::Result<sgprs::simgpu::Image> image = sgprs::simgpu::ReadImage(workload_network_ptx, 0, 75);
  ASSERT_TRUE(image.ok()) << image.status().text();
  std::map<std::string, sgprs::simgpu::ImageKernel> kernels;
  for (const auto& kernel : image->kernels) {
    kernels[kernel.name] = kernel;
    EXPECT_NE(Kernel(kernel.name), nullptr) << kernel.name;
  }
  EXPECT_EQ(kernels.size(), NetworkKernels().size());
  for (const Plan& plan : {ResNet18({32, 32}), MobileNetV1({224, 224})}) {
    for (const PlannedLaunch& launch : plan.launches) {
      ASSERT_TRUE(kernels.contains(launch.kernel)) << launch.kernel;
      const auto& kernel = kernels[launch.kernel];
      ASSERT_EQ(kernel.params.size(), launch.arguments.size()) << launch.kernel;
      EXPECT_LE(launch.block[0] * launch.block[1], kernel.max_threads) << launch.kernel;
      for (size_t i = 0; i < launch.arguments.size(); ++i) {
        const bool address = launch.arguments[i].kind != PlannedArgument::Kind::kValue;
        EXPECT_EQ(address, kernel.params[i].size_bytes == 8) << launch.kernel << " " << i;
      }
    }
  }
}

TEST(Probes, AreInTheLibrary) {
  sgprs::Result<sgprs::simgpu::Image> image = sgprs::simgpu::ReadImage(workload_probe_ptx, 0, 75);
  ASSERT_TRUE(image.ok()) << image.status().text();
  EXPECT_EQ(image->kernels.size(), ProbeKernels().size());
  for (const auto& kernel : image->kernels) {
    bool found = false;
    for (const SimgpuKernel& entry : ProbeKernels()) found = found || kernel.name == entry.name;
    EXPECT_TRUE(found) << kernel.name;
    if (kernel.name == "wl_eight") {
      EXPECT_EQ(kernel.params.size(), 8u);
    }
  }
}

}  // namespace
}  // namespace workloads
