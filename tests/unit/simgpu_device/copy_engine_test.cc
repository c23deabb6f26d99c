// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/device/copy_engine.h"

#include <gtest/gtest.h>

namespace sgprs::simgpu {
namespace {

TEST(CopyEngineTest, OneAfterTheOther) {
  CopyEngine engine(10, 1000);
  EXPECT_EQ(engine.NextEndNs(), UINT64_MAX);
  engine.Add(1, 10'000, 500);
  engine.Add(2, 20'000, 600);
  EXPECT_EQ(engine.NextEndNs(), 2500u);
  std::vector<CopyEnd> ended;
  engine.Advance(100'000, &ended);
  ASSERT_EQ(ended.size(), 2u);
  EXPECT_EQ(ended[0].end_ns, 2500u);
  EXPECT_EQ(ended[1].start_ns, 2500u);
  EXPECT_EQ(ended[1].end_ns, 5500u);
}

TEST(CopyEngineTest, RemovedCopiesMakeRoom) {
  CopyEngine engine(10, 0);
  engine.Add(1, 1'000'000, 0);
  engine.Add(2, 1'000'000, 0);
  engine.Add(3, 1000, 0);
  engine.Remove(2, 50);
  engine.Remove(1, 100);
  EXPECT_EQ(engine.NextEndNs(), 200u);
  engine.Remove(3, 150);
  EXPECT_EQ(engine.NextEndNs(), UINT64_MAX);
}

}  // namespace
}  // namespace sgprs::simgpu
