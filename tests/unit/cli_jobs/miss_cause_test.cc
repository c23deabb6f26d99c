// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/jobs/miss_cause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/cli_jobs/written_log.h"

namespace sgprs::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

HistoryJob Of(const SgprsLogJob& job) {
  HistoryJob out;
  out.job = job;
  out.stages = OneStage(job);
  return out;
}

JobParts Parts(const HistoryJob& job) { return PartsOf({.job = job.job, .stages = job.stages}); }

TaskStatistics Usual(uint64_t jobs = 20) {
  TaskStatistics task;
  for (uint64_t i = 0; i < jobs; ++i) task.Add(Of(UsualJob(1, i, kNsPerSecond + i * kPeriod)));
  return task;
}

TEST(JobParts, AddUpToTheResponse) {
  const HistoryJob job = Of(UsualJob(1, 1, kNsPerSecond));
  const JobParts parts = Parts(job);
  EXPECT_EQ(parts.sum_ns(), job.job.complete_ns - job.job.release_ns);
  EXPECT_EQ(parts.of(JobPart::k_run_queue), 48 * kNsPerUs);
  EXPECT_EQ(parts.of(JobPart::k_user), 295 * kNsPerUs);
  EXPECT_EQ(parts.of(JobPart::k_execute), 3100 * kNsPerUs);
  EXPECT_TRUE(HasWholeStamps(job.job));
}

TEST(JobParts, AddUpWhateverIsMissingOrOutOfOrder) {
  HistoryJob job = Of(UsualJob(1, 1, kNsPerSecond));
  job.job.expire_ns = 0;
  job.job.on_cpu_ns = job.job.release_ns - kNsPerMs;
  EXPECT_EQ(Parts(job).sum_ns(), job.job.complete_ns - job.job.release_ns);
  EXPECT_FALSE(HasWholeStamps(job.job));
  job.job.flags = 0;
  job.stages.clear();
  const JobParts parts = Parts(job);
  EXPECT_EQ(parts.sum_ns(), job.job.complete_ns - job.job.release_ns);
  EXPECT_EQ(parts.of(JobPart::k_start), job.job.first_launch_ns - job.job.release_ns);
}

TEST(JobParts, BeforeTheReleaseIsInNoPart) {
  HistoryJob job = Of(UsualJob(1, 1, kNsPerSecond));
  job.job.release_ns = job.job.first_launch_ns;
  const JobParts parts = Parts(job);
  EXPECT_EQ(parts.of(JobPart::k_run_queue) + parts.of(JobPart::k_user), 0u);
  EXPECT_EQ(parts.sum_ns(), job.job.complete_ns - job.job.first_launch_ns);
}

struct Case {
  const char* what;
  uint64_t SgprsLogJob::*late_from;
  uint8_t held_by;
  JobPart cause;
};

class CauseTest : public ::testing::TestWithParam<Case> {};

TEST_P(CauseTest, IsNamed) {
  SgprsLogJob late = UsualJob(1, 99, 5 * kNsPerSecond);
  Delay(&late, GetParam().late_from, 8 * kNsPerMs);
  late.held_by = GetParam().held_by;
  late.held_ns = 8 * kNsPerMs;
  const Diagnosis diagnosis = Diagnose(Of(late), Usual());
  EXPECT_EQ(InfoOf(diagnosis.cause).name, std::string(InfoOf(GetParam().cause).name));
  EXPECT_EQ(diagnosis.late_ns, late.complete_ns - late.deadline_ns);
  EXPECT_THAT(diagnosis.cure, ElementsAre(GetParam().cause));
  EXPECT_NEAR(static_cast<double>(diagnosis.parts[0].excess_ns), 8e6, 8e6 / 64);
}

INSTANTIATE_TEST_SUITE_P(
    All, CauseTest,
    ::testing::Values(
        Case{"timer", &SgprsLogJob::expire_ns, 0, JobPart::k_timer},
        Case{"wakeup", &SgprsLogJob::wakeup_ns, 0, JobPart::k_wakeup},
        Case{"run_queue", &SgprsLogJob::on_cpu_ns, 0, JobPart::k_run_queue},
        Case{"user", &SgprsLogJob::first_launch_ns, 0, JobPart::k_user},
        Case{"partition", &SgprsLogJob::first_grant_ns, SGPRS_HELD_PARTITION, JobPart::k_queue},
        Case{"own", &SgprsLogJob::first_grant_ns, SGPRS_HELD_OWN_JOB, JobPart::k_own_job},
        Case{"gate", &SgprsLogJob::first_grant_ns, SGPRS_HELD_GATE, JobPart::k_hold},
        Case{"runtime", &SgprsLogJob::first_grant_ns, SGPRS_HELD_RUNTIME, JobPart::k_runtime},
        Case{"issuer", &SgprsLogJob::first_issue_ns, SGPRS_HELD_ISSUER, JobPart::k_issue},
        Case{"execute", &SgprsLogJob::complete_ns, 0, JobPart::k_execute}),
    [](const auto& test) { return test.param.what; });

