// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/jobs/why_view.h"

#include <gmock/gmock.h>

#include "tests/unit/cli_jobs/written_log.h"

namespace sgprs::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

WhyView Why(WrittenLog* log, const std::string& word, std::optional<uint64_t> number = {}) {
  log->Flush();
  Result<WhyView> view = ReadWhy(log->directory(), word, number);
  EXPECT_TRUE(view.ok()) << view.status().text();
  return view.ok() ? std::move(*view) : WhyView();
}

class WhyTest : public ::testing::Test {
 protected:
  // Ten usual jobs, one that user code made miss, one on time after it.
  WhyTest() {
    log_.Task(1, "cam");
    log_.UsualJobs(1, 10);
    missed_ = UsualJob(1, 11, kNsPerSecond + 10 * kPeriod);
    Delay(&missed_, &SgprsLogJob::first_launch_ns, 8 * kNsPerMs);
    log_.Job(missed_);
    log_.Job(UsualJob(1, 12, kNsPerSecond + 12 * kPeriod));
  }

  WrittenLog log_;
  SgprsLogJob missed_;
};

TEST_F(WhyTest, TheLastMissIsMeantAndItsCauseNamed) {
  const WhyView view = Why(&log_, "cam");
  EXPECT_EQ(view.job.job.job, 11u);
  EXPECT_EQ(view.diagnosis.cause, JobPart::k_user);
  EXPECT_EQ(view.missed, 1u);
  EXPECT_THAT(WhyText(view),
              AllOf(HasSubstr("cam job 11 missed its deadline of 10.0 ms by 1.55 ms"),
                    HasSubstr("user code"), HasSubstr("<-"),
                    HasSubstr("With the usual user it would have ended")));
  const Json json = WhyJson(view);
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["cause"], "user");
  EXPECT_EQ(json["late_ns"], missed_.complete_ns - missed_.deadline_ns);
}

TEST_F(WhyTest, AJobOnTimeHasATightestPart) {
  const WhyView view = Why(&log_, "cam", 12);
  EXPECT_FALSE(view.job.missed());
  EXPECT_THAT(WhyText(view), AllOf(HasSubstr("cam job 12 met its deadline"), HasSubstr("to spare"),
                                   Not(HasSubstr("would have"))));
}

TEST_F(WhyTest, AJobThatIsNotThere) {
  log_.Flush();
  const Result<WhyView> view = ReadWhy(log_.directory(), "cam", 99);
  ASSERT_FALSE(view.ok());
  EXPECT_EQ(view.status().code(), ErrorCode::kNotFound);
  EXPECT_THAT(view.status().text(), HasSubstr("there are 1 to 12"));
}

TEST_F(WhyTest, NeighboursByWhereTheyRan) {
  log_.Task(2, "same");
  log_.Task(3, "elsewhere");
  log_.Task(4, "before");
  for (const uint64_t client : {2, 3}) {
    SgprsLogJob job = UsualJob(client, 1, missed_.release_ns);
    log_.Job(job, OneStage(job, client == 2 ? 0 : 1));  // partitions share no SMs
  }
  log_.UsualJobs(4, 1, missed_.release_ns - 5 * kPeriod);
  const WhyView view = Why(&log_, "cam");
  ASSERT_EQ(view.neighbours.size(), 2u);
  EXPECT_EQ(view.neighbours[0].label, "same");
  EXPECT_GT(view.neighbours[0].same_ns, 3 * kNsPerMs);
  EXPECT_EQ(view.neighbours[1].label, "elsewhere");
  EXPECT_EQ(view.neighbours[1].same_ns + view.neighbours[1].beside_ns, 0u);
  EXPECT_GT(view.neighbours[1].elsewhere_ns, 3 * kNsPerMs);
}

TEST_F(WhyTest, StagesSayWhatTheyLaunch) {
  EXPECT_THAT(WhyText(Why(&log_, "cam")), Not(HasSubstr("conv")));
  EXPECT_EQ(WhyJson(Why(&log_, "cam"))["stages"][0]["kernels"], nullptr);
  log_.Contents(1, {"at::native::conv"});
  missed_.job = 13;
  log_.Job(missed_);
  const WhyView view = Why(&log_, "cam", 13);
  EXPECT_THAT(WhyText(view), HasSubstr("at::native::conv x10"));
  EXPECT_EQ(WhyJson(view)["stages"][0]["kernels"], "at::native::conv x10");
  // A job that went another way than learnt: nobody knows.
  missed_.job = 14;
  missed_.flags |= SGPRS_LOG_OFF_SIGNATURE;
  log_.Job(missed_);
  EXPECT_THAT(WhyText(Why(&log_, "cam", 14)), Not(HasSubstr("conv")));
  // As many stages as learnt, or nobody knows which is which.
  log_.Contents(1, {"conv", "gemm"});
  log_.Job(UsualJob(1, 15, missed_.release_ns + 5 * kPeriod));
  EXPECT_THAT(WhyText(Why(&log_, "cam", 15)), Not(HasSubstr("conv")));
}

// A simulated device is late when its CPUs are: who reads of execution must know.
TEST(WhyDeviceTest, ASimulatedOneSharesTheCpus) {
  for (const char* device : {"simulated NVIDIA A100-SXM4-80GB", "NVIDIA A100-SXM4-80GB"}) {
    WrittenLog log;
    log.SetDevice(device);
    log.Task(1, "cam");
    log.UsualJobs(1, 10);
    SgprsLogJob late = UsualJob(1, 11, kNsPerSecond + 10 * kPeriod);
    Delay(&late, &SgprsLogJob::complete_ns, 8 * kNsPerMs);
    log.Job(late);
    SgprsLogJob asleep = UsualJob(1, 12, kNsPerSecond + 12 * kPeriod);
    Delay(&asleep, &SgprsLogJob::first_launch_ns, 8 * kNsPerMs);
    log.Job(asleep);
    const bool simulated = device[0] == 's';
    EXPECT_EQ(Why(&log, "cam", 11).diagnosis.cause, JobPart::k_execute);
    EXPECT_EQ(WhyText(Why(&log, "cam", 11)).find("is simulated") != std::string::npos, simulated);
    EXPECT_EQ(WhyJson(Why(&log, "cam", 11))["simulated"], simulated);
    EXPECT_THAT(WhyText(Why(&log, "cam", 12)), Not(HasSubstr("is simulated")));
  }
}

// Of two tasks of one name the one that missed is meant.
TEST_F(WhyTest, TwoOfOneName) {
  log_.Task(7, "cam");
  log_.UsualJobs(7, 10, 2 * kNsPerSecond);
  EXPECT_EQ(Why(&log_, "cam").task.client_id, 1u);
  EXPECT_EQ(Why(&log_, "cam#7").task.client_id, 7u);
}

}  // namespace
}  // namespace sgprs::cli
