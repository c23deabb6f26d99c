// SPDX-License-Identifier: Apache-2.0
// Traces as sgprsd writes them (runtime/observe), read back and replayed.
#include "tools/sgprs/trace_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "runtime/model/virtual_run.h"
#include "runtime/observe/schedule_trace.h"
#include "tests/unit/cli/xml_check.h"
#include "tools/sgprs/demo_pictures.h"
#include "tools/sgprs/sim_replay.h"

namespace sgprs::cli {
namespace {

using ::testing::HasSubstr;

Result<RecordedTrace> Parse(const std::string& text) {
  std::istringstream stream(text);
  return ParseTrace(&stream);
}

TEST(TraceReaderTest, RefusesWhatItCanNotRead) {
  const std::string version2 =
      R"({"traceEvents":[{"ph":"M","name":"sgprs_trace","pid":0,"args":{"version":2}}]})";
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"", "no trace"},
      {"[]", "no trace"},
      {"{", "no trace"},
      {"{\"traceEvents\":[]}", "not a trace of sgprsd"},
      {version2, "version 2; this sgprs reads version 1"},
      // Another program's trace, or one from before there were versions.
      {R"({"traceEvents":[{"ph":"X","name":"a","pid":2,"tid":1,"ts":1,"dur":1}]})",
       "not a trace of sgprsd"},
      {R"({"traceEvents":[{"ph":"M","name":"sgprs_trace","args":{}}]})", "not whole"},
      {R"({"traceEvents":[{"ph":"M","name":"sgprs_trace","args":{"version":1}},)"
       R"({"ph":"X","name":"s","pid":2,"ts":-5,"dur":1,"args":{"task":1}}]})",
       "not whole"},
  };
  for (const auto& [text, part] : texts) {
    const Result<RecordedTrace> trace = Parse(text);
    ASSERT_FALSE(trace.ok()) << text;
    EXPECT_THAT(trace.status().text(), HasSubstr(part)) << text;
    EXPECT_EQ(trace.status().text().find('\n'), std::string::npos);
  }
}

// A virtual run as sgprsd would have written it down, with an uptime of 20 000 s.
class RecordedRunTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kUptimeNs = 20'237'175'152'016;

  void SetUp() override {
    model::Scenario scenario;
    scenario.warmup_ns = 0;
    scenario.horizon_ns = 1'000'000'000;
    model::TaskGroup group;
    group.task.name = "net";
    group.count = 6;
    scenario.groups.push_back(group);
    model::RunOptions keep;
    keep.keep_jobs = keep.keep_stages = true;
    Result<model::SimResult> run = model::Run(scenario, keep);
    ASSERT_TRUE(run.ok()) << run.status().text();
    run_ = std::move(run).value();
    path_ = ::testing::TempDir() + "/recorded-" + std::to_string(getpid()) + ".json";
    Write();
  }
  void TearDown() override { unlink(path_.c_str()); }

  void Write() {
    observe::ScheduleTrace trace(observe::TraceFile::Open(path_).value());
    trace.SetPool({"simulated NVIDIA GeForce RTX 2080 Ti", 68, "sgprs"});
    for (uint32_t i = 0; i < run_.partitions.size(); ++i) {
      trace.AddPartition(i, run_.partitions[i].sm_count);
    }
    for (uint32_t i = 0; i < run_.tasks.size(); ++i) {
      trace.AddTask(100 + i, "label",
                    {run_.tasks[i].name, SGPRS_CLASS_LOW, 33'333'333, 33'333'333});
    }
    for (const model::StageRow& stage : run_.stages) {
      if (stage.end_ns == 0) continue;
      trace.AddStage({.task = 100 + stage.task,
                      .job = stage.job,
                      .stage = stage.stage,
                      .stage_count = stage.stage_count,
                      .partition = stage.partition,
                      .level = static_cast<uint32_t>(stage.level),
                      .switched = stage.switched,
                      .launches = 4,
                      .granted_ns = kUptimeNs + stage.start_ns,
                      .first_issue_ns = kUptimeNs + stage.start_ns,
                      .complete_ns = kUptimeNs + stage.end_ns});
    }
    for (const model::JobRow& job : run_.jobs) {
      if (job.complete_ns == 0) continue;
      trace.AddJob({.task = 100 + job.task,
                    .job = job.job,
                    .release_ns = kUptimeNs + job.release_ns,
                    .complete_ns = kUptimeNs + job.complete_ns,
                    .deadline_ns = kUptimeNs + job.deadline_ns,
                    .on_time = job.on_time});
    }
  }

  model::SimResult run_;
  std::string path_;
};

