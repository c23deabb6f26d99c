// SPDX-License-Identifier: Apache-2.0
#include "runtime/observe/schedule_trace.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

namespace sgprs::observe {
namespace {

using nlohmann::json;

class ScheduleTraceTest : public ::testing::Test {
 protected:
  ScheduleTraceTest()
      : path_(::testing::TempDir() + "/schedule-" + std::to_string(getpid()) + ".json"),
        trace_(std::make_unique<ScheduleTrace>(TraceFile::Open(path_).value())) {
    trace_->AddPartition(0, 34);
    trace_->AddTask(7, "task seven (pid 1)",
                    {.name = "task \"seven\"",
                     .task_class = SGPRS_CLASS_HIGH,
                     .period_ns = 33'333'333,
                     .deadline_ns = 20'000'000});
  }
  ~ScheduleTraceTest() override { unlink(path_.c_str()); }

  std::vector<json> Events(const std::string& phase) {
    trace_.reset();
    std::ifstream file(path_);
    std::vector<json> found;
    const json parsed = json::parse(file);
    for (const json& event : parsed["traceEvents"]) {
      if (event["ph"] == phase) found.push_back(event);
    }
    return found;
  }
  std::vector<json> Slices() { return Events("X"); }
  StageTrace Stage(uint64_t task, uint32_t stage, uint64_t begin_ns, uint64_t end_ns) {
    return {.task = task,
            .job = 1,
            .stage = stage,
            .granted_ns = begin_ns,
            .first_issue_ns = begin_ns,
            .complete_ns = end_ns};
  }

  std::string path_;
  std::unique_ptr<ScheduleTrace> trace_;
};

TEST_F(ScheduleTraceTest, StagesLieInTheirJob) {
  trace_->AddStage(Stage(7, 0, 2000, 3000));
  trace_->AddStage(Stage(7, 1, 2900, 4000));  // began before its predecessor was seen to end
  trace_->AddJob({.task = 7, .job = 1, .release_ns = 1000, .complete_ns = 4000});
  std::map<std::string, json> by_name;
  for (const json& slice : Slices()) {
    if (slice["pid"] == 1) by_name[slice["name"]] = slice;
  }
  ASSERT_EQ(by_name.size(), 3u);
  EXPECT_NEAR(by_name["job 1 on time"]["ts"].get<double>(), 1.0, 0.0005);
  EXPECT_NEAR(by_name["job 1 on time"]["dur"].get<double>(), 3.0, 0.0005);
  EXPECT_NEAR(by_name["stage 2"]["ts"].get<double>(), 3.0, 0.0005);  // they do not overlap
}

TEST_F(ScheduleTraceTest, LateJobDoesNotOverlapItsSuccessor) {
  trace_->AddJob({.task = 7, .job = 1, .release_ns = 1000, .complete_ns = 5000, .on_time = false});
  trace_->AddJob({.task = 7, .job = 2, .release_ns = 3000, .complete_ns = 6000});
  const std::vector<json> slices = Slices();
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[0]["name"], "job 1 missed");
  EXPECT_NEAR(slices[1]["ts"].get<double>(), 5.0, 0.0005);
  EXPECT_EQ(slices[1]["args"]["release_ns"], 3000);
  EXPECT_EQ(slices[1]["args"]["response_ns"], 3000);
}

// The successor's first stage was issued before the late job ended: job and stage would begin at
// once.
TEST_F(ScheduleTraceTest, StageBeginsBehindItsJob) {
  trace_->AddJob({.task = 7, .job = 1, .release_ns = 1000, .complete_ns = 5000, .on_time = false});
  trace_->AddStage(Stage(7, 0, 4000, 5500));
  trace_->AddJob({.task = 7, .job = 2, .release_ns = 3000, .complete_ns = 6000});
  std::map<std::string, double> begin;
  for (const json& slice : Slices()) begin[slice["name"]] = slice["ts"].get<double>();
  EXPECT_LT(begin["job 2 on time"], begin["stage 1"]);
}

// Perfetto names threads by their ids, whatever the process.
TEST_F(ScheduleTraceTest, TracksHaveIdsOfTheirOwn) {
  for (uint64_t task = 8; task < 300; ++task) trace_->AddTask(task, "t", {});
  for (uint32_t partition = 0; partition < 3; ++partition) {
    StageTrace stage = Stage(7, partition, 1000 + partition * 1000, 2000 + partition * 1000);
    stage.partition = partition;
    trace_->AddStage(stage);
  }
  std::map<uint64_t, int> seen;
  for (const json& event : Events("M")) {
    if (event["name"] == "thread_name") ++seen[event["tid"].get<uint64_t>()];
  }
  for (const auto& [tid, times] : seen) EXPECT_EQ(times, 1) << tid;
}

TEST_F(ScheduleTraceTest, ConcurrentStagesOfAPartitionGetTracksOfTheirOwn) {
  trace_->AddTask(8, "task eight", {});
  trace_->AddStage(Stage(7, 0, 1000, 3000));
  trace_->AddStage(Stage(8, 0, 2000, 4000));
  trace_->AddStage(Stage(7, 1, 3000, 5000));  // the first track is free again
  std::vector<int> tracks;
  for (const json& slice : Slices()) {
    if (slice["pid"] == 2) tracks.push_back(slice["tid"]);
  }
  ASSERT_EQ(tracks.size(), 3u);
  EXPECT_NE(tracks[0], tracks[1]);
  EXPECT_EQ(tracks[0], tracks[2]);
}

TEST_F(ScheduleTraceTest, FactsAreThereForWhoReadsItBack) {
  trace_->SetPool({.device = "a \"device\"", .sm_count = 68, .policy = "sgprs"});
  std::map<std::string, json> facts;
  for (const json& event : Events("M")) facts[event["name"]] = event["args"];
  EXPECT_EQ(facts["sgprs_trace"], json::parse(R"({"version": 1})"));
  EXPECT_EQ(facts["sgprs_pool"],
            json::parse(R"({"device": "a \"device\"", "sm_count": 68, "policy": "sgprs"})"));
  EXPECT_EQ(facts["sgprs_partition"], json::parse(R"({"partition": 0, "sm_count": 34})"));
  EXPECT_EQ(facts["sgprs_task"],
            json::parse(R"({"task": 7, "name": "task \"seven\"", "class": "high",
                            "period_ns": 33333333, "deadline_ns": 20000000})"));
}

TEST_F(ScheduleTraceTest, LaunchesAreSaidWhereTheyAreKnown) {
  StageTrace stage = Stage(7, 0, 1000, 3000);
  trace_->AddStage(stage);
  stage.launches = 12;
  trace_->AddStage(stage);
  const std::vector<json> slices = Slices();
  EXPECT_FALSE(slices[0]["args"].contains("launches"));
  EXPECT_EQ(slices.back()["args"]["launches"], 12);
}

TEST_F(ScheduleTraceTest, VirtualDeadlineIsInTheArguments) {
  StageTrace stage = Stage(7, 0, 1000, 3000);
  stage.virtual_deadline_ns = 2999;
  stage.level = SGPRS_LEVEL_MEDIUM;
  trace_->AddStage(stage);
  const json args = Slices()[0]["args"];
  EXPECT_EQ(args["virtual_deadline_met"], false);
  EXPECT_EQ(args["level"], "medium");
}

}  // namespace
}  // namespace sgprs::observe
