// SPDX-License-Identifier: Apache-2.0
#include "runtime/pool/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

namespace sgprs::pool {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string Error(std::string_view text) {
  const Result<Config> config = ParseConfig(text, "sgprsd.toml");
  EXPECT_FALSE(config.ok()) << text;
  EXPECT_THAT(config.status().text(), Not(HasSubstr("\n")));
  return config.status().text();
}

TEST(ConfigTest, EmptyIsTheDefault) {
  const Result<Config> config = ParseConfig("", "x");
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->policy, "sgprs");
  EXPECT_EQ(config->pool.partitions, 0u);
  EXPECT_EQ(config->stages, 6u);
}

TEST(ConfigTest, ReadsEverySection) {
  const Result<Config> config = ParseConfig(R"(
policy = "naive"
log = "debug"
overload = "hold"
admission = "warn"
[pool]
partitions = 2
oversubscription = 2
backend = "mps"
[stages]
count = 4
least = "0.1ms"
force_switch = true
[policy_options]
capacity = 4
deadline_margin = 0.9
high_stages = 0
preset = "date-code"
[learning]
window = 7
[limits]
max_clients = 16
stall_least = "2s"
[trace]
file = "/tmp/t.json"
[socket]
path = "/tmp/s"
)",
                                            "x");
  ASSERT_TRUE(config.ok()) << config.status().text();
  EXPECT_EQ(config->policy, "naive");
  EXPECT_EQ(config->log_level, "debug");
  EXPECT_EQ(config->pool.partitions, 2u);
  EXPECT_EQ(config->pool.oversubscription, 2.0);
  EXPECT_EQ(config->options.capacity, 4u);
  EXPECT_EQ(config->pool.backend, SGPRS_BACKEND_MPS);
  EXPECT_EQ(config->stages, 4u);
  EXPECT_EQ(config->min_stage_ns, 100'000u);
  EXPECT_EQ(config->options.deadline_margin, 0.9) << "after the preset, wherever it stands";
  EXPECT_EQ(config->options.high_stages, 0u);
  EXPECT_TRUE(config->options.early_release_gate);
  EXPECT_EQ(config->overload, policy::OverloadMode::kHold);
  EXPECT_EQ(config->admission, policy::AdmissionMode::kWarn);
  EXPECT_TRUE(config->force_switch);
  EXPECT_EQ(config->window, 7u);
  EXPECT_EQ(config->max_clients, 16u);
  EXPECT_EQ(config->stall_min_ns, 2'000'000'000u);
  EXPECT_EQ(config->trace_file, "/tmp/t.json");
  EXPECT_EQ(config->socket_path, "/tmp/s");
}

TEST(ConfigTest, PartitionsInThreeForms) {
  EXPECT_EQ(ParseConfig("pool.partitions = \"auto\"", "x")->pool.partitions, 0u);
  EXPECT_THAT(ParseConfig("pool.partitions = [10, 20]", "x")->pool.sm_counts, ElementsAre(10, 20));
  EXPECT_THAT(Error("pool.partitions = [10, 0]"), HasSubstr("SM counts"));
  EXPECT_THAT(Error("pool.partitions = []"), HasSubstr("1 to 32"));
  EXPECT_THAT(Error("pool.partitions = 33"), HasSubstr("= 33"));
}

TEST(ConfigTest, ErrorsNamePlaceKeyAndValue) {
  EXPECT_THAT(Error("\n\n[learning]\nwindow = 0\n"),
              AllOf(StartsWith("sgprsd.toml:4: learning.window = 0: "), HasSubstr("1 to 1000")));
  EXPECT_THAT(Error("policy = \"best\""),
              AllOf(StartsWith("sgprsd.toml:1: policy = \"best\": "), HasSubstr("naive")));
  EXPECT_THAT(Error("[limits]\nopen_time = 5"), HasSubstr("in quotes"));
  EXPECT_THAT(Error("[limits]\nopen_time = \"5 parsecs\""), HasSubstr("5 parsecs"));
  EXPECT_THAT(Error("[stages]\nforce_switch = 1"), HasSubstr("true or false"));
  EXPECT_THAT(Error("[policy_options]\ndeadline_margin = nan"),
              HasSubstr("policy_options.deadline_margin"));
  EXPECT_THAT(Error("[policy_options]\npreset = \"icdcs\""), HasSubstr("paper or date-code"));
  EXPECT_THAT(Error("overload = \"drop\""), HasSubstr("late, hold"));
  EXPECT_THAT(Error("admission = true"), HasSubstr("off, warn, reject"));
  EXPECT_THAT(Error("[pool]\nbackend = \"magic\""), HasSubstr("green"));
  EXPECT_THAT(Error("log = \"loud\nvery\""), HasSubstr("sgprsd.toml:1"));
}

TEST(ConfigTest, UnknownKeysAreErrors) {
  EXPECT_THAT(Error("[pool]\npartition = 3"),
              StartsWith("sgprsd.toml:2: unknown key \"pool.partition\""));
  EXPECT_THAT(Error("[pools]\npartitions = 3"), HasSubstr("unknown key \"pools\""));
  EXPECT_THAT(Error("window = 5"), HasSubstr("unknown key \"window\""));
  EXPECT_THAT(Error("pool = 3"), HasSubstr("write [pool]"));
  EXPECT_THAT(Error("[[pool]]\npartitions = 3"), HasSubstr("write [pool]"));
}

TEST(ConfigTest, BrokenTomlSaysWhere) {
  EXPECT_THAT(Error("policy = \"sgprs\"\n[pool\n"), StartsWith("sgprsd.toml:2: "));
  EXPECT_THAT(Error(std::string_view("\xff\xfe\0x", 4)), StartsWith("sgprsd.toml:"));
  EXPECT_THAT(Error("\n[\n"),
              StartsWith("sgprsd.toml:2: "));  // an assertion of toml++ is wrong here
  EXPECT_THAT(Error("a = 1\na = 2"), StartsWith("sgprsd.toml:2: "));
  EXPECT_THAT(Error(std::string(100'000, '[')), StartsWith("sgprsd.toml:1: "));
}

TEST(ConfigTest, HelpIsAConfigurationThatChangesNothing) {
  const std::string help = ConfigHelp();
  EXPECT_THAT(help, HasSubstr("oversubscription = 1.5"));
  const Result<Config> config = ParseConfig(help, "help");
  ASSERT_TRUE(config.ok()) << config.status().text();
  const Config defaults;
  EXPECT_EQ(config->policy, defaults.policy);
  EXPECT_EQ(config->min_stage_ns, defaults.min_stage_ns);
  EXPECT_EQ(config->max_wait_ns, defaults.max_wait_ns);
  EXPECT_EQ(config->pool.oversubscription, defaults.pool.oversubscription);
}

TEST(ConfigTest, Files) {
  EXPECT_EQ(LoadConfig("/nonexistent/sgprsd.toml").status().code(), ErrorCode::kNotFound);
  EXPECT_EQ(LoadConfig("/").status().code(), ErrorCode::kUnavailable);
  const std::string path = ::testing::TempDir() + "sgprs_config_test.toml";
  std::ofstream(path) << "policy = \"edf\"\n";
  const Result<Config> config = LoadConfig(path);
  std::remove(path.c_str());
  ASSERT_TRUE(config.ok()) << config.status().text();
  EXPECT_EQ(config->policy, "edf");
}

}  // namespace
}  // namespace sgprs::pool
