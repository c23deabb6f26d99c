// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/sm_sharing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace sgprs::model {
namespace {

using ::testing::DoubleNear;
using ::testing::Pointwise;

class SmSharingTest : public ::testing::Test {
 protected:
  std::vector<double> Share(const std::vector<SmDemand>& demands,
                            const std::vector<double>& limits = {1e9}) {
    std::vector<double> given;
    sharing_.Share(atoms_, demands, limits, &given);
    return given;
  }
  void ExpectShare(const std::vector<SmDemand>& demands, const std::vector<double>& expected,
                   const std::vector<double>& limits = {1e9}) {
    EXPECT_THAT(Share(demands, limits), Pointwise(DoubleNear(1e-4), expected));
  }
  SmAtoms atoms_{68};
  SmSharing sharing_;
};

TEST_F(SmSharingTest, MaxMinFairAmongEquals) {
  ExpectShare({{0, 0, 0, 68}}, {68});
  ExpectShare({{0, 0, 0, 68}, {0, 0, 0, 68}}, {34, 34});
  ExpectShare({{0, 0, 0, 10}, {0, 0, 0, 68}, {0, 0, 0, 68}}, {10, 29, 29});
  ExpectShare({{0, 0, 0, 10}, {0, 0, 0, 12}}, {10, 12});
}

TEST_F(SmSharingTest, UrgentFirst) {
  ExpectShare({{0, 0, 0, 68}, {-1, 0, 0, 50}}, {18, 50});
  ExpectShare({{0, 0, 0, 68}, {-1, 0, 0, 68}, {-5, 0, 0, 20}}, {0, 48, 20});
}

TEST_F(SmSharingTest, DisjointSetsDoNotMeet) {
  const uint32_t left = atoms_.Intern(SmSet::Range(0, 34));
  const uint32_t right = atoms_.Intern(SmSet::Range(34, 34));
  EXPECT_EQ(atoms_.atom_count(), 2u);
  ExpectShare({{0, left, 0, 68}, {-5, right, 0, 68}}, {34, 34});
  ExpectShare({{0, left, 0, 68}, {0, left, 0, 68}, {0, right, 0, 5}}, {17, 17, 5});
}

TEST_F(SmSharingTest, OverlapIsSharedAndTheRestIsOnesOwn) {
  const uint32_t low = atoms_.Intern(SmSet::Range(0, 46));
  const uint32_t high = atoms_.Intern(SmSet::Range(22, 46));
  EXPECT_EQ(atoms_.atom_count(), 3u);
  ExpectShare({{0, low, 0, 46}, {0, high, 0, 46}}, {34, 34});
  ExpectShare({{0, low, 0, 46}, {-1, high, 0, 46}}, {22, 46});
}

TEST_F(SmSharingTest, ContextLimitsAreSharedByTheirKernels) {
  ExpectShare({{0, 0, 0, 68}, {0, 0, 0, 68}, {0, 0, 1, 68}}, {10, 10, 48}, {20, 1e9});
  ExpectShare({{-1, 0, 0, 15}, {0, 0, 0, 68}}, {15, 5}, {20});
}

// Random cases: nobody gets more than asked, no atom or limit is exceeded, and no SM idles that a
// demand could use.
TEST_F(SmSharingTest, RandomCasesKeepTheRules) {
  std::mt19937 random(7);
  const auto below = [&random](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  for (int round = 0; round < 300; ++round) {
    atoms_.Reset();
    std::vector<SmSet> sets{SmSet::Range(0, 68)};
    for (int i = 0; i < 4; ++i) {
      const uint32_t first = below(60);
      sets.push_back(SmSet::Range(first, 1 + below(68 - first)));
      atoms_.Intern(sets.back());
    }
    std::vector<SmDemand> demands;
    const std::vector<double> limits{1e9, 1.0 + below(60), 1.0 + below(60)};
    for (uint32_t i = 0; i <= below(12); ++i) {
      demands.push_back(
          {-static_cast<int>(below(3)), atoms_.Intern(sets[below(5)]), below(3), 1.0 + below(68)});
    }
    const std::vector<double> given = Share(demands, limits);
    std::vector<double> per_group(3, 0);
    for (size_t i = 0; i < demands.size(); ++i) {
      EXPECT_LE(given[i], demands[i].sms + 1e-6);
      EXPECT_LE(given[i], atoms_.SetSize(demands[i].set) + 1e-6);
      per_group[demands[i].group] += given[i];
    }
    for (size_t group = 0; group < 3; ++group) EXPECT_LE(per_group[group], limits[group] + 1e-6);
    const double total = std::accumulate(given.begin(), given.end(), 0.0);
    EXPECT_LE(total, 68 + 1e-6);
    for (size_t i = 0; i < demands.size(); ++i) {
      if (demands[i].set != 0 || demands[i].group != 0) continue;
      EXPECT_TRUE(given[i] > demands[i].sms - 1e-3 || total > 68 - 1e-3) << "round " << round;
    }
  }
}

TEST(ShareEvenlyTest, MaxMin) {
  std::vector<double> wishes{5, 100, 40};
  ShareEvenly(65, &wishes);
  EXPECT_THAT(wishes, Pointwise(DoubleNear(1e-9), std::vector<double>{5, 30, 30}));
}

}  // namespace
}  // namespace sgprs::model
