// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/sim_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "tools/sgprs/command_line.h"
#include "tools/sgprs/exit_code.h"
#include "tools/sgprs/sim_report.h"

namespace sgprs::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(TaskCountsTest, TakesNumbersRangesAndSteps) {
  EXPECT_THAT(ParseTaskCounts("24").value(), ElementsAre(24));
  EXPECT_THAT(ParseTaskCounts("24,8,8").value(), ElementsAre(8, 24));
  EXPECT_THAT(ParseTaskCounts("10..13").value(), ElementsAre(10, 11, 12, 13));
  EXPECT_THAT(ParseTaskCounts("10..31/10,5").value(), ElementsAre(5, 10, 20, 30));
}

TEST(TaskCountsTest, RefusesTheRest) {
  for (const char* text : {"", "x", "0", "5..", "..5", "9..5", "1..5/0", "5/2", "10001", "1,,2",
                           "-3", "1..5000", "4294967296", "1..4294967295/4294967295"}) {
    const auto counts = ParseTaskCounts(text);
    ASSERT_FALSE(counts.ok()) << text;
    EXPECT_EQ(counts.status().code(), ErrorCode::kInvalid);
  }
}

TEST(SimWindowTest, NeedsTwoTimesInOrder) {
  EXPECT_EQ(ParseSimWindow("1s..1.1s")->from_ns, 1'000'000'000u);
  EXPECT_EQ(ParseSimWindow("0ms..1.5ms")->to_ns, 1'500'000u);
  for (const char* text : {"1s", "1s..1s", "2s..1s", "1..2", "..1s", "1s.."}) {
    EXPECT_FALSE(ParseSimWindow(text).ok()) << text;
  }
}

TEST(PolicyOptionTest, IsCheckedAgainstTheTable) {
  EXPECT_EQ(ParsePolicyOption("staging=false")->second, "false");
  for (const char* text : {"staging", "staging=maybe", "nosuch=1", "=", "high_stages=99"}) {
    EXPECT_FALSE(ParsePolicyOption(text).ok()) << text;
  }
}

TEST(PlanSweepTest, TheLineReplacesWhatTheScenarioSays) {
  SimOptions options;
  options.tasks = {7, 9};
  options.policies = {"sgprs"};
  options.seeds = 2;
  options.seed = 5;
  options.horizon_ns = 1'000'000;
  const auto plan = PlanSweep(options);
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->size(), 4u);
  EXPECT_EQ((*plan)[0].n, 7u);
  EXPECT_EQ((*plan)[1].seed, 6u);
  EXPECT_EQ((*plan)[2].n, 9u);
  EXPECT_EQ((*plan)[3].horizon_ns, 1'000'000u);
}

TEST(PlanSweepTest, WhatAPolicyIgnoresIsNotVaried) {
  SimOptions options;
  options.tasks = {4};
  options.oversubscription = {1, 1.5, 2};
  options.policies = {"naive", "sgprs"};
  EXPECT_EQ(PlanSweep(options)->size(), 1u + 3u);
}

TEST(PlanSweepTest, EveryShippedScenarioPlans) {
  ASSERT_FALSE(model::ShippedScenarios().empty());
  for (const model::ShippedScenario& shipped : model::ShippedScenarios()) {
    SimOptions options;
    options.scenario = std::string(shipped.name);
    const auto plan = PlanSweep(options);
    EXPECT_TRUE(plan.ok()) << shipped.name << ": " << plan.status().text();
  }
}

TEST(PlanSweepTest, TasksNeedATaskThatTheyStandFor) {
  SimOptions options;
  options.scenario = "daris";
  options.tasks = {4};
  EXPECT_THAT(PlanSweep(options).status().text(), HasSubstr("count = \"N\""));
}

TEST(CheckOutputsTest, ContradictionsAreFoundBeforeAnythingRuns) {
  SimOptions options;
  options.svg = "one.svg";
  EXPECT_TRUE(CheckOutputs(options, 1, true).ok());
  EXPECT_FALSE(CheckOutputs(options, 2, true).ok());
  EXPECT_FALSE(CheckOutputs(options, 0, true).ok());
  options.svg = "directory";
  EXPECT_TRUE(CheckOutputs(options, 2, true).ok());
  options.csv = "-";
  options.json = true;
  EXPECT_FALSE(CheckOutputs(options, 2, true).ok());
  options.json = false;
  EXPECT_FALSE(CheckOutputs(options, 2, false).ok());
  options = {};
  options.gantt = SimWindow{0, 1};
  EXPECT_FALSE(CheckOutputs(options, 1, true).ok());
}

struct Outcome {
  int code;
  std::string out;
  std::string error;
};

Outcome Sim(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "sim");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = RunCommandLine(arguments);
  std::string error = testing::internal::GetCapturedStderr();
  return {code, testing::internal::GetCapturedStdout(), error};
}