TEST(Diagnose, TwoPartsWhenOneWouldNotHaveBeenEnough) {
  SgprsLogJob late = UsualJob(1, 99, 5 * kNsPerSecond);
  Delay(&late, &SgprsLogJob::on_cpu_ns, 5 * kNsPerMs);
  Delay(&late, &SgprsLogJob::complete_ns, 6 * kNsPerMs);
  const Diagnosis diagnosis = Diagnose(Of(late), Usual());
  EXPECT_EQ(diagnosis.cause, JobPart::k_execute);
  // 14.55 ms with a deadline of 10 ms: either of the two would do.
  EXPECT_THAT(diagnosis.cure, ElementsAre(JobPart::k_execute));
  Delay(&late, &SgprsLogJob::on_cpu_ns, 3 * kNsPerMs);
  Delay(&late, &SgprsLogJob::complete_ns, kNsPerMs);
  EXPECT_THAT(Diagnose(Of(late), Usual()).cure,
              ElementsAre(JobPart::k_run_queue, JobPart::k_execute));
}

TEST(Diagnose, ADeadlineThatTheUsualDoesNotMeet) {
  SgprsLogJob late = UsualJob(1, 99, 5 * kNsPerSecond);
  late.deadline_ns = late.release_ns + 2 * kNsPerMs;
  late.flags |= SGPRS_LOG_MISSED;
  const Diagnosis diagnosis = Diagnose(Of(late), Usual());
  EXPECT_THAT(diagnosis.cure, IsEmpty());
  EXPECT_GT(diagnosis.late_ns, 0u);
}

TEST(Diagnose, WithoutAUsualTheLongestPart) {
  SgprsLogJob late = UsualJob(1, 99, 5 * kNsPerSecond);
  Delay(&late, &SgprsLogJob::first_launch_ns, 8 * kNsPerMs);
  const Diagnosis diagnosis = Diagnose(Of(late), Usual(TaskStatistics::kLeastUsual - 1));
  EXPECT_FALSE(diagnosis.compared);
  EXPECT_EQ(diagnosis.cause, JobPart::k_user);
  EXPECT_THAT(diagnosis.cure, IsEmpty());
}

TEST(Diagnose, AJobOnTimeHasSlackAndATightestPart) {
  SgprsLogJob job = UsualJob(1, 99, 5 * kNsPerSecond);
  Delay(&job, &SgprsLogJob::first_grant_ns, 2 * kNsPerMs);
  const Diagnosis diagnosis = Diagnose(Of(job), Usual());
  EXPECT_EQ(diagnosis.late_ns, 0u);
  EXPECT_EQ(diagnosis.slack_ns, job.deadline_ns - job.complete_ns);
  EXPECT_EQ(diagnosis.cause, JobPart::k_queue);
}

TEST(TaskStatistics, CountsAndLeavesLearningJobsOutOfTheUsual) {
  TaskStatistics task = Usual(10);
  SgprsLogJob learning = UsualJob(1, 50, 5 * kNsPerSecond);
  learning.flags |= SGPRS_LOG_LEARNING;
  task.Add(Of(learning));
  SgprsLogJob late = UsualJob(1, 51, 6 * kNsPerSecond);
  late.flags &= static_cast<uint16_t>(~SGPRS_LOG_STAMPS);
  Delay(&late, &SgprsLogJob::complete_ns, 20 * kNsPerMs);
  task.Add(Of(late));
  EXPECT_EQ(task.jobs(), 12u);
  EXPECT_EQ(task.missed(), 1u);
  EXPECT_EQ(task.learning(), 1u);
  EXPECT_EQ(task.stamped(), 11u);
  EXPECT_EQ(task.whole(), 11u);
  EXPECT_EQ(task.usual_response().count(), 10u);
  EXPECT_EQ(task.part(JobPart::k_execute).count(), 11u);
  EXPECT_EQ(task.phase(observe::JobPhase::k_execute).count(), 12u);
}

TEST(SplitUser, AddsUpAndSaysIfItIsNotKnown) {
  SgprsLogJob job = UsualJob(1, 1, kNsPerSecond);
  EXPECT_FALSE(SplitUser(job, 100).known);
  job.flags |= SGPRS_LOG_ACTIVITY;
  job.run_ns = 500;
  job.stopped_ns = 60;
  job.queued_ns = 30;
  job.blocked_ns = 30;
  const UserSplit split = SplitUser(job, 100);
  EXPECT_EQ(split.stopped_ns, 60u);
  EXPECT_EQ(split.queued_ns, 30u);
  EXPECT_EQ(split.blocked_ns, 10u);
  EXPECT_EQ(split.run_ns, 0u);
}

}  // namespace
}  // namespace sgprs::cli
