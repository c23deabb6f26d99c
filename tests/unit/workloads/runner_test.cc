// SPDX-License-Identifier: Apache-2.0
// The whole networks, computed on a fake driver.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "tests/unit/workloads/fake_driver.h"
#include "tools/workloads/nn/generator.h"
#include "tools/workloads/nn/network_runner.h"

namespace workloads {
namespace {

uint64_t ChecksumOf(const Plan& plan, uint64_t seed, std::vector<uint64_t> frames) {
  const CudaApi api = FakeDriver();
  NetworkRunner runner(api, plan, seed, nullptr);
  uint64_t checksum = kChecksumStart;
  for (const uint64_t frame : frames) {
    runner.RunFrame(frame);
    checksum = Checksum(checksum, runner.output());
  }
  return checksum;
}

TEST(Runner, OutputIsAFunctionOfNetworkSeedAndFrame) {
  const Plan plan = ResNet18({32, 32});
  const uint64_t once = ChecksumOf(plan, 1, {0, 1});
  EXPECT_EQ(once, ChecksumOf(plan, 1, {0, 1}));
  EXPECT_NE(once, ChecksumOf(plan, 2, {0, 1}));
  EXPECT_NE(once, ChecksumOf(plan, 1, {1, 0}));
  EXPECT_NE(once, ChecksumOf(MobileNetV1({32, 32}), 1, {0, 1}));
  // What came before does not matter.
  EXPECT_EQ(ChecksumOf(plan, 1, {5}), ChecksumOf(ResNet18({32, 32}), 1, {5}));
}

// The same bits on every machine, compiler and optimisation: no contraction, no reordering.
TEST(Runner, GoldenChecksums) {
  EXPECT_EQ(ChecksumOf(ResNet18({32, 32}), 1, {0, 1, 2}), 0xcd80a85865b2cb76ull);
  EXPECT_EQ(ChecksumOf(MobileNetV1({32, 32}), 1, {0, 1, 2}), 0xa31d953757520696ull);
}

TEST(Runner, OutputsAreNumbersOfReasonableSize) {
  for (const Plan& plan : {ResNet18({32, 32}), MobileNetV1({32, 32})}) {
    const CudaApi api = FakeDriver();
    NetworkRunner runner(api, plan, 1, nullptr);
    runner.RunFrame(0);
    std::set<float> different;
    for (const float value : runner.output()) {
      EXPECT_TRUE(std::isfinite(value));
      EXPECT_LT(std::fabs(value), 1e6f);
      different.insert(value);
    }
    EXPECT_GT(different.size(), 900u) << plan.name;
  }
}

TEST(Runner, CountsItsLaunchesAndFreesItsMemory) {
  FakeCounts() = {};
  const Plan plan = MobileNetV1({32, 32});
  const CudaApi api = FakeDriver();
  {
    NetworkRunner runner(api, plan, 1, nullptr);
    runner.RunFrame(0);
    runner.RunFrame(1);
    EXPECT_EQ(runner.launches(), 2 * plan.launches.size());
    EXPECT_EQ(FakeCounts().launches, runner.launches());
    EXPECT_GT(FakeCounts().live_allocations, 0u);
  }
  EXPECT_EQ(FakeCounts().live_allocations, 0u);
}

}  // namespace
}  // namespace workloads
