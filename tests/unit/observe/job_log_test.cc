// SPDX-License-Identifier: Apache-2.0
#include "runtime/observe/job_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>
#include <vector>

#include "runtime/base/unique_fd.h"
#include "runtime/observe/job_log_check.h"
#include "runtime/observe/job_log_reader.h"

namespace sgprs::observe {
namespace {

class JobLogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "sgprs-job-log-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::unique_ptr<JobLog> Open(uint32_t files = 2, uint64_t file_bytes = JobLog::kLeastFileBytes) {
    Result<std::unique_ptr<JobLog>> log =
        JobLog::Open({.directory = directory_, .total_bytes = file_bytes * files, .files = files},
                     {.policy = "sgprs", .device = "test"});
    EXPECT_TRUE(log.ok()) << log.status().text();
    return log.ok() ? std::move(*log) : nullptr;
  }
  std::vector<LoggedJob> ReadAll(JobLogReaderCounts* counts = nullptr) {
    std::vector<LoggedJob> jobs;
    Result<std::unique_ptr<JobLogReader>> reader = JobLogReader::Open(directory_);
    EXPECT_TRUE(reader.ok()) << reader.status().text();
    if (!reader.ok()) return jobs;
    for (;;) {
      Result<std::optional<LoggedJob>> job = (*reader)->Next();
      EXPECT_TRUE(job.ok()) << job.status().text();
      if (!job.ok() || !job->has_value()) break;
      jobs.push_back(**job);
    }
    if (counts != nullptr) *counts = (*reader)->counts();
    return jobs;
  }
  uint64_t BytesOnDisk() const {
    uint64_t bytes = 0;
    for (const auto& file : std::filesystem::directory_iterator(directory_)) {
      bytes += file.file_size();
    }
    return bytes;
  }

  std::string directory_;
};

SgprsLogJob Job(uint64_t number) {
  SgprsLogJob job = {};
  job.client_id = 3;
  job.job = number;
  job.release_ns = number * 1000;
  job.complete_ns = number * 1000 + 500;
  return job;
}

std::vector<SgprsLogStage> Stages(uint32_t count) {
  std::vector<SgprsLogStage> stages(count);
  for (uint32_t i = 0; i < count; ++i) {
    stages[i].granted_ns = 100 + i;
    stages[i].partition = static_cast<uint16_t>(i % 3);
  }
  return stages;
}

TEST_F(JobLogTest, JobsComeBackInOrderWithAllTheirStages) {
  // Around what fits into one record, into two, and into none (SGPRS_MAX_STAGES).
  const uint32_t counts[] = {0, 1, 7, 8, 9, 20, 21, 32, 40};
  {
    std::unique_ptr<JobLog> log = Open();
    SgprsLogTask task = {};
    task.client_id = 3;
    std::strcpy(task.name, "camera");
    EXPECT_TRUE(log->AppendTask(task));
    for (uint64_t i = 0; i < std::size(counts); ++i) {
      EXPECT_TRUE(log->Append(Job(i + 1), Stages(counts[i])));
    }
  }
  const std::vector<LoggedJob> jobs = ReadAll();
  ASSERT_EQ(jobs.size(), std::size(counts));
  for (uint64_t i = 0; i < jobs.size(); ++i) {
    const uint32_t kept = std::min<uint32_t>(counts[i], SGPRS_MAX_STAGES);
    EXPECT_EQ(jobs[i].job.job, i + 1);
    EXPECT_EQ(jobs[i].job.stage_count, kept);
    EXPECT_EQ(jobs[i].job.stages_lost, counts[i] - kept);
    ASSERT_EQ(jobs[i].stages.size(), kept);
    for (uint32_t s = 0; s < kept; ++s) {
      EXPECT_EQ(jobs[i].stages[s].granted_ns, 100 + s);
      EXPECT_EQ(jobs[i].stages[s].partition, s % 3);
    }
  }
}

std::vector<SgprsLogStageKernels> Kernels(uint32_t stages, const std::string& of) {
  std::vector<SgprsLogStageKernels> rows(stages);
  for (uint32_t i = 0; i < stages; ++i) {
    std::strcpy(rows[i].kernels[0].name, (of + std::to_string(i)).c_str());
    rows[i].kernels[0].launches = i + 1;
  }
  return rows;
}

