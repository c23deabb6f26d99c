// SPDX-License-Identifier: Apache-2.0
#include "runtime/observe/open_metrics.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace sgprs::observe {
namespace {

struct Parsed {
  std::map<std::string, std::string> type;  // of each family
  std::map<std::string, std::string> unit;
  std::map<std::string, std::string> samples;  // "name{labels}" -> value
  std::vector<std::string> wrong;
};

// Family of a sample's name: without what its type appends.
std::string FamilyOf(const Parsed& parsed, const std::string& name) {
  if (parsed.type.contains(name)) return name;
  for (const char* suffix : {"_total", "_bucket", "_sum", "_count"}) {
    const std::string end = suffix;
    if (!name.ends_with(end)) continue;
    const std::string family = name.substr(0, name.size() - end.size());
    if (parsed.type.contains(family)) return family;
  }
  return "";
}

// The rules of OpenMetrics 1.0 that this text can break.
Parsed Parse(const std::string& text) {
  Parsed parsed;
  std::istringstream lines(text);
  std::string line;
  std::string current;
  bool ended = false;
  while (std::getline(lines, line)) {
    if (ended) parsed.wrong.push_back("after # EOF: " + line);
    std::istringstream words(line);
    std::string first, what, name;
    words >> first;
    if (line == "# EOF") {
      ended = true;
    } else if (first == "#") {
      words >> what >> name;
      std::string rest;
      words >> rest;
      if (what == "TYPE") {
        if (!parsed.type.emplace(name, rest).second) parsed.wrong.push_back("twice: " + name);
        current = name;
      } else if (name != current) {
        parsed.wrong.push_back("not beside its TYPE: " + line);
      }
      if (what == "UNIT") {
        parsed.unit[name] = rest;
        if (!name.ends_with("_" + rest)) parsed.wrong.push_back("unit is not in the name: " + line);
      }
    } else {
      const size_t space = line.rfind(' ');
      const std::string series = line.substr(0, space);
      const std::string sample = series.substr(0, series.find('{'));
      if (FamilyOf(parsed, sample) != current) parsed.wrong.push_back("not in a family: " + line);
      const std::string& type = parsed.type[current];
      if (type == "counter" && !sample.ends_with("_total")) parsed.wrong.push_back(line);
      if (type == "gauge" && sample != current) parsed.wrong.push_back(line);
      if (!parsed.samples.emplace(series, line.substr(space + 1)).second) {
        parsed.wrong.push_back("twice: " + series);
      }
    }
  }
  if (!ended) parsed.wrong.push_back("no # EOF");
  return parsed;
}

TaskMetrics Task(uint64_t id, const char* name) {
  TaskMetrics task;
  task.row.state = SGPRS_TASK_SCHEDULED;
  task.row.client_id = id;
  std::strncpy(task.row.name, name, SGPRS_NAME_BYTES - 1);
  task.row.counters.jobs_completed = 42;
  task.row.counters.gpu_ns = 1'500'000'001;
  return task;
}

TEST(OpenMetrics, KeepsToTheFormatAndShowsEveryList) {
  PhaseHistograms phases;
  SgprsLogJob job = {};
  job.due_ns = 1'000'000;
  job.expire_ns = 1'003'000;  // 3 us: bucket [2, 4)
  job.release_ns = 1'000'000;
  job.complete_ns = 9'000'000;
  phases.Add(job);
  TaskMetrics task = Task(7, "camera");
  task.phases = &phases;
  SgprsPartitionRow partition = {};
  partition.index = 1;
  partition.sm_count = 23;
  SgprsStateHeader header = {};
  header.grants = 5;
  const std::string text = OpenMetricsText(header, {&partition, 1}, {&task, 1}, {.lost = 3});
  const Parsed parsed = Parse(text);
  for (const std::string& wrong : parsed.wrong) ADD_FAILURE() << wrong;
  const auto& samples = parsed.samples;
  const std::string labels = "task=\"camera\",client=\"7\"";
  EXPECT_EQ(samples.at("sgprs_grants_total"), "5");
  EXPECT_EQ(samples.at("sgprs_probe_records_lost_total"), "3");
  EXPECT_EQ(samples.at("sgprs_partition_sms{partition=\"1\"}"), "23");
  EXPECT_EQ(samples.at("sgprs_task_jobs_completed_total{" + labels + "}"), "42");
  EXPECT_EQ(samples.at("sgprs_task_gpu_seconds_total{" + labels + "}"), "1.500000001");
  const std::string timer = "sgprs_task_phase_timer_seconds";
  EXPECT_EQ(samples.at(timer + "_bucket{" + labels + ",le=\"0.000002000\"}"), "0");
  EXPECT_EQ(samples.at(timer + "_bucket{" + labels + ",le=\"0.000004000\"}"), "1");
  EXPECT_EQ(samples.at(timer + "_bucket{" + labels + ",le=\"+Inf\"}"), "1");
  EXPECT_EQ(samples.at(timer + "_count{" + labels + "}"), "1");
  EXPECT_EQ(samples.at(timer + "_sum{" + labels + "}"), "0.000003000");
#define SGPRS_COUNTER(name, unit, help)                                          \
  if (std::string(unit) != "ns") {                                               \
    EXPECT_TRUE(samples.contains("sgprs_task_" #name "_total{" + labels + "}")); \
  }
#include "sgprs/abi/task_counters.inc"
#undef SGPRS_COUNTER
}

TEST(OpenMetrics, NamesOfClientsCanNotBreakTheText) {
  const TaskMetrics tasks[] = {Task(1, "a\"} 1\nsgprs_evil 7"), Task(2, "back\\slash\x01")};
  const std::string text = OpenMetricsText({}, {}, tasks, {});
  EXPECT_TRUE(Parse(text).wrong.empty());
  EXPECT_NE(text.find("task=\"a\\\"} 1\\nsgprs_evil 7\""), std::string::npos);
  EXPECT_NE(text.find("task=\"back\\\\slash?\""), std::string::npos);
}

TEST(OpenMetrics, FreeRowsAreLeftOut) {
  TaskMetrics free_row = Task(9, "retired-one");
  free_row.row.state = SGPRS_TASK_NONE;
  EXPECT_EQ(OpenMetricsText({}, {}, {&free_row, 1}, {}).find("retired-one"), std::string::npos);
}

TEST(OpenMetrics, HttpAnswerSaysHowLongItIs) {
  const std::string answer = OpenMetricsHttp("abc\n# EOF\n");
  EXPECT_NE(answer.find("Content-Length: 10\r\n"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("\r\n\r\nabc\n# EOF\n"));
}

TEST(JobPhases, AreWhatLiesBetweenTheStamps) {
  SgprsLogJob job = {};
  job.release_ns = 1000;
  job.due_ns = 1000;
  job.expire_ns = 1100;
  job.wakeup_ns = 1150;
  job.on_cpu_ns = 1400;
  job.wait_exit_ns = 1450;
  job.first_launch_ns = 5000;
  job.first_grant_ns = 5100;
  job.first_issue_ns = 5300;
  job.complete_ns = 9000;
  const std::map<std::string, uint64_t> wanted = {
      {"timer", 100}, {"wakeup", 50}, {"run_queue", 250}, {"return", 50},    {"user", 3550},
      {"queue", 100}, {"issue", 200}, {"execute", 3700},  {"response", 8000}};
  for (const JobPhaseInfo& phase : kJobPhases) {
    EXPECT_EQ(PhaseNs(job, phase.phase), wanted.at(phase.name)) << phase.name;
  }
  job.expire_ns = 0;  // not seen
  EXPECT_EQ(PhaseNs(job, JobPhase::k_timer), std::nullopt);
  EXPECT_EQ(PhaseNs(job, JobPhase::k_wakeup), std::nullopt);
  job.first_grant_ns = 4000;  // before the launch: granted ahead
  EXPECT_EQ(PhaseNs(job, JobPhase::k_queue), std::nullopt);
}

TEST(PhaseHistogram, QuantilesLieInTheirBuckets) {
  PhaseHistogram histogram;
  EXPECT_EQ(histogram.QuantileNs(0.5), 0u);
  for (int i = 0; i < 99; ++i) histogram.Add(100'000);  // [64, 128) us
  histogram.Add(10'000'000);                            // [8192, 16384) us
  EXPECT_GE(histogram.QuantileNs(0.5), 64'000u);
  EXPECT_LT(histogram.QuantileNs(0.5), 128'000u);
  EXPECT_LE(histogram.QuantileNs(0.99), 128'000u);
  EXPECT_GE(histogram.QuantileNs(1.0), 8'192'000u);
  histogram.Add(0);
  histogram.Add(UINT64_MAX);  // beyond every bucket
  EXPECT_EQ(histogram.count(), 102u);
  EXPECT_EQ(histogram.bucket(PhaseHistogram::kBuckets - 1), 1u);
}

}  // namespace
}  // namespace sgprs::observe
