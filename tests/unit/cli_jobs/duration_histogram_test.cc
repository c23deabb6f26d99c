// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/jobs/duration_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace sgprs::cli {
namespace {

TEST(DurationHistogram, QuantilesAreWithinTheirBuckets) {
  constexpr uint64_t kSeed = 7;
  std::mt19937_64 random(kSeed);
  std::vector<uint64_t> values(20'000);
  DurationHistogram histogram;
  for (uint64_t& value : values) {
    value = random() >> (1 + random() % 60);  // every size
    histogram.Add(value);
  }
  std::sort(values.begin(), values.end());
  EXPECT_EQ(histogram.count(), values.size());
  EXPECT_EQ(histogram.least_ns(), values.front());
  EXPECT_EQ(histogram.most_ns(), values.back());
  for (const double p : {0.0, 0.01, 0.25, 0.5, 0.9, 0.99, 1.0}) {
    const auto rank = static_cast<size_t>(p * static_cast<double>(values.size()));
    const uint64_t exact = values[std::clamp<size_t>(rank, 1, values.size()) - 1];
    const uint64_t got = histogram.QuantileNs(p);
    EXPECT_LE(got, exact + exact / 64 + 1) << p << " seed " << kSeed;
    EXPECT_GE(got + exact / 64 + 1, exact) << p << " seed " << kSeed;
  }
}

TEST(DurationHistogram, SmallValuesAreExact) {
  DurationHistogram histogram;
  EXPECT_EQ(histogram.MedianNs(), 0u);
  for (const uint64_t value : {3u, 3u, 100u, 127u}) histogram.Add(value);
  EXPECT_EQ(histogram.MedianNs(), 3u);
  EXPECT_EQ(histogram.QuantileNs(0.75), 100u);
  EXPECT_EQ(histogram.CountBetween(3, 100), 2u);
  EXPECT_EQ(histogram.CountBetween(0, UINT64_MAX), 4u);
}

}  // namespace
}  // namespace sgprs::cli