TEST_F(JobLogTest, JobsHaveWhatTheirStagesWereMadeOfThen) {
  {
    std::unique_ptr<JobLog> log = Open();
    SgprsLogTask task = {};
    task.client_id = 3;
    log->AppendTask(task);
    log->Append(Job(1), {});
    EXPECT_FALSE(log->AppendContents(3, {})) << "nothing to tell";
    EXPECT_TRUE(log->AppendContents(3, Kernels(6, "conv")));  // more than one record
    log->Append(Job(2), Stages(6));
    EXPECT_TRUE(log->AppendContents(3, Kernels(40, "gemm")));  // more than there can be
    log->Append(Job(3), Stages(6));
    EXPECT_TRUE(log->AppendContents(4, Kernels(1, "other")));
    log->Append(Job(4), {});
  }
  const std::vector<LoggedJob> jobs = ReadAll();
  ASSERT_EQ(jobs.size(), 4u);
  EXPECT_EQ(jobs[0].contents, nullptr);
  ASSERT_NE(jobs[1].contents, nullptr);
  ASSERT_EQ(jobs[1].contents->size(), 6u);
  EXPECT_STREQ(jobs[1].contents->at(5).kernels[0].name, "conv5");
  EXPECT_EQ(jobs[1].contents->at(5).kernels[0].launches, 6u);
  EXPECT_EQ(jobs[1].contents->at(5).kernels[1].launches, 0u);
  ASSERT_EQ(jobs[2].contents->size(), size_t{SGPRS_MAX_STAGES});
  EXPECT_STREQ(jobs[2].contents->at(31).kernels[0].name, "gemm31");
  EXPECT_EQ(jobs[3].contents, jobs[2].contents);
}

TEST_F(JobLogTest, TheRingStaysBoundedAndEveryFileNamesItsTasks) {
  constexpr uint32_t kFiles = 3;
  constexpr uint64_t kJobs = 20000;  // ten times what one file holds
  {
    std::unique_ptr<JobLog> log = Open(kFiles);
    SgprsLogTask task = {};
    task.client_id = 3;
    std::strcpy(task.name, "camera");
    log->AppendTask(task);
    log->AppendContents(3, Kernels(5, "conv"));
    for (uint64_t i = 1; i <= kJobs; ++i) {
      log->Append(Job(i), {});
      if (i % 1000 == 0) log->Flush();
    }
    log->Flush();
    EXPECT_EQ(log->Counts().dropped, 0u);
    EXPECT_GE(log->Counts().files_begun, 10u);
    EXPECT_LE(BytesOnDisk(), kFiles * JobLog::kLeastFileBytes);
  }
  Result<std::unique_ptr<JobLogReader>> reader = JobLogReader::Open(directory_);
  ASSERT_TRUE(reader.ok());
  uint64_t last = 0;
  uint64_t count = 0;
  while (std::optional<LoggedJob> job = *(*reader)->Next()) {
    if (last != 0) {
      EXPECT_EQ(job->job.job, last + 1);
    }
    last = job->job.job;
    ASSERT_NE(job->contents, nullptr) << job->job.job;
    ASSERT_EQ(job->contents->size(), 5u);
    ++count;
    ASSERT_NE((*reader)->Task(3), nullptr);
    EXPECT_STREQ((*reader)->Task(3)->name, "camera");
  }
  EXPECT_EQ(last, kJobs);  // the newest are the ones kept
  EXPECT_GT(count, (kFiles - 1) * 1600u);
  EXPECT_LT(count, kJobs);
  EXPECT_STREQ((*reader)->header().policy, "sgprs");
}

// The device is known when the first client has said which one it has; the log is older.
TEST_F(JobLogTest, WhatIsLearntOfThePoolComesIntoTheHeader) {
  std::unique_ptr<JobLog> log = Open();
  Result<std::unique_ptr<JobLogReader>> reader = JobLogReader::Open(directory_);
  ASSERT_TRUE(reader.ok());
  EXPECT_STREQ((*reader)->header().device_name, "test");
  EXPECT_EQ((*reader)->header().partition_count, 0u);
  const uint64_t begun_ns = (*reader)->header().begun_ns;
  static constexpr SgprsLogPartition kHalves[] = {{0, 34}, {34, 34}};
  log->SetInfo({.policy = "naive", .device = "big one", .sm_count = 68, .partitions = kHalves});
  log->Append(Job(1), Stages(1));
  log->Flush();
  ASSERT_TRUE((*reader)->Next()->has_value());
  EXPECT_STREQ((*reader)->header().device_name, "big one");
  Result<std::unique_ptr<JobLogReader>> later = JobLogReader::Open(directory_);
  ASSERT_TRUE(later.ok());
  for (const SgprsLogHeader& header : {(*reader)->header(), (*later)->header()}) {
    EXPECT_STREQ(header.policy, "naive");
    EXPECT_EQ(header.sm_count, 68u);
    ASSERT_EQ(header.partition_count, 2u);
    EXPECT_EQ(header.partitions[1].first_sm, 34u);
    EXPECT_EQ(header.begun_ns, begun_ns);
  }
}

