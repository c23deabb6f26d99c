// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/duration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sgprs {
namespace {

using ::testing::HasSubstr;

uint64_t Parse(std::string_view text) {
  const Result<uint64_t> ns = ParseDurationNs(text);
  EXPECT_TRUE(ns.ok()) << text << ": " << ns.status().text();
  return ns.ok() ? *ns : 0;
}

std::string Refusal(std::string_view text) {
  const Result<uint64_t> ns = ParseDurationNs(text);
  EXPECT_FALSE(ns.ok()) << text << " was read as " << (ns.ok() ? *ns : 0);
  return ns.status().text();
}

TEST(DurationTest, ReadsEveryUnitExactly) {
  EXPECT_EQ(Parse("7ns"), 7u);
  EXPECT_EQ(Parse("500us"), 500'000u);
  EXPECT_EQ(Parse("33.3ms"), 33'300'000u);
  EXPECT_EQ(Parse("33.333333ms"), 33'333'333u);  // a double would not hit it
  EXPECT_EQ(Parse("2s"), 2'000'000'000u);
  EXPECT_EQ(Parse("1.5min"), 90'000'000'000u);
  EXPECT_EQ(Parse(".5 s"), 500'000'000u);
  EXPECT_EQ(Parse("10\u00b5s"), 10'000u);
  EXPECT_EQ(Parse("0ms"), 0u);
}

TEST(DurationTest, DropsWhatIsBelowOneNanosecond) {
  EXPECT_EQ(Parse("1.9ns"), 1u);
  EXPECT_EQ(Parse("0.123456789987654321s"), 123'456'789u);
}

TEST(DurationTest, RefusesWhatItCanNotBeSureOf) {
  EXPECT_THAT(Refusal("33.3"), HasSubstr("has no unit"));
  EXPECT_THAT(Refusal("33.3"), HasSubstr("33.3"));
  EXPECT_THAT(Refusal("5m"), HasSubstr("unknown unit"));
  EXPECT_THAT(Refusal("5 parsecs"), HasSubstr("unknown unit"));
  for (const char* text : {"", "ms", ".", ".ms", "-5ms", "+5ms", " 5ms", "1.2.3ms", "1e3ms",
                           "0x5ms", "1e30s", "33,3ms", "5 ms x", "5ms ", "1'000ms", "nan", "inf"}) {
    EXPECT_THAT(Refusal(text), HasSubstr("is not a duration: write a number and a unit")) << text;
  }
}

TEST(DurationTest, RefusesWhatDoesNotFit) {
  EXPECT_EQ(Parse("18446744073709551615ns"), UINT64_MAX);
  EXPECT_THAT(Refusal("18446744073709551616ns"), HasSubstr("too long"));
  EXPECT_THAT(Refusal("18446744073709551615s"), HasSubstr("too long"));
  EXPECT_THAT(Refusal("99999999999999999999999999s"), HasSubstr("too long"));
}

TEST(DurationTest, FormatsForPeople) {
  EXPECT_EQ(FormatDurationNs(0), "0ns");
  EXPECT_EQ(FormatDurationNs(999), "999ns");
  EXPECT_EQ(FormatDurationNs(33'300'000), "33.3ms");
  EXPECT_EQ(FormatDurationNs(2'000'000'000), "2s");
  EXPECT_EQ(FormatDurationNs(1'234'567), "1.235ms");
  EXPECT_EQ(Parse(FormatDurationNs(12'500)), 12'500u);
}

}  // namespace
}  // namespace sgprs
