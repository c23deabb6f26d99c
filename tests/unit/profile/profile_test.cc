// SPDX-License-Identifier: Apache-2.0
#include "runtime/profile/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

namespace sgprs::profile {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

Profile Sample() {
  Profile profile = {.task = "net \"1\"",
                     .program = "python3",
                     .device = "Device X",
                     .sm_count = 68,
                     .period_ns = 33'333'333,
                     .period_seen_ns = 33'400'000,
                     .jobs = 40,
                     .kernels = {"_Z4kernPf", "gemm"},
                     .launches = {},
                     .stages = {}};
  for (uint64_t i = 0; i < 4; ++i) {
    profile.launches.push_back({.identity = ~i,
                                .kind = "kernel",
                                .kernel = static_cast<uint32_t>(i % 2) + 1,
                                .stream = 1,
                                .grid = {7, 2, 1},
                                .block = {128, 1, 1},
                                .shared_bytes = 48});
  }
  profile.launches.push_back({.identity = 5, .kind = "copy", .bytes = 4096});
  profile.stages = {{.end = 2, .costs = {{34, 1000}, {68, 600}}}, {.end = 5, .costs = {{68, 5}}}};
  return profile;
}

TEST(ProfileFile, ComesBackAsItWas) {
  const Profile sample = Sample();
  const Result<Profile> back = Parse(ToText(sample));
  ASSERT_TRUE(back.ok()) << back.status().text();
  EXPECT_EQ(ToText(*back), ToText(sample));
  EXPECT_EQ(back->signature(), sample.signature());
  EXPECT_EQ(back->ForScheduler().launches.size(), 5u);
  EXPECT_EQ(back->launches[1].grid, (std::array<uint32_t, 3>{7, 2, 1}));
  EXPECT_EQ(back->stages[0].costs[1].ns, 600u);
  EXPECT_THAT(ToText(sample), HasSubstr("kern(float*)"));
}

// What each change of the file is answered with.
TEST(ProfileFile, SaysWhatIsWrong) {
  using Json = nlohmann::json;
  const auto error = [](const std::function<void(Json*)>& change) {
    Json json = Json::parse(ToText(Sample()));
    change(&json);
    const Result<Profile> parsed = Parse(json.dump());
    return parsed.ok() ? std::string("good") : parsed.status().text();
  };
  EXPECT_EQ(error([](Json*) {}), "good");
  EXPECT_THAT(error([](Json* j) { (*j)["version"] = 2; }),
              HasSubstr("is of version 2, this build reads version 1"));
  EXPECT_THAT(error([](Json* j) { j->erase("version"); }), HasSubstr("\"version\" is missing"));
  EXPECT_THAT(error([](Json* j) { (*j)["kind"] = "x"; }), HasSubstr("no profile"));
  EXPECT_THAT(error([](Json* j) { (*j)["launches"][1]["identity"] = "00000000000000aa"; }),
              HasSubstr("its launches have"));
  EXPECT_THAT(error([](Json* j) { (*j)["launches"][0]["kernel"] = 2; }), HasSubstr("launch 0"));
  EXPECT_THAT(error([](Json* j) { (*j)["launches"].erase(4); }), HasSubstr("ends at 5 of 4"));
  EXPECT_THAT(error([](Json* j) { (*j)["stages"][1]["end"] = 2; }), HasSubstr("must rise"));
  EXPECT_THAT(error([](Json* j) { (*j)["stages"][0]["costs"] = Json::array(); }),
              HasSubstr("stage 0: \"costs\" is empty"));
  EXPECT_THAT(error([](Json* j) { (*j)["device"]["sms"] = -1; }), HasSubstr("device: \"sms\""));
  EXPECT_THAT(error([](Json* j) { (*j)["stages"] = "no"; }), HasSubstr("must be a list"));
  EXPECT_FALSE(Parse("").ok());
  EXPECT_FALSE(Parse("[]").ok());
}

TEST(ProfileFile, OtherDevicesAreRefused) {
  EXPECT_EQ(CheckDevice(Sample(), "Device X", 68), "");
  EXPECT_THAT(CheckDevice(Sample(), "Device Y", 68), HasSubstr("another device"));
  EXPECT_THAT(CheckDevice(Sample(), "Device X", 34), EndsWith("not Device X (34 SMs)"));
}

TEST(ProfileFile, IsWrittenWholeOrNotAtAll) {
  const std::string path = testing::TempDir() + "/" + FileName("a/b c");
  EXPECT_THAT(path, EndsWith("/a_b_c.profile.json"));
  EXPECT_EQ(FileName(".."), "_..profile.json");
  ASSERT_TRUE(WriteProfile(Sample(), path).ok());
  EXPECT_TRUE(ReadProfile(path).ok());
  std::ofstream(path) << ToText(Sample()).substr(0, 100);
  EXPECT_THAT(ReadProfile(path).status().text(), HasSubstr(path));
  std::remove(path.c_str());
  EXPECT_EQ(ReadProfile(path).status().code(), ErrorCode::kNotFound);
  EXPECT_FALSE(WriteProfile(Sample(), "/nonexistent/x").ok());
}

}  // namespace
}  // namespace sgprs::profile