TEST_F(JobLogTest, AHeaderThatIsBeingChangedIsReadWhole) {
  std::unique_ptr<JobLog> log = Open();
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (uint64_t i = 1; i <= 300; ++i) {
      log->SetInfo({.policy = "sgprs", .device = std::string(40, static_cast<char>('a' + i % 26))});
      log->Append(Job(i), Stages(1));
      log->Flush();
    }
    done.store(true);
  });
  while (!done.load()) {
    Result<std::unique_ptr<JobLogReader>> reader = JobLogReader::Open(directory_);
    ASSERT_TRUE(reader.ok()) << reader.status().text();
    const std::string device = (*reader)->header().device_name;
    EXPECT_TRUE(device == "test" || device == std::string(40, device[0])) << device;
  }
  writer.join();
}

TEST_F(JobLogTest, AReaderFollowsTheWriter) {
  std::unique_ptr<JobLog> log = Open();
  Result<std::unique_ptr<JobLogReader>> reader = JobLogReader::Open(directory_);
  ASSERT_TRUE(reader.ok());
  uint64_t next = 1;
  for (uint64_t round = 0; round < 8; ++round) {  // through several files
    for (uint64_t i = 0; i < 500; ++i) log->Append(Job(round * 500 + i + 1), Stages(10));
    log->Flush();
    while (std::optional<LoggedJob> job = *(*reader)->Next()) {
      EXPECT_EQ(job->job.job, next++);
      EXPECT_EQ(job->stages.size(), 10u);
    }
    EXPECT_EQ(next, round * 500 + 501);
  }
  EXPECT_EQ((*reader)->counts().overwritten, 0u);
}

TEST_F(JobLogTest, AReaderThatFellBehindIsToldWhatItMissed) {
  std::unique_ptr<JobLog> log = Open();
  Result<std::unique_ptr<JobLogReader>> reader = JobLogReader::Open(directory_);
  ASSERT_TRUE(reader.ok());
  for (uint64_t i = 1; i <= 10000; ++i) {
    log->Append(Job(i), {});
    if (i % 1000 == 0) log->Flush();
  }
  uint64_t seen = 0;
  uint64_t last = 0;
  while (std::optional<LoggedJob> job = *(*reader)->Next()) {
    EXPECT_GT(job->job.job, last);
    last = job->job.job;
    ++seen;
  }
  EXPECT_EQ(last, 10000u);
  EXPECT_GT((*reader)->counts().overwritten, 0u);
  EXPECT_EQ(seen + (*reader)->counts().overwritten, 10000u);
}

