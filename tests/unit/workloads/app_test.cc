// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tools/workloads/app/frame_clock.h"
#include "tools/workloads/app/frame_statistics.h"
#include "tools/workloads/app/network_options.h"
#include "tools/workloads/app/option_parser.h"

namespace workloads {
namespace {

using ::testing::HasSubstr;

uint64_t Duration(const std::string& text) {
  uint64_t ns = 0;
  return ParseDuration(text, &ns) ? ns : UINT64_MAX;
}

TEST(Duration, NeedsAUnit) {
  EXPECT_EQ(Duration("33.3ms"), 33300000u);
  EXPECT_EQ(Duration("500us"), 500000u);
  EXPECT_EQ(Duration("2s"), 2000000000u);
  EXPECT_EQ(Duration("7ns"), 7u);
  EXPECT_EQ(Duration("0ms"), 0u);
  for (const char* bad : {"", "5", "ms", "-1ms", "1 ms", "1mss", "1e3ms", "nan s", "inf s", "9e99s",
                          "99999999999s"}) {
    EXPECT_EQ(Duration(bad), UINT64_MAX) << bad;
  }
}

struct Parsed {
  bool ok;
  int exit_code;
  NetworkOptions options;
  std::string errors;
};

Parsed Parse(std::vector<std::string> words) {
  std::vector<char*> argv;
  words.insert(words.begin(), "test");
  for (std::string& word : words) argv.push_back(word.data());
  Parsed parsed{};
  testing::internal::CaptureStderr();
  parsed.ok = ParseNetworkOptions(static_cast<int>(argv.size()), argv.data(), "net",
                                  &parsed.options, &parsed.exit_code);
  parsed.errors = testing::internal::GetCapturedStderr();
  return parsed;
}

TEST(NetworkOptions, Defaults) {
  const Parsed parsed = Parse({});
  ASSERT_TRUE(parsed.ok);
  EXPECT_EQ(parsed.options.period_ns, 33333334u);
  EXPECT_EQ(parsed.options.deadline_ns, parsed.options.period_ns);
  EXPECT_EQ(parsed.options.length_ns, 5000000000u);
  EXPECT_EQ(parsed.options.input.height, 224);
}

TEST(NetworkOptions, Values) {
  const Parsed parsed =
      Parse({"--fps=25", "--deadline", "20ms", "--frames", "7", "--input", "32x64", "--stream=null",
             "--seed", "18446744073709551615", "--json"});
  ASSERT_TRUE(parsed.ok) << parsed.errors;
  EXPECT_EQ(parsed.options.period_ns, 40000000u);
  EXPECT_EQ(parsed.options.deadline_ns, 20000000u);
  EXPECT_EQ(parsed.options.frames, 7u);
  EXPECT_EQ(parsed.options.length_ns, 0u);
  EXPECT_EQ(parsed.options.input.width, 64);
  EXPECT_EQ(parsed.options.stream, StreamChoice::kNull);
  EXPECT_EQ(parsed.options.seed, UINT64_MAX);
  EXPECT_TRUE(parsed.options.json);
}

TEST(NetworkOptions, NonsenseIsOneLineAndCode2) {
  const std::vector<std::vector<std::string>> bad = {{"--fps", "0"},
                                                     {"--fps", "x"},
                                                     {"--fps"},
                                                     {"--frames", "0"},
                                                     {"--frames", "-1"},
                                                     {"--input", "31x32"},
                                                     {"--input", "32"},
                                                     {"--stream", "mine"},
                                                     {"--entry", "luck"},
                                                     {"--json=yes"},
                                                     {"-x"},
                                                     {"surplus"},
                                                     {"--seconds", "0"},
                                                     {"--period", "10"},
                                                     {"--seed", "1.5"},
                                                     {"--frames-file", ""}};
  for (const auto& words : bad) {
    const Parsed parsed = Parse(words);
    EXPECT_FALSE(parsed.ok) << words[0];
    EXPECT_EQ(parsed.exit_code, kExitUsage);
    EXPECT_THAT(parsed.errors, HasSubstr("net: "));
    EXPECT_EQ(std::count(parsed.errors.begin(), parsed.errors.end(), '\n'), 1) << parsed.errors;
  }
}

TEST(FrameSchedule, BoundedByTime) {
  const FrameSchedule schedule{10, 1000, 0, 35};
  EXPECT_TRUE(schedule.Has(3, 1030));
  EXPECT_FALSE(schedule.Has(4, 1000));        // its release is behind the end
  EXPECT_FALSE(schedule.Has(2, 1035));        // backlog does not prolong the run
  EXPECT_EQ(schedule.Released(1035, 2), 4u);  // 1000, 1010, 1020, 1030
  EXPECT_EQ(schedule.Released(2000, 2), 4u);
  EXPECT_EQ(schedule.Released(1015, 1), 2u);  // stopped early
  EXPECT_EQ(schedule.Released(900, 0), 0u);
}

TEST(FrameSchedule, BoundedByFrames) {
  const FrameSchedule schedule{10, 1000, 3, 0};
  EXPECT_TRUE(schedule.Has(2, 9999));
  EXPECT_FALSE(schedule.Has(3, 1000));
  EXPECT_EQ(schedule.Released(9999, 3), 3u);
  EXPECT_EQ(schedule.Released(1010, 1), 2u);
}

TEST(FrameSchedule, BackToBackReleasesWhatIsDone) {
  const FrameSchedule schedule{0, 1000, 0, 50};
  EXPECT_TRUE(schedule.Has(1000, 1049));
  EXPECT_FALSE(schedule.Has(1000, 1050));
  EXPECT_EQ(schedule.Released(1050, 12), 12u);
}

TEST(FrameStatistics, NearestRankAndDeadline) {
  FrameStatistics statistics(50);
  for (uint64_t i = 100; i > 0; --i) statistics.Add(i);
  EXPECT_EQ(statistics.completed(), 100u);
  EXPECT_EQ(statistics.on_time(), 50u);
  EXPECT_EQ(statistics.Percentile(0), 1u);
  EXPECT_EQ(statistics.Percentile(50), 50u);
  EXPECT_EQ(statistics.Percentile(99), 99u);
  EXPECT_EQ(statistics.Percentile(100), 100u);
  EXPECT_EQ(FrameStatistics(0).Percentile(50), 0u);
}

}  // namespace
}  // namespace workloads
