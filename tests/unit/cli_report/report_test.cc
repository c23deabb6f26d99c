// SPDX-License-Identifier: Apache-2.0
// What a report says of a log whose jobs are known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/cli_jobs/written_log.h"
#include "tools/sgprs/report/report_data.h"
#include "tools/sgprs/report/report_html.h"

namespace sgprs::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ReportData Read(WrittenLog* log) {
  log->Flush();
  Result<ReportData> data = ReadReport(log->directory());
  EXPECT_TRUE(data.ok()) << data.status().text();
  return data.ok() ? std::move(data).value() : ReportData{};
}

// 100 usual jobs of client 1, released every period from 1 s on; then three that missed.
void WriteMisses(WrittenLog* log) {
  log->Task(1, "cam");
  log->UsualJobs(1, 100);
  const uint64_t from_ns = 2 * kNsPerSecond;
  for (uint64_t i = 0; i < 3; ++i) {
    SgprsLogJob job = UsualJob(1, 101 + i, from_ns + i * kNsPerSecond);
    Delay(&job, i < 2 ? &SgprsLogJob::on_cpu_ns : &SgprsLogJob::complete_ns, (8 + i) * kNsPerMs);
    log->Job(job);
  }
}

TEST(ReportDataTest, CausesAddUpToTheMisses) {
  WrittenLog log;
  WriteMisses(&log);
  const ReportData data = Read(&log);
  EXPECT_EQ(data.all.jobs(), 103u);
  EXPECT_EQ(data.all.missed(), 3u);
  EXPECT_EQ(data.causes.at(JobPart::k_run_queue).jobs, 2u);
  EXPECT_EQ(data.causes.at(JobPart::k_execute).jobs, 1u);
  EXPECT_EQ(data.causes.size(), 2u);
  EXPECT_EQ(data.tasks.at(0).causes.at(JobPart::k_run_queue).jobs, 2u);
  // 3.55 ms + 9 ms, due after 10 ms.
  EXPECT_EQ(data.causes.at(JobPart::k_run_queue).worst_late_ns, 2'550'000u);
  EXPECT_EQ(ReportJson(data).at("causes").at("run_queue"), 2u);
}

TEST(ReportDataTest, TheWorstComeFirstAndAreDrawn) {
  WrittenLog log;
  WriteMisses(&log);
  const ReportData data = Read(&log);
  ASSERT_EQ(data.worst.size(), 3u);
  EXPECT_EQ(data.worst[0].job.job.job, 103u);
  EXPECT_EQ(data.worst[0].diagnosis.cause, JobPart::k_execute);
  ASSERT_EQ(data.windows.size(), 3u);
  const ReportWindow& window = data.windows[0];
  EXPECT_EQ(window.job, 103u);
  ASSERT_EQ(window.jobs.size(), 1u);
  ASSERT_EQ(window.stages.size(), 1u);
  EXPECT_FALSE(window.jobs[0].on_time);
  EXPECT_LT(window.from_ns, window.jobs[0].release_ns);
  EXPECT_GT(window.to_ns, window.stages[0].end_ns);
}

TEST(ReportDataTest, RatesAreOverTheTimeThatTheTaskRan) {
  WrittenLog log;
  log.Task(1, "cam");
  log.UsualJobs(1, 101);  // 100 periods of 10 ms and the last response
  const ReportData data = Read(&log);
  EXPECT_NEAR(data.tasks.at(0).rates().completed_fps, 101 / 1.00355, 1e-6);
  EXPECT_EQ(data.tasks.at(0).rates().miss_percent, 0);
}

TEST(ReportDataTest, WithoutMissesTheSlowestJobIsDrawn) {
  WrittenLog log;
  log.Task(1, "cam");
  log.UsualJobs(1, 20);
  SgprsLogJob slow = UsualJob(1, 21, 5 * kNsPerSecond);
  Delay(&slow, &SgprsLogJob::complete_ns, kNsPerMs);
  log.Job(slow);
  const ReportData data = Read(&log);
  EXPECT_TRUE(data.worst.empty());
  ASSERT_EQ(data.windows.size(), 1u);
  EXPECT_EQ(data.windows[0].job, 21u);
  EXPECT_THAT(ReportHtml(data), HasSubstr("No deadline was missed"));
  EXPECT_THAT(ReportHtml(data), HasSubstr("the slowest of all"));
}

TEST(ReportDataTest, LearningJobsAreCountedAndNotExplained) {
  WrittenLog log;
  log.Task(1, "cam");
  log.UsualJobs(1, 20);
  SgprsLogJob job = UsualJob(1, 21, 5 * kNsPerSecond);
  Delay(&job, &SgprsLogJob::complete_ns, 50 * kNsPerMs);
  job.flags |= SGPRS_LOG_LEARNING;
  log.Job(job);
  const ReportData data = Read(&log);
  EXPECT_EQ(data.all.missed(), 1u);
  EXPECT_EQ(data.missed_learning, 1u);
  EXPECT_TRUE(data.causes.empty());
}

TEST(ReportDataTest, WhatIsKeptIsBounded) {
  WrittenLog log;
  log.Task(1, "cam");
  for (uint64_t i = 0; i < 5000; ++i) {  // more than a window holds, all within 25 ms, all late
    SgprsLogJob job = UsualJob(1, i + 1, kNsPerSecond + i * 5 * kNsPerUs);
    Delay(&job, &SgprsLogJob::complete_ns, kNsPerSecond);
    log.Job(job);
  }
  const ReportData data = Read(&log);
  EXPECT_LE(data.worst.size(), ReportData::kMostMisses);
  for (const ReportWindow& window : data.windows) {
    EXPECT_LE(window.jobs.size(), ReportData::kMostRows);
    EXPECT_LE(window.to_ns - window.from_ns, ReportData::kLongestWindowNs);
  }
  EXPECT_EQ(data.windows.at(0).jobs.size() + data.windows.at(0).left_out, data.all.jobs());
}

TEST(ReportDataTest, AnEmptyLogIsAnError) {
  WrittenLog log;
  log.Task(1, "cam");
  log.Flush();
  const Result<ReportData> data = ReadReport(log.directory());
  ASSERT_FALSE(data.ok());
  EXPECT_THAT(data.status().text(), HasSubstr("no job"));
}

TEST(ReportHtmlTest, NoNameBecomesMarkup) {
  WrittenLog log;
  log.Task(1, "</script><b x='\"&");
  log.UsualJobs(1, 10);
  const std::string html = ReportHtml(Read(&log));
  EXPECT_THAT(html, Not(HasSubstr("<b x")));
  size_t closed = 0;
  for (size_t at = html.find("</script>"); at != std::string::npos;
       at = html.find("</script>", at + 1)) {
    ++closed;
  }
  EXPECT_EQ(closed, 1u) << "the data's own";
}

}  // namespace
}  // namespace sgprs::cli
