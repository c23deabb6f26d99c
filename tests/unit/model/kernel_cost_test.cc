// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/kernel_cost.h"

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <vector>

#include "runtime/model/networks.h"
#include "runtime/model/sm_set.h"

namespace sgprs::model {
namespace {

const DeviceDescription& Turing() { return *FindDevice("rtx2080ti"); }

TEST(DeviceDescriptionTest, DefaultIsFirstAndTheTableIsSane) {
  ASSERT_NE(FindDevice(kDefaultDevice), nullptr);
  EXPECT_EQ(&AllDevices()[0], FindDevice(kDefaultDevice));
  EXPECT_EQ(FindDevice("rtx9999"), nullptr);
  for (const DeviceDescription& device : AllDevices()) {
    SCOPED_TRACE(std::string(device.name));
    EXPECT_LE(device.sm_count, kMaxSms);
    EXPECT_EQ(device.sm_minimum % device.sm_alignment, 0u);
    EXPECT_LT(device.priority_greatest, device.priority_least);
    // Published bandwidth = transfers per second x bus width; within 5 %.
    EXPECT_NEAR(
        2e-6 * device.memory_clock_khz * device.memory_bus_bits / 8 / device.dram_bytes_per_ns, 1,
        0.05);
  }
}

TEST(KernelCostTest, OccupancyIsTheTightestLimit) {
  KernelGeometry geometry{.blocks = 1000, .threads = 256};
  EXPECT_EQ(ResidentBlocks(Turing(), geometry), 4u);  // 1024 threads
  geometry.shared_bytes = 48 * 1024;
  EXPECT_EQ(ResidentBlocks(Turing(), geometry), 1u);  // of 64 KiB
  geometry.shared_bytes = 0;
  geometry.registers = 128;
  EXPECT_EQ(ResidentBlocks(Turing(), geometry), 2u);  // 65536 / (128 * 256)
  geometry.threads = 32;
  geometry.registers = 0;
  EXPECT_EQ(ResidentBlocks(Turing(), geometry), 16u);  // blocks
  geometry.threads = 1024;
  geometry.registers = 255;
  EXPECT_EQ(ResidentBlocks(Turing(), geometry), 0u);
}

TEST(KernelCostTest, MoreSmsAreNeverSlower) {
  for (uint64_t blocks : {1, 7, 53, 68, 69, 1000, 100000}) {
    for (double flops : {0.0, 1e6, 1e9}) {
      const KernelCost cost(Turing(), {.blocks = blocks, .threads = 256, .flops = flops});
      for (uint32_t sms = 2; sms <= 68; ++sms) {
        EXPECT_LE(cost.TimeNs(sms), cost.TimeNs(sms - 1)) << blocks << " blocks, " << sms << " SMs";
      }
      EXPECT_LE(cost.fill_sms(), std::min<uint64_t>(blocks, 68));
      EXPECT_EQ(cost.TimeNs(68), cost.TimeNs(cost.fill_sms()));
    }
  }
}

TEST(KernelCostTest, WavesStepAndTheGridLimits) {
  // 54 heavy blocks: one round on 54 SMs, two on 53, and no gain beyond 54.
  const KernelCost cost(Turing(), {.blocks = 54, .threads = 256, .flops = 54e7, .dram_bytes = 1});
  const double one = cost.TimeNs(54) - cost.latency_ns();
  EXPECT_NEAR((cost.TimeNs(53) - cost.latency_ns()) / one, 2, 1e-6);
  EXPECT_NEAR((cost.TimeNs(27) - cost.latency_ns()) / one, 2, 1e-6);
  EXPECT_NEAR((cost.TimeNs(26) - cost.latency_ns()) / one, 3, 1e-6);
  EXPECT_EQ(cost.fill_sms(), 54u);
}

TEST(KernelCostTest, MemoryBoundKernelsSaturateTheBandwidth) {
  const double bytes = 616e6;  // a millisecond at the published bandwidth
  const KernelCost cost(Turing(),
                        {.blocks = 100000, .threads = 256, .flops = 1, .dram_bytes = bytes});
  EXPECT_NEAR(cost.TimeNs(68), 1e6 / 0.85 + cost.latency_ns(), 1e3);
  EXPECT_LT(cost.fill_sms(), 34u);
  EXPECT_EQ(cost.dram_bytes(), bytes);
  // What fits the L2 does not reach the DRAM.
  EXPECT_EQ(KernelCost(Turing(), {.blocks = 100, .threads = 256, .flops = 1, .dram_bytes = 1e6})
                .dram_bytes(),
            0);
}

TEST(KernelCostTest, UnknownWorkIsGuessedFromTheGeometry) {
  const KernelCost small(Turing(), {.blocks = 1000, .threads = 256});
  const KernelCost large(Turing(), {.blocks = 4000, .threads = 256});
  const double ratio =
      (large.TimeNs(68) - large.latency_ns()) / (small.TimeNs(68) - small.latency_ns());
  EXPECT_NEAR(ratio, 4, 0.5);
}

TEST(CostTableTest, SameGeometrySameCost) {
  CostTable table(Turing());
  const KernelGeometry geometry{.blocks = 10, .threads = 32, .flops = 1e6};
  const auto cost = table.Get(geometry);
  EXPECT_EQ(table.Get(geometry), cost);
  EXPECT_NE(table.Get({.blocks = 11, .threads = 32, .flops = 1e6}), cost);
  for (uint64_t i = 0; i < 20'000; ++i) table.Get({.blocks = i + 1, .threads = 32});  // bounded
  EXPECT_GT(cost->TimeNs(1), 0);
}

// A composed cost is what its parts are one after the other, wherever all of them may use the same
// number of SMs; its SMs are a mean, so others get what the small parts leave.
TEST(KernelCostTest, ComposedIsTheSequence) {
  const DeviceDescription& device = *FindDevice("rtx2080ti");
  std::vector<std::shared_ptr<const KernelCost>> parts;
  for (const KernelGeometry& kernel : FindNetwork("resnet18")->make().kernels) {
    parts.push_back(std::make_shared<const KernelCost>(device, kernel));
  }
  const KernelCost whole{std::span<const std::shared_ptr<const KernelCost>>(parts)};
  for (uint32_t sms = 1; sms <= 68; ++sms) {
    double sum = 0;
    double sm_ns = 0;
    for (const auto& part : parts) {
      sum += part->TimeNs(sms);
      sm_ns += part->DemandUnder(sms) / part->Rate(part->DemandUnder(sms));
    }
    EXPECT_NEAR(whole.TimeNs(sms) / sum, 1, 1e-6) << sms;
    const double mean = sm_ns / (sum - whole.latency_ns());
    EXPECT_NEAR(whole.DemandUnder(sms) / mean, 1, 0.1) << sms;
    EXPECT_LE(whole.DemandUnder(sms), sms + 1e-9);
  }
  EXPECT_GT(whole.Rate(10), whole.Rate(5));
}

TEST(KernelCostTest, LeastSmTimeIsALowerBound) {
  const DeviceDescription& device = *FindDevice("rtx2080ti");
  const KernelCost cost(device, {.blocks = 98, .threads = 256, .flops = 1e9, .dram_bytes = 1e6});
  for (double sms = 0.25; sms <= 68; sms += 0.25) {
    EXPECT_GE(std::min(sms, cost.fill_sms()) / cost.Rate(sms), cost.LeastSmNs(68) * (1 - 1e-9));
  }
}

}  // namespace
}  // namespace sgprs::model