TEST(SimCommandTest, WrongLinesAreOneLineAndTwo) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> lines = {
      {{"--policy", "sgprz"}, "did you mean sgprs?"},
      {{"--policy", "sgprs,,edf"}, "empty entry"},
      {{"--policy", "sgprs,sgprs"}, "stands twice"},
      {{"--tasks", "x"}, "no number of tasks"},
      {{"--overload", "drop"}, "late, hold"},
      {{"--admission", "maybe"}, "off, warn, reject"},
      {{"--option", "staging=maybe"}, "true or false"},
      {{"--device", "rtx2080"}, "did you mean rtx2080ti?"},
      {{"--network", "vgg"}, "resnet18"},
      {{"--partitions", "2.5"}, "whole number"},
      {{"--oversubscription", "nan"}, "'nan'"},
      {{"--seconds", "0"}, "--seconds"},
      {{"--seeds", "0"}, "--seeds"},
      {{"--gantt", "1s"}, "FROM..TO"},
      {{"--gantt", "1s..1.1s"}, "--svg"},
      {{"--gantt", "1s..9s", "--svg", "x.svg", "-n", "4", "--policy", "sgprs"}, "after the run"},
      {{"--gantt", "1s..1.1s", "--svg", "x.svg"}, "directory"},
      {{"no-such-scenario"}, "no file 'no-such-scenario'"},
      {{"upstrem"}, "did you mean upstream?"},
      {{"upstream", "--network", "resnet18"}, "--network"},
      {{"upstream", "--paper"}, "upstream"},
      {{"--paper", "--daris"}, "paper"},
      {{"--paper", "--policy", "edf"}, "another experiment"},
      {{"--calibration", "--device", "a100"}, "not calibrated"},
      {{"--calibration", "--csv", "x.csv"}, "--csv"},
      {{"--csv", "-", "--json"}, "both want stdout"},
  };
  for (const auto& [arguments, part] : lines) {
    const Outcome outcome = Sim(arguments);
    EXPECT_EQ(outcome.code, kExitUsage) << part;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.error, HasSubstr(part));
    EXPECT_EQ(std::count(outcome.error.begin(), outcome.error.end(), '\n'), 1) << outcome.error;
  }
}

TEST(SimCommandTest, WhatCanNotBeWrittenOrReadIsOne) {
  const std::vector<std::string> small = {"-n", "2", "--seconds", "0.1", "--policy", "sgprs"};
  std::vector<std::string> arguments = small;
  arguments.insert(arguments.end(), {"--csv", "/proc/nothing/x.csv"});
  EXPECT_EQ(Sim(arguments).code, kExitFailure);
  EXPECT_EQ(Sim({"--replay", "/no/such/trace.json"}).code, kExitFailure);
}

TEST(SimCommandTest, TheSameLineGivesTheSameBytesOnAnyNumberOfThreads) {
  const std::vector<std::string> line = {"-n",          "8,44",       "--seconds", "0.5",
                                         "--seeds",     "2",          "--json",    "--policy",
                                         "naive,sgprs", "--overload", "late,hold", "--threads"};
  std::vector<std::string> one = line;
  one.push_back("1");
  std::vector<std::string> three = line;
  three.push_back("3");
  const Outcome first = Sim(one);
  EXPECT_EQ(first.code, kExitOk) << first.error;
  EXPECT_THAT(first.error, IsEmpty());
  EXPECT_EQ(Sim(three).out, first.out);
  one.insert(one.end(), {"--seed", "9"});
  EXPECT_NE(Sim(one).out, first.out);
}

TEST(SimCommandTest, ListAndKeysAreWhole) {
  const Outcome list = Sim({"--list"});
  EXPECT_EQ(list.code, kExitOk);
  for (const char* part : {"upstream", "resnet18", "rtx2080ti", "daris", "high_stages"}) {
    EXPECT_THAT(list.out, HasSubstr(part));
  }
  const std::string path = ::testing::TempDir() + "/keys-" + std::to_string(getpid()) + ".toml";
  std::ofstream(path) << Sim({"--keys"}).out;
  EXPECT_EQ(Sim({path, "--seconds", "0.1"}).code, kExitOk);
  std::remove(path.c_str());
}

TEST(SimCommandTest, CalibrationSaysItsFit) {
  const Outcome outcome = Sim({"--calibration", "--json"});
  ASSERT_EQ(outcome.code, kExitOk);
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json.at("version"), 1);
  ASSERT_EQ(json.at("parts").size(), 3u);
  for (const Json& part : json.at("parts")) {
    EXPECT_GT(part.at("rows").size(), 0u);
    EXPECT_GT(part.at("rms_error").get<double>(), 0);
  }
}

}  // namespace
}  // namespace sgprs::cli
