// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/stage_cuts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace sgprs::sched {
namespace {

using ::testing::ElementsAre;

TEST(EqualCutsTest, CoversTheJob) {
  EXPECT_THAT(EqualCuts(10, 4), ElementsAre(2u, 5u, 7u, 10u));
  EXPECT_THAT(EqualCuts(3, 24), ElementsAre(1u, 2u, 3u));
  EXPECT_THAT(EqualCuts(1, 24), ElementsAre(1u));
}

TEST(BalancedGroupsTest, LongestIsAsShortAsPossible) {
  const uint64_t chunks[] = {1, 1, 1, 1, 4, 1, 1, 1, 1};
  EXPECT_THAT(BalancedGroups(chunks, 3), ElementsAre(4u, 5u, 9u));
}

TEST(BalancedGroupsTest, NoMoreGroupsThanChunks) {
  const uint64_t chunks[] = {5, 5};
  EXPECT_THAT(BalancedGroups(chunks, 6), ElementsAre(1u, 2u));
}

TEST(BalancedGroupsTest, TimesOfZeroStillGiveWholeGroups) {
  const uint64_t chunks[] = {0, 0, 0, 0};
  EXPECT_THAT(BalancedGroups(chunks, 2).size(), 2u);
  EXPECT_THAT(BalancedGroups(chunks, 2).back(), 4u);
}

uint64_t Longest(std::span<const uint64_t> chunks, const std::vector<uint32_t>& ends) {
  uint64_t longest = 0;
  uint32_t from = 0;
  for (const uint32_t end : ends) {
    uint64_t sum = 0;
    for (uint32_t i = from; i < end; ++i) sum += chunks[i];
    longest = std::max(longest, sum);
    from = end;
  }
  return longest;
}

// Against all ways to cut ten chunks into four.
TEST(BalancedGroupsTest, AsGoodAsTryingEverything) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<uint64_t> chunks(10);
    for (uint64_t& chunk : chunks) chunk = random() % 100;
    uint64_t best = UINT64_MAX;
    for (uint32_t a = 1; a < 8; ++a) {
      for (uint32_t b = a + 1; b < 9; ++b) {
        for (uint32_t c = b + 1; c < 10; ++c) best = std::min(best, Longest(chunks, {a, b, c, 10}));
      }
    }
    EXPECT_EQ(Longest(chunks, BalancedGroups(chunks, 4)), best);
  }
}

}  // namespace
}  // namespace sgprs::sched
