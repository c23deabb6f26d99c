// SPDX-License-Identifier: Apache-2.0
#include "runtime/pool/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace sgprs::pool {

inline bool operator==(const PartitionSpan& a, const PartitionSpan& b) {
  return a.first_sm == b.first_sm && a.sm_count == b.sm_count;
}
inline void PrintTo(const PartitionSpan& span, std::ostream* out) {
  *out << span.first_sm << "+" << span.sm_count;
}

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr DeviceShape kTuring = {68, 2, 2};
constexpr DeviceShape kHopper = {132, 8, 8};

PoolConfig Equal(uint32_t partitions, double oversubscription) {
  PoolConfig config;
  config.partitions = partitions;
  config.oversubscription = oversubscription;
  return config;
}

std::vector<PartitionSpan> LayOut(const PoolConfig& config, const DeviceShape& device,
                                  policy::PoolShape shape = policy::PoolShape::kConfigured) {
  Result<std::vector<PartitionSpan>> spans = LayOutPool(config, device, shape);
  EXPECT_TRUE(spans.ok()) << spans.status().text();
  return spans.ok() ? *spans : std::vector<PartitionSpan>();
}

// The table of papers.md 1.4.
TEST(LayoutTest, SizesOfThePaper) {
  const struct {
    uint32_t partitions;
    double oversubscription;
    uint32_t size;
  } rows[] = {{2, 1.0, 34}, {2, 1.5, 52}, {2, 2.0, 68}, {3, 1.0, 24}, {3, 1.5, 34}, {3, 2.0, 46}};
  for (const auto& row : rows) {
    for (const PartitionSpan& span : LayOut(Equal(row.partitions, row.oversubscription), kTuring)) {
      EXPECT_EQ(span.sm_count, row.size) << row.partitions << " x " << row.oversubscription;
    }
  }
}

TEST(LayoutTest, IntervalsSpreadOverTheDevice) {
  EXPECT_THAT(LayOut(Equal(3, 1.5), kTuring),
              ElementsAre(PartitionSpan{0, 34}, PartitionSpan{16, 34}, PartitionSpan{34, 34}));
  EXPECT_THAT(LayOut(Equal(2, 1.0), kTuring),
              ElementsAre(PartitionSpan{0, 34}, PartitionSpan{34, 34}));
  EXPECT_THAT(LayOut(Equal(2, 2.0), kTuring),
              ElementsAre(PartitionSpan{0, 68}, PartitionSpan{0, 68}));
}

TEST(LayoutTest, FollowsTheDevicesGrain) {
  EXPECT_THAT(LayOut(Equal(3, 1.0), kHopper),
              ElementsAre(PartitionSpan{0, 48}, PartitionSpan{40, 48}, PartitionSpan{80, 48}));
  for (uint32_t partitions = 1; partitions <= SGPRS_MAX_PARTITIONS; ++partitions) {
    for (const double os : {0.1, 0.7, 1.0, 1.5, 7.0}) {
      for (const DeviceShape& device : {kTuring, kHopper, DeviceShape{108, 4, 2}}) {
        for (const PartitionSpan& span : LayOut(Equal(partitions, os), device)) {
          EXPECT_LE(span.first_sm + span.sm_count, device.sm_count);
          EXPECT_GE(span.sm_count, device.sm_minimum);
          EXPECT_TRUE(span.sm_count % device.sm_alignment == 0 || span.sm_count == device.sm_count);
        }
      }
    }
  }
}

// On a device of any size a partition has what was asked for, to the grain.
TEST(LayoutTest, B24SizesAsAskedFrom20To192Sms) {
  for (uint32_t sms = 20; sms <= 192; ++sms) {
    for (const uint32_t grain : {2u, 8u}) {
      for (uint32_t partitions = 1; partitions <= 8; ++partitions) {
        for (const double os : {1.0, 1.5, 2.0}) {
          const double asked = std::min<double>(sms, sms * os / partitions);
          for (const PartitionSpan& span : LayOut(Equal(partitions, os), {sms, grain, grain})) {
            EXPECT_NEAR(span.sm_count, std::max<double>(asked, grain), grain)
                << sms << " SMs in grains of " << grain << ", " << partitions << " x " << os;
          }
        }
      }
    }
  }
}

TEST(LayoutTest, FullSizeForPoliciesThatWantIt) {
  EXPECT_THAT(LayOut(Equal(2, 1.0), kHopper, policy::PoolShape::kFullSize),
              ElementsAre(PartitionSpan{0, 132}, PartitionSpan{0, 132}));
}

TEST(LayoutTest, ListedSizes) {
  PoolConfig config;
  config.sm_counts = {10, 20, 30};
  EXPECT_THAT(LayOut(config, kTuring),
              ElementsAre(PartitionSpan{0, 10}, PartitionSpan{10, 20}, PartitionSpan{30, 30}));
  config.sm_counts = {23, 34, 68};
  EXPECT_THAT(LayOut(config, kTuring),
              ElementsAre(PartitionSpan{0, 24}, PartitionSpan{0, 34}, PartitionSpan{0, 68}));
  config.sm_counts = {10, 80};
  EXPECT_THAT(LayOutPool(config, kTuring, policy::PoolShape::kConfigured).status().text(),
              HasSubstr("80 SMs"));
}

TEST(LayoutTest, AutoSuitsSmallDevices) {
  EXPECT_EQ(LayOut(PoolConfig(), kTuring).size(), 3u);
  EXPECT_EQ(LayOut(PoolConfig(), DeviceShape{16, 8, 8}).size(), 2u);
  EXPECT_EQ(LayOut(PoolConfig(), DeviceShape{1, 1, 1}).size(), 1u);
  EXPECT_FALSE(LayOutPool(PoolConfig(), DeviceShape{0, 1, 1}, policy::PoolShape::kConfigured).ok());
  EXPECT_FALSE(LayOutPool(PoolConfig(), DeviceShape{4, 8, 8}, policy::PoolShape::kConfigured).ok());
}

// "Equal MPS percentages": 68 SMs in 3 are 22 each, not the 24 that overlap.
TEST(LayoutTest, DisjointPartsForPoliciesThatWantThem) {
  EXPECT_THAT(LayOut(Equal(3, 1.5), kTuring, policy::PoolShape::kDisjoint),
              ElementsAre(PartitionSpan{0, 22}, PartitionSpan{22, 22}, PartitionSpan{44, 22}));
  EXPECT_THAT(LayOut(Equal(2, 2.0), kHopper, policy::PoolShape::kDisjoint),
              ElementsAre(PartitionSpan{0, 64}, PartitionSpan{64, 64}));
}

}  // namespace
}  // namespace sgprs::pool