TEST_F(JobLogTest, WhatAKilledWriterWroteIsWhole) {
  int progress[2];
  ASSERT_EQ(pipe(progress), 0);
  const pid_t child = fork();
  if (child == 0) {
    std::unique_ptr<JobLog> log = Open();
    for (uint64_t i = 1;; ++i) {
      log->Append(Job(i), Stages(12));
      if (i % 100 != 0) continue;
      log->Flush();
      if (write(progress[1], &i, sizeof(i)) != sizeof(i)) _exit(1);
    }
  }
  close(progress[1]);
  uint64_t flushed = 0;
  while (flushed < 2500 && read(progress[0], &flushed, sizeof(flushed)) == sizeof(flushed)) {
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(progress[0]);
  JobLogReaderCounts counts;
  const std::vector<LoggedJob> jobs = ReadAll(&counts);
  ASSERT_FALSE(jobs.empty());
  EXPECT_GE(jobs.back().job.job, flushed);  // nothing that was flushed is lost
  EXPECT_EQ(counts.damaged, 0u);
  for (size_t i = 1; i < jobs.size(); ++i) EXPECT_EQ(jobs[i].job.job, jobs[i - 1].job.job + 1);

  // And the next writer goes on after it.
  Open()->Append(Job(1'000'000), {});
  const std::vector<LoggedJob> more = ReadAll();
  EXPECT_EQ(more.back().job.job, 1'000'000u);
  EXPECT_GT(more.size(), 1u);
  EXPECT_GT(more.back().job.record.sequence, jobs.back().job.record.sequence);
}

TEST_F(JobLogTest, ARecordCutShortOrDamagedIsNotRead) {
  {
    std::unique_ptr<JobLog> log = Open();
    for (uint64_t i = 1; i <= 10; ++i) log->Append(Job(i), {});
  }
  const std::string file = JobLogFileName(directory_, 0);
  const uint64_t bytes = std::filesystem::file_size(file);
  EXPECT_EQ(bytes, SGPRS_LOG_HEADER_BYTES + 10u * SGPRS_LOG_RECORD_BYTES);
  std::filesystem::resize_file(file, bytes - 1);
  EXPECT_EQ(ReadAll().size(), 9u);

  UniqueFd fd(open(file.c_str(), O_RDWR));
  const off_t at = SGPRS_LOG_HEADER_BYTES + 4 * SGPRS_LOG_RECORD_BYTES + 100;
  char byte = 0;
  ASSERT_EQ(pread(fd.get(), &byte, 1, at), 1);
  byte = static_cast<char>(~byte);
  ASSERT_EQ(pwrite(fd.get(), &byte, 1, at), 1);
  JobLogReaderCounts counts;
  const std::vector<LoggedJob> jobs = ReadAll(&counts);
  ASSERT_EQ(jobs.size(), 8u);
  EXPECT_EQ(jobs[4].job.job, 6u);
  EXPECT_EQ(counts.damaged, 1u);
  EXPECT_EQ(counts.overwritten, 0u);
}

// Nothing in a file is trusted: whatever is in it, reading ends, and what it gives is in bounds.
TEST_F(JobLogTest, NonsenseInAFileIsHarmless) {
  {
    std::unique_ptr<JobLog> log = Open();
    for (uint64_t i = 1; i <= 12; ++i) log->Append(Job(i), Stages(static_cast<uint32_t>(3 * i)));
  }
  const std::string file = JobLogFileName(directory_, 0);
  std::ifstream in(file, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  std::mt19937_64 random(20261202);
  for (int round = 0; round < 500; ++round) {
    std::string bytes = whole;
    for (int i = 0; i < 8; ++i) {
      // Half of them with a check word that fits, so that the nonsense is looked at.
      const size_t record = random() % 12;
      char* at = bytes.data() + SGPRS_LOG_HEADER_BYTES + record * SGPRS_LOG_RECORD_BYTES;
      at[random() % SGPRS_LOG_RECORD_BYTES] = static_cast<char>(random());
      at[16 + random() % 2] = static_cast<char>(random() % 4);  // kind
      if (i % 2 != 0) continue;
      const uint64_t check = CheckOfRecord(at);
      std::memcpy(at + offsetof(SgprsLogRecord, check), &check, sizeof(check));
    }
    if (round % 3 == 0) bytes.resize(random() % bytes.size());
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
    Result<std::unique_ptr<JobLogReader>> reader = JobLogReader::Open(directory_);
    if (!reader.ok()) continue;
    size_t jobs = 0;
    while (std::optional<LoggedJob> job = *(*reader)->Next()) {
      ASSERT_LE(job->stages.size(), size_t{SGPRS_MAX_STAGES});
      ASSERT_LE(++jobs, 40u);
    }
  }
}

TEST_F(JobLogTest, AnotherVersionIsRefusedByReaderAndWriter) {
  Open();
  const std::string file = JobLogFileName(directory_, 0);
  {
    UniqueFd fd(open(file.c_str(), O_RDWR));
    SgprsLogHeader header;
    ASSERT_EQ(pread(fd.get(), &header, sizeof(header), 0), ssize_t{sizeof(header)});
    header.major = 7;
    header.check = CheckOfHeader(header);
    ASSERT_EQ(pwrite(fd.get(), &header, sizeof(header), 0), ssize_t{sizeof(header)});
  }
  Result<std::unique_ptr<JobLogReader>> reader = JobLogReader::Open(directory_);
  ASSERT_FALSE(reader.ok());
  EXPECT_EQ(reader.status().code(), ErrorCode::kInvalid);
  EXPECT_NE(reader.status().text().find("version 7"), std::string::npos) << reader.status().text();
  Result<std::unique_ptr<JobLog>> log =
      JobLog::Open({.directory = directory_, .total_bytes = 2 << 20, .files = 2}, {});
  ASSERT_FALSE(log.ok());
  EXPECT_TRUE(std::filesystem::exists(file));
}

TEST_F(JobLogTest, SomebodyElsesFileIsNotOverwritten) {
  const std::string file = JobLogFileName(directory_, 0);
  std::ofstream(file) << "a list of vacancies";
  EXPECT_FALSE(
      JobLog::Open({.directory = directory_, .total_bytes = 2 << 20, .files = 2}, {}).ok());
  EXPECT_EQ(std::filesystem::file_size(file), 19u);
  EXPECT_FALSE(JobLogReader::Open(directory_).ok());
}

TEST_F(JobLogTest, OneWriterAtATime) {
  std::unique_ptr<JobLog> log = Open();
  Result<std::unique_ptr<JobLog>> second =
      JobLog::Open({.directory = directory_, .total_bytes = 2 << 20, .files = 2}, {});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), ErrorCode::kRefused);
}

