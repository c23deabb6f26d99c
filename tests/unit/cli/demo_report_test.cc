// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/demo_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tools/sgprs/demo_session.h"

namespace sgprs::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

DemoTask Task(const char* name) {
  DemoTask task;
  std::strcpy(task.last.name, name);
  SgprsTaskCounters& all = task.last.counters;
  all.recorded = all.granted = all.issued = all.completed = 100;
  all.kernels = 60;
  task.window.jobs_completed = 60;
  task.window.jobs_on_time = 45;
  task.window.switches = 9;
  return task;
}

DemoResult Good() {
  DemoResult result;
  result.policy = "sgprs";
  result.window_ns = 2 * kNsPerSecond;
  result.device_kernels = 120;
  result.tasks = {Task("a"), Task("b")};
  return result;
}

TEST(DemoReportTest, AgreeingCountsAreFine) { EXPECT_THAT(DemoDisagreements(Good()), IsEmpty()); }

TEST(DemoReportTest, WhatAKilledProgramHadInFlightIsNoDisagreement) {
  DemoResult result = Good();
  result.tasks[1].last.counters.completed -= 3;
  EXPECT_THAT(DemoDisagreements(result), ElementsAre(HasSubstr("task b")));
  result.tasks[1].killed = true;
  result.device_kernels -= 3;
  EXPECT_EQ(DemoInFlight(result), 3u);
  EXPECT_THAT(DemoDisagreements(result), IsEmpty());
  result.device_kernels -= 1;  // more than were in flight
  EXPECT_THAT(DemoDisagreements(result), ElementsAre(HasSubstr("the device ran")));
}

TEST(DemoReportTest, EveryDisagreementIsFound) {
  const auto lines_of = [](auto change) {
    DemoResult result = Good();
    change(&result);
    return DemoDisagreements(result);
  };
  using Counters = SgprsTaskCounters;
  for (uint64_t Counters::*count :
       {&Counters::recorded, &Counters::granted, &Counters::issued, &Counters::completed}) {
    EXPECT_THAT(lines_of([&](DemoResult* r) { r->tasks[1].last.counters.*count += 1; }),
                ElementsAre(HasSubstr("task b")));
  }
  EXPECT_THAT(lines_of([](DemoResult* r) { r->tasks[0].last.counters.bypassed = 1; }),
              ElementsAre(HasSubstr("bypassed")));
  EXPECT_THAT(lines_of([](DemoResult* r) { r->tasks[0].last.counters.self_granted = 1; }),
              ElementsAre(HasSubstr("without a grant")));
  EXPECT_THAT(lines_of([](DemoResult* r) { r->device_kernels = 119; }),
              ElementsAre(HasSubstr("the device ran 119")));
  EXPECT_THAT(lines_of([](DemoResult* r) {
                r->tasks[0].last.counters = {};
                r->device_kernels = 60;
              }),
              ElementsAre(HasSubstr("no launch")));
}

TEST(DemoReportTest, JsonHasExactlyThePromisedKeys) {
  const Json json = DemoJson("rtx2080ti", {Good()});
  const auto keys = [](const Json& object) {
    std::vector<std::string> out;
    for (const auto& item : object.items()) out.push_back(item.key());
    return out;
  };
  EXPECT_THAT(keys(json), ElementsAre("version", "device", "policies"));
  const Json& policy = json.at("policies").at(0);
  EXPECT_THAT(keys(policy), ElementsAre("policy", "completed_fps", "on_time_fps", "miss_percent",
                                        "switches", "launches", "tasks"));
  EXPECT_THAT(keys(policy.at("launches")),
              ElementsAre("recorded", "granted", "issued", "completed", "bypassed"));
  EXPECT_DOUBLE_EQ(policy.at("completed_fps").get<double>(), 60);
  EXPECT_DOUBLE_EQ(policy.at("on_time_fps").get<double>(), 45);
  EXPECT_DOUBLE_EQ(policy.at("miss_percent").get<double>(), 25);
  EXPECT_EQ(policy.at("switches"), 18);
  EXPECT_EQ(policy.at("launches").at("recorded"), 200);
  EXPECT_EQ(policy.at("tasks").size(), 2u);
}

TEST(DemoTracePathTest, EachPolicyHasItsOwnFile) {
  DemoOptions options;
  EXPECT_EQ(DemoTracePath(options, "naive"), "sgprs-demo-naive.trace.json");
  options.trace = "out.d/t.trace.json";
  EXPECT_EQ(DemoTracePath(options, "naive"), "out.d/t-naive.trace.json");
  options.trace = "t";
  EXPECT_EQ(DemoTracePath(options, "edf"), "t-edf");
  options.policies = {"edf"};
  EXPECT_EQ(DemoTracePath(options, "edf"), "t");
}

TEST(DemoConfigTest, QuotesPaths) {
  const std::string text = DemoConfig(DemoOptions(), "sgprs", "/tmp/a \"b\"/s", "/t\\x", "/j");
  EXPECT_THAT(text, HasSubstr("policy = \"sgprs\"\n"));
  EXPECT_THAT(text, HasSubstr("oversubscription = 1.5\n"));
  EXPECT_THAT(text, HasSubstr("path = \"/tmp/a \\\"b\\\"/s\"\n"));
  EXPECT_THAT(text, HasSubstr("file = \"/t\\\\x\"\n"));
  EXPECT_THAT(text, HasSubstr("[job_log]\ndirectory = \"/j\"\n"));
}

}  // namespace
}  // namespace sgprs::cli
