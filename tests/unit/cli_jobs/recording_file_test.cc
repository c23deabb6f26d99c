// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/jobs/recording_file.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "tests/unit/cli_jobs/written_log.h"

namespace sgprs::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RecordingFileTest : public ::testing::Test {
 protected:
  RecordingFileTest() : path_(log_.directory() + "/kept.jobs") {}

  // Copies all that the log has.
  void Record() {
    std::unique_ptr<JobHistory> from = log_.Open();
    Result<std::unique_ptr<RecordingFile>> file = RecordingFile::Open(path_, from->header());
    ASSERT_TRUE(file.ok()) << file.status().text();
    for (;;) {
      Result<std::optional<HistoryJob>> job = from->Next();
      ASSERT_TRUE(job.ok());
      if (!job->has_value()) break;
      (*file)->Add(*from, **job);
    }
    ASSERT_TRUE((*file)->Flush().ok());
  }
  std::vector<HistoryJob> Read(std::unique_ptr<JobHistory>* kept) {
    std::vector<HistoryJob> jobs;
    Result<std::unique_ptr<JobHistory>> history = JobHistory::Open(path_);
    EXPECT_TRUE(history.ok()) << history.status().text();
    if (!history.ok()) return jobs;
    *kept = std::move(*history);
    while (std::optional<HistoryJob> job = *(*kept)->Next()) jobs.push_back(*job);
    return jobs;
  }

  WrittenLog log_;
  const std::string path_;
};

TEST_F(RecordingFileTest, ReadsBackAsTheLogDid) {
  log_.Task(1, "cam");
  log_.Task(2, "lidar");
  log_.UsualJobs(1, 2);
  SgprsLogJob many = UsualJob(2, 1, 2 * kNsPerSecond);
  std::vector<SgprsLogStage> stages(30, OneStage(many)[0]);
  for (size_t i = 0; i < stages.size(); ++i) stages[i].partition = static_cast<uint16_t>(i);
  log_.Job(many, stages);
  Record();

  std::unique_ptr<JobHistory> kept;
  const std::vector<HistoryJob> jobs = Read(&kept);
  ASSERT_EQ(jobs.size(), 3u);
  EXPECT_EQ(jobs[0].task->name, "cam");
  EXPECT_EQ(jobs[1].job.job, 2u);
  EXPECT_EQ(jobs[1].job.complete_ns, UsualJob(1, 2, kNsPerSecond + kPeriod).complete_ns);
  EXPECT_EQ(jobs[2].task->name, "lidar");
  ASSERT_EQ(jobs[2].stages.size(), 30u);  // in more than one record
  for (size_t i = 0; i < 30; ++i) EXPECT_EQ(jobs[2].stages[i].partition, i);
  EXPECT_STREQ(kept->header().policy, "sgprs");
  EXPECT_EQ(kept->header().partition_count, 2u);
  EXPECT_EQ(kept->counts().damaged, 0u);
}

TEST_F(RecordingFileTest, KeepsWhatStagesAreMadeOfAndWhenItChanged) {
  log_.Task(1, "cam");
  log_.UsualJobs(1, 1);
  log_.Contents(1, {"conv"});
  log_.Job(UsualJob(1, 2, 2 * kNsPerSecond));
  log_.Job(UsualJob(1, 3, 3 * kNsPerSecond));
  log_.Contents(1, {"gemm"});
  log_.Job(UsualJob(1, 4, 4 * kNsPerSecond));
  const uint64_t five = 5;
  log_.Contents(1, std::vector<std::string>(five, "fft"));  // two records
  SgprsLogJob last = UsualJob(1, 5, 5 * kNsPerSecond);
  log_.Job(last, std::vector<SgprsLogStage>(five, OneStage(last)[0]));
  Record();

  std::unique_ptr<JobHistory> kept;
  std::vector<std::string> kernels;
  for (const HistoryJob& job : Read(&kept)) kernels.push_back(job.Kernels(job.stages.size() - 1));
  EXPECT_THAT(kernels, ElementsAre("", "conv x10", "conv x10", "gemm x10", "fft x10"));
}

TEST_F(RecordingFileTest, AnEmptyOneIsWhole) {
  log_.Task(1, "cam");
  log_.Flush();
  Record();
  std::unique_ptr<JobHistory> kept;
  EXPECT_THAT(Read(&kept), IsEmpty());
}

TEST_F(RecordingFileTest, WhereNothingCanBeWritten) {
  log_.UsualJobs(1, 1);
  std::unique_ptr<JobHistory> from = log_.Open();
  const HistoryJob job = **from->Next();
  Result<std::unique_ptr<RecordingFile>> nowhere =
      RecordingFile::Open(log_.directory() + "/no/such", from->header());
  ASSERT_FALSE(nowhere.ok());
  EXPECT_EQ(nowhere.status().code(), ErrorCode::kInvalid);
  Result<std::unique_ptr<RecordingFile>> full = RecordingFile::Open("/dev/full", from->header());
  ASSERT_TRUE(full.ok());
  (*full)->Add(*from, job);
  const Status flushed = (*full)->Flush();
  EXPECT_EQ(flushed.code(), ErrorCode::kExhausted);
  EXPECT_THAT(flushed.text(), HasSubstr("/dev/full"));
}

}  // namespace
}  // namespace sgprs::cli
