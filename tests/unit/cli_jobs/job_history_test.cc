// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/jobs/job_history.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/cli_jobs/written_log.h"

namespace sgprs::cli {
namespace {

std::vector<HistoryJob> All(JobHistory* history) {
  std::vector<HistoryJob> jobs;
  for (;;) {
    Result<std::optional<HistoryJob>> job = history->Next();
    EXPECT_TRUE(job.ok()) << job.status().text();
    if (!job.ok() || !job->has_value()) return jobs;
    jobs.push_back(std::move(**job));
  }
}

TEST(JobHistory, JobsInOrderWithTheirTasks) {
  WrittenLog log;
  log.Task(1, "cam");
  log.UsualJobs(1, 3);
  log.UsualJobs(9, 1);  // nobody said who that is
  const std::unique_ptr<JobHistory> history = log.Open();
  const std::vector<HistoryJob> jobs = All(history.get());
  ASSERT_EQ(jobs.size(), 4u);
  EXPECT_EQ(jobs[2].job.job, 3u);
  EXPECT_EQ(jobs[2].task->name, "cam");
  EXPECT_EQ(jobs[2].stages.size(), 1u);
  EXPECT_EQ(history->Label(*jobs[0].task), "cam");
  EXPECT_EQ(history->Label(*jobs[3].task), "client#9");
  EXPECT_STREQ(history->header().policy, "sgprs");
}

TEST(JobHistory, GrowsAndSkips) {
  WrittenLog log;
  log.Task(1, "cam");
  log.UsualJobs(1, 3);
  const std::unique_ptr<JobHistory> history = log.Open();
  ASSERT_TRUE(history->SkipToEnd().ok());
  EXPECT_TRUE(All(history.get()).empty());
  log.Job(UsualJob(1, 4, 5 * kNsPerSecond));
  log.Flush();
  const std::vector<HistoryJob> jobs = All(history.get());
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].job.job, 4u);
  EXPECT_EQ(jobs[0].task->name, "cam");
}

TEST(JobHistory, TasksAreFoundAsPeopleTypeThem) {
  WrittenLog log;
  log.Task(1, "cam");
  log.Task(2, "cam");
  log.Task(3, "lidar\x1b[2J");
  for (uint64_t id = 1; id <= 3; ++id) log.UsualJobs(id, 1);
  const std::unique_ptr<JobHistory> history = log.Open();
  All(history.get());
  EXPECT_EQ(history->Find("cam")->size(), 2u);
  EXPECT_EQ(history->Find("cam#2")->at(0)->client_id, 2u);
  EXPECT_EQ(history->Find("#1")->at(0)->client_id, 1u);
  EXPECT_EQ(history->Label(*history->Find("#1")->at(0)), "cam#1");
  EXPECT_EQ(history->Label(*history->Find("#3")->at(0)), "lidar?[2J");
  const Status none = history->Find("cma").status();
  EXPECT_EQ(none.code(), ErrorCode::kNotFound);
  EXPECT_THAT(none.text(), ::testing::HasSubstr("cam#1, cam#2, lidar?[2J"));
}

// Another process, as another daemon would be: its client ids begin anew.
TEST(JobHistory, OnlyTheNewestDaemonsJobs) {
  WrittenLog log;
  const pid_t before = fork();
  if (before == 0) {
    log.Task(1, "old");
    log.UsualJobs(1, 5);
    log.Flush();
    _exit(0);
  }
  waitpid(before, nullptr, 0);
  log.Task(1, "new");
  log.UsualJobs(1, 2);
  const std::unique_ptr<JobHistory> history = log.Open();
  EXPECT_EQ(All(history.get()).size(), 2u);
  ASSERT_EQ(history->Tasks().size(), 1u);
  EXPECT_EQ(history->Tasks()[0]->name, "new");
}

TEST(JobHistory, ADaemonThatStartsLaterIsAnotherRun) {
  WrittenLog log;
  const pid_t before = fork();
  if (before == 0) {
    log.Task(1, "old");
    log.UsualJobs(1, 5);
    log.Flush();
    _exit(0);
  }
  waitpid(before, nullptr, 0);
  Result<std::unique_ptr<JobHistory>> history = JobHistory::Open(log.directory());
  ASSERT_TRUE(history.ok());
  EXPECT_EQ(All(history->get()).size(), 5u);
  log.Task(1, "new");
  log.UsualJobs(1, 2);
  log.Flush();
  const std::vector<HistoryJob> jobs = All(history->get());
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[0].task->name, "new");
  EXPECT_EQ(jobs[0].task->run, 1u);
  EXPECT_EQ((*history)->Tasks()[0]->name, "old");
}

TEST(JobHistory, OneFileAndNoFile) {
  WrittenLog log;
  log.Task(1, "cam");
  log.UsualJobs(1, 2);
  log.Flush();
  Result<std::unique_ptr<JobHistory>> file = JobHistory::Open(log.directory() + "/jobs.0");
  ASSERT_TRUE(file.ok()) << file.status().text();
  EXPECT_EQ(All(file->get()).size(), 2u);
  EXPECT_EQ(JobHistory::Open(log.directory() + "/nothing").status().code(), ErrorCode::kNotFound);
  const std::string text = log.directory() + "/text";
  std::ofstream(text) << std::string(5000, 'x');
  EXPECT_EQ(JobHistory::Open(text).status().text(), text + " is not a job log");
}

TEST(JobHistory, AnotherVersionIsRefusedByName) {
  WrittenLog log;
  log.UsualJobs(1, 1);
  log.Flush();
  const std::string path = log.directory() + "/jobs.0";
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(offsetof(SgprsLogHeader, major));
  const uint16_t major = SGPRS_LOG_MAJOR + 1;
  file.write(reinterpret_cast<const char*>(&major), sizeof(major));
  file.close();
  const Status refused = JobHistory::Open(path).status();
  EXPECT_EQ(refused.code(), ErrorCode::kInvalid);
  EXPECT_THAT(refused.text(),
              ::testing::HasSubstr(fmt::format("version {}.{}", major, SGPRS_LOG_MINOR)));
}

}  // namespace
}  // namespace sgprs::cli
