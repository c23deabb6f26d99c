// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/state_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "runtime/base/clock.h"
#include "tools/sgprs/task_rates.h"

namespace sgprs::cli {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

SgprsTaskRow Task(const char* name, uint64_t id) {
  SgprsTaskRow row = {};
  std::strcpy(row.name, name);
  row.client_id = id;
  row.state = SGPRS_TASK_SCHEDULED;
  row.pid = 100 + static_cast<uint32_t>(id);
  row.period_ns = row.deadline_ns = 33'300'000;
  row.first_release_ns = 10 * kNsPerSecond;
  return row;
}

// A daemon at 20 s with one task that did 300 jobs in 10 s, 60 of them late, and skipped 100.
StateView View() {
  StateView view;
  view.now.read_ns = 20 * kNsPerSecond;
  view.now.header.alive_ns = view.now.read_ns;
  std::strcpy(view.now.header.policy, "sgprs");
  SgprsTaskRow row = Task("camera", 1);
  row.counters.jobs_completed = 300;
  row.counters.jobs_on_time = 240;
  row.counters.jobs_missed = 60;
  row.counters.jobs_skipped = 100;
  row.counters.recorded = 4711;
  view.now.tasks.push_back(row);
  return view;
}

TEST(TaskRatesTest, SkippedPeriodsAreMisses) {
  const StateView view = View();
  const SgprsTaskRow& row = view.now.tasks[0];
  const TaskRates rates = RatesOf(row.counters, LifeNs(row, view.now.read_ns));
  EXPECT_DOUBLE_EQ(rates.completed_fps, 30);
  EXPECT_DOUBLE_EQ(rates.on_time_fps, 24);
  EXPECT_DOUBLE_EQ(rates.miss_percent, 40);  // (60 + 100) of 400 due
  EXPECT_DOUBLE_EQ(rates.skip_percent, 25);
}

TEST(TaskRatesTest, NoJobsAndNoWindowAreZero) {
  EXPECT_EQ(RatesOf({}, kNsPerSecond).miss_percent, 0);
  EXPECT_EQ(RatesOf({}, kNsPerSecond).skip_percent, 0);
  EXPECT_EQ(RatesOf(View().now.tasks[0].counters, 0).completed_fps, 0);
}

TEST(TaskRatesTest, AnEndedTaskIsMeasuredToItsLastCompletion) {
  SgprsTaskRow row = Task("a", 1);
  row.state = SGPRS_TASK_GONE;
  row.last_complete_ns = 15 * kNsPerSecond;
  EXPECT_EQ(LifeNs(row, 100 * kNsPerSecond), 5 * kNsPerSecond);
}

TEST(TaskRatesTest, DifferenceNeverWraps) {
  SgprsTaskCounters a = {};
  SgprsTaskCounters b = {};
  a.recorded = 10;
  b.recorded = 3;
  b.issued = 2;
  EXPECT_EQ(Difference(b, a).recorded, 0u);
  EXPECT_EQ(Difference(b, a).issued, 2u);
}

TEST(StateViewTest, TasksShowBothFpsMissesAndLaunches) {
  const std::string text = TasksText(View());
  for (const char* part :
       {"camera", "scheduled", "33.3ms", "30.0", "24.0", "40.0", "25.0", "4711"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(StateViewTest, AWindowTakesDifferences) {
  StateView view = View();
  view.before = view.now.tasks;
  view.before_ns = view.now.read_ns - kNsPerSecond;
  view.now.tasks[0].counters.jobs_completed += 7;
  view.now.tasks[0].counters.jobs_on_time += 7;
  const Json task = TasksJson(view).at("tasks").at(0);
  EXPECT_DOUBLE_EQ(task.at("completed_fps").get<double>(), 7);
  EXPECT_DOUBLE_EQ(task.at("miss_percent").get<double>(), 0);
  EXPECT_EQ(task.at("counters").at("jobs_completed").get<uint64_t>(), 307u);
}

TEST(StateViewTest, JsonNamesEveryCounterAndItsVersion) {
  const Json json = TasksJson(View());
  EXPECT_EQ(json.at("version"), 1);
  const Json counters = json.at("tasks").at(0).at("counters");
#define SGPRS_COUNTER(name, unit, help) EXPECT_TRUE(counters.contains(#name));
#include "sgprs/abi/task_counters.inc"
#undef SGPRS_COUNTER
  EXPECT_EQ(StatusJson(View()).at("version"), 1);
  EXPECT_EQ(PartitionsJson(View()).at("version"), 1);
}

TEST(StateViewTest, NamesThatAreNoUtf8StayJson) {
  StateView view = View();
  view.now.tasks[0].name[0] = '\xff';
  EXPECT_FALSE(Json::parse(JsonText(TasksJson(view)), nullptr, false).is_discarded());
}

TEST(StateViewTest, HealthyMeansNothingDegraded) {
  EXPECT_THAT(Degradations(View().now), IsEmpty());
  EXPECT_THAT(StatusText(View()), HasSubstr("health      good"));
}

TEST(StateViewTest, NamesWhatIsDegraded) {
  StateView view = View();
  view.now.header.alive_ns = view.now.read_ns - 5 * kNsPerSecond;
  view.now.header.clients_refused = 2;
  view.now.header.clients_cut = 3;
  view.now.torn_rows = 1;
  view.now.tasks[0].state = SGPRS_TASK_BYPASSED;
  SgprsPartitionRow partition = {};
  partition.index = 1;
  partition.stalled = 1;
  view.now.partitions.push_back(partition);
  const std::vector<std::string> lines = Degradations(view.now);
  EXPECT_THAT(lines, Contains(HasSubstr("has not turned its loop for 5s")));
  EXPECT_THAT(lines, Contains(HasSubstr("partition 1 is stalled")));
  EXPECT_THAT(lines, Contains(HasSubstr("task camera (pid 101) is bypassed")));
  EXPECT_THAT(lines, Contains(HasSubstr("2 processes were refused")));
  EXPECT_THAT(lines, Contains(HasSubstr("3 clients were cut")));
  EXPECT_THAT(StatusText(view), HasSubstr("health      degraded"));
  EXPECT_EQ(StatusJson(view).at("degraded").size(), lines.size());
}

TEST(StateViewTest, ATaskWithoutDeadlineHasNoMisses) {
  StateView view = View();
  view.now.tasks[0].deadline_ns = 0;
  EXPECT_THAT(TasksText(view), Not(HasSubstr("40.0")));
  EXPECT_DOUBLE_EQ(StatusJson(view).at("miss_percent").get<double>(), 0);
}

// The columns stand above their values: a task without a period has no frame due.
TEST(StateViewTest, ATaskWithoutPeriodSkipsNothing) {
  StateView view = View();
  EXPECT_DOUBLE_EQ(TasksJson(view).at("tasks").at(0).at("skip_percent").get<double>(), 25);
  EXPECT_THAT(TasksText(view), HasSubstr("MISS%  SKIP%"));
  view.now.tasks[0].period_ns = 0;
  EXPECT_THAT(TasksText(view), HasSubstr("40.0"));
  EXPECT_THAT(TasksText(view), Not(HasSubstr("25.0")));
}

}  // namespace
}  // namespace sgprs::cli