TEST_F(JobLogTest, AnotherShapeBeginsAnew) {
  Open(4)->Append(Job(1), {});
  Open(2)->Append(Job(2), {});
  const std::vector<LoggedJob> jobs = ReadAll();
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].job.job, 2u);
  EXPECT_FALSE(std::filesystem::exists(JobLogFileName(directory_, 0)) &&
               std::filesystem::exists(JobLogFileName(directory_, 3)));
}

TEST_F(JobLogTest, WhatFindsNoRoomInTheQueueIsCountedAndSaidInTheNextRecord) {
  {
    Result<std::unique_ptr<JobLog>> log = JobLog::Open(
        {.directory = directory_, .total_bytes = 2 << 20, .files = 2, .queue_records = 4}, {});
    ASSERT_TRUE(log.ok());
    uint64_t refused = 0;
    uint64_t number = 0;
    while (refused < 1000) refused += (*log)->Append(Job(++number), {}) ? 0 : 1;
    (*log)->Flush();
    ASSERT_TRUE((*log)->Append(Job(++number), {}));
    (*log)->Flush();
    const JobLogCounts counts = (*log)->Counts();
    EXPECT_EQ(counts.dropped, 1000u);
    EXPECT_EQ(counts.appended, number);
    EXPECT_EQ(counts.written + counts.dropped, number);
  }
  JobLogReaderCounts counts;
  EXPECT_FALSE(ReadAll(&counts).empty());
  EXPECT_EQ(counts.dropped, 1000u);
}

TEST_F(JobLogTest, AFullDiskCostsRecordsNotTheProcess) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {300'000, 300'000};  // less than one file
    setrlimit(RLIMIT_FSIZE, &limit);
    std::unique_ptr<JobLog> log = Open();
    for (uint64_t i = 1; i <= 1000; ++i) log->Append(Job(i), {});
    log->Flush();
    const JobLogCounts counts = log->Counts();
    const bool fine = counts.dropped > 0 && counts.written > 0 &&
                      counts.written + counts.dropped == 1000 && !log->Trouble().empty();
    _exit(fine ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  const std::vector<LoggedJob> jobs = ReadAll();
  EXPECT_FALSE(jobs.empty());
  for (size_t i = 1; i < jobs.size(); ++i) EXPECT_GT(jobs[i].job.job, jobs[i - 1].job.job);
}

TEST_F(JobLogTest, SizesThatCanNotBeAreRefused) {
  for (const JobLogOptions& options : std::vector<JobLogOptions>{
           {.directory = directory_, .total_bytes = 1000, .files = 4},
           {.directory = directory_, .total_bytes = 64 << 20, .files = 1},
           {.directory = directory_, .total_bytes = 64 << 20, .files = 5000},
           {.directory = directory_, .total_bytes = 64 << 20, .files = 4, .queue_records = 100},
           {.directory = directory_ + "/no/such", .total_bytes = 64 << 20, .files = 4}}) {
    Result<std::unique_ptr<JobLog>> log = JobLog::Open(options, {});
    ASSERT_FALSE(log.ok());
    EXPECT_EQ(log.status().code(), ErrorCode::kInvalid) << log.status().text();
  }
}

}  // namespace
}  // namespace sgprs::observe