TEST_F(RecordedRunTest, ComesBackToTheNanosecond) {
  const Result<RecordedTrace> trace = ReadTrace(path_);
  ASSERT_TRUE(trace.ok()) << trace.status().text();
  EXPECT_EQ(trace->policy, "sgprs");
  EXPECT_EQ(trace->device_sm_count, 68u);
  EXPECT_EQ(trace->sm_counts.size(), run_.partitions.size());
  ASSERT_EQ(trace->tasks.size(), 6u);
  EXPECT_EQ(trace->tasks[3].name, run_.tasks[3].name);
  EXPECT_EQ(trace->tasks[3].period_ns, 33'333'333u);
  ASSERT_EQ(trace->stages.size(), run_.stages.size());
  uint64_t recorded_ns = 0;
  uint64_t read_ns = 0;
  for (const model::StageRow& stage : run_.stages) recorded_ns += stage.end_ns - stage.start_ns;
  for (const RecordedStage& stage : trace->stages) read_ns += stage.row.end_ns - stage.row.start_ns;
  EXPECT_EQ(read_ns, recorded_ns);
  EXPECT_EQ(trace->stages.front().launches, 4u);
  ASSERT_EQ(trace->jobs.size(), run_.jobs.size());
  EXPECT_EQ(trace->jobs.front().release_ns,
            kUptimeNs + std::min_element(run_.jobs.begin(), run_.jobs.end(),
                                         [](const model::JobRow& a, const model::JobRow& b) {
                                           return a.release_ns < b.release_ns;
                                         })
                            ->release_ns);
}

TEST_F(RecordedRunTest, ReplaysUnderEachPolicy) {
  const Result<RecordedTrace> trace = ReadTrace(path_);
  ASSERT_TRUE(trace.ok());
  Result<ReplayInput> input = MakeReplay(*trace, "");
  ASSERT_TRUE(input.ok()) << input.status().text();
  EXPECT_EQ(input->jobs, run_.jobs.size());
  EXPECT_EQ(input->recorded.completed, run_.jobs.size());
  for (const char* policy : {"sgprs", "naive", "fifo", "edf"}) {
    input->scenario.policy = policy;
    const Result<model::SimResult> replayed = model::Run(input->scenario);
    ASSERT_TRUE(replayed.ok()) << replayed.status().text();
    // Six tasks are no load: whatever decides, all frames are completed, on time.
    EXPECT_EQ(replayed->completed, input->jobs) << policy;
    EXPECT_EQ(replayed->on_time, input->jobs) << policy;
  }
}

TEST_F(RecordedRunTest, ReportHasTheRecordedRunFirst) {
  SimOptions options;
  options.replay = path_;
  options.policies = {"edf"};
  const Result<SimReport> report = ReplayReport(options);
  ASSERT_TRUE(report.ok()) << report.status().text();
  const Json& series = report->json.at("series");
  ASSERT_EQ(series.size(), 3u);  // as recorded, the recorded policy, edf
  EXPECT_EQ(series[0]["policy"], "sgprs as recorded");
  EXPECT_EQ(series[1]["policy"], "sgprs");
  EXPECT_EQ(series[2]["policy"], "edf");
  EXPECT_EQ(report->json.at("jobs"), run_.jobs.size());
  EXPECT_EQ(ReplayReport(options)->json.dump(), report->json.dump());
}

TEST_F(RecordedRunTest, JobsThatAreNotWholeAreLeftOut) {
  Result<RecordedTrace> trace = ReadTrace(path_);
  ASSERT_TRUE(trace.ok());
  trace->stages.front().learning = true;
  trace->stages.pop_back();
  const Result<ReplayInput> input = MakeReplay(*trace, "");
  ASSERT_TRUE(input.ok());
  EXPECT_EQ(input->jobs_left_out, 2u);
  trace->stages.clear();
  EXPECT_THAT(MakeReplay(*trace, "").status().text(), HasSubstr("no whole job"));
}

TEST_F(RecordedRunTest, AnUnknownDeviceIsSaid) {
  Result<RecordedTrace> trace = ReadTrace(path_);
  trace->device = "Voodoo 2";
  EXPECT_THAT(MakeReplay(*trace, "").status().text(), HasSubstr("--device"));
  EXPECT_EQ(MakeReplay(*trace, "a100")->scenario.device, "a100");
}

TEST_F(RecordedRunTest, DemoDrawsTheMiddleOfItsWindow) {
  DemoResult result;
  result.policy = "sgprs";
  result.device = "rtx";
  result.window_begin_ns = kUptimeNs;
  result.window_ns = 900'000'000;
  const Gantt gantt = DemoGantt({}, result, *ReadTrace(path_));
  EXPECT_EQ(gantt.from_ns, kUptimeNs + 400'000'000);
  EXPECT_EQ(gantt.to_ns, kUptimeNs + 500'000'000);
  const std::string svg = DrawGantt(gantt);
  EXPECT_EQ(CheckXml(svg).error, "");
  EXPECT_THAT(svg, HasSubstr("net-5, job"));
}

TEST(DemoPicturePathTest, LieBesideTheTraces) {
  DemoOptions options;
  EXPECT_EQ(DemoRatesPath(options), "sgprs-demo.rates.svg");
  EXPECT_EQ(DemoGanttPath(options, "naive"), "sgprs-demo-naive.gantt.svg");
  options.trace = "out.d/t.trace.json";
  EXPECT_EQ(DemoRatesPath(options), "out.d/t.rates.svg");
  EXPECT_EQ(DemoGanttPath(options, "naive"), "out.d/t-naive.gantt.svg");
}

}  // namespace
}  // namespace sgprs::cli
