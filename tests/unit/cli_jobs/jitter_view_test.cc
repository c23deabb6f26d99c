// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/jobs/jitter_view.h"

#include <gmock/gmock.h>

#include "tests/unit/cli_jobs/written_log.h"

namespace sgprs::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

JitterView Jitter(WrittenLog* log, const std::string& word = "") {
  std::unique_ptr<JobHistory> history = log->Open();
  Result<JitterView> view = ReadJitter(history.get(), word);
  EXPECT_TRUE(view.ok()) << view.status().text();
  return view.ok() ? std::move(*view) : JitterView();
}

TEST(JitterTest, StampsOfKernelAndProcessAreCompared) {
  WrittenLog log;
  log.Task(1, "cam");
  log.UsualJobs(1, 98);  // the wait returned 105 us after it was due, the first launch 295 us later
  SgprsLogJob without = UsualJob(1, 99, 3 * kNsPerSecond);
  without.flags = 0;
  log.Job(without);
  SgprsLogJob torn = UsualJob(1, 100, 4 * kNsPerSecond);
  torn.flags |= SGPRS_LOG_NO_SLEEP;
  torn.first_launch_ns = torn.wait_exit_ns - 1;  // of another job's wait
  log.Job(torn);
  const JitterView view = Jitter(&log);
  ASSERT_EQ(view.tasks.size(), 1u);
  const StampAgreement& agreement = view.tasks[0].agreement;
  EXPECT_EQ(agreement.apart().count(), 98u);
  EXPECT_NEAR(static_cast<double>(agreement.kernel().MedianNs()), 105e3, 105e3 / 16);
  EXPECT_NEAR(static_cast<double>(agreement.process().MedianNs()), 400e3, 400e3 / 16);
  EXPECT_NEAR(static_cast<double>(agreement.apart().MedianNs()), 295e3, 295e3 / 16);
  EXPECT_EQ(agreement.impossible(), 1u);
  EXPECT_THAT(JitterText(view, false),
              AllOf(HasSubstr("cam (program, pid 1001), period 10.0 ms: 100 jobs"),
                    HasSubstr("1 without"), HasSubstr("released to running, median"),
                    HasSubstr("1 job launched before"), Not(HasSubstr("#"))));
  const Json row = JitterJson(view)["tasks"][0];
  EXPECT_EQ(row["jobs"], 100);
  EXPECT_EQ(row["without_stamps"], 1);
  EXPECT_EQ(row["stamps_impossible"], 1);
}

TEST(JitterTest, APhaseThatNobodySawHasNoLine) {
  WrittenLog log;
  log.Task(1, "cam");
  SgprsLogJob job = UsualJob(1, 1, kNsPerSecond);
  job.flags = 0;
  job.due_ns = job.expire_ns = job.wakeup_ns = job.on_cpu_ns = job.wait_exit_ns = 0;
  log.Job(job);
  const JitterView view = Jitter(&log);
  EXPECT_THAT(JitterText(view, true), AllOf(HasSubstr("response"), Not(HasSubstr("run_queue"))));
  EXPECT_EQ(JitterJson(view)["tasks"][0]["phases"]["run_queue"]["jobs"], 0);
}

TEST(JitterTest, OneTaskOfTwo) {
  WrittenLog log;
  log.Task(1, "cam");
  log.Task(2, "lidar");
  log.UsualJobs(1, 3);
  log.UsualJobs(2, 5);
  EXPECT_EQ(Jitter(&log).tasks.size(), 2u);
  const JitterView view = Jitter(&log, "lidar");
  ASSERT_EQ(view.tasks.size(), 1u);
  EXPECT_EQ(view.tasks[0].statistics.jobs(), 5u);
  std::unique_ptr<JobHistory> history = log.Open();
  const Result<JitterView> nobody = ReadJitter(history.get(), "lida");
  ASSERT_FALSE(nobody.ok());
  EXPECT_THAT(nobody.status().text(), AllOf(HasSubstr("lida"), HasSubstr("lidar")));
}

}  // namespace
}  // namespace sgprs::cli
