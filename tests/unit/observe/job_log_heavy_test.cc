// SPDX-License-Identifier: Apache-2.0
// Ten million job records through a small ring: memory and disk bounded, order kept, all counted.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "runtime/base/clock.h"
#include "runtime/observe/job_log.h"
#include "runtime/observe/job_log_reader.h"

namespace sgprs::observe {
namespace {

constexpr uint64_t kJobs = 10'000'000;
constexpr uint64_t kTotalBytes = 64ull << 20;

uint64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t total = 0;
  uint64_t resident = 0;
  statm >> total >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

uint64_t BytesOnDisk(const std::string& directory) {
  uint64_t bytes = 0;
  std::error_code gone;  // a file may be replaced while we look
  for (const auto& file : std::filesystem::directory_iterator(directory)) {
    const uint64_t size = file.file_size(gone);
    if (!gone) bytes += size;
  }
  return bytes;
}

TEST(JobLogHeavy, TenMillionRecords) {
  std::string directory = ::testing::TempDir() + "sgprs-job-log-XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  const uint64_t before = ResidentBytes();
  uint64_t most_resident = 0;
  uint64_t most_disk = 0;
  JobLogCounts counts;
  const uint64_t begun_ns = NowNs();
  {
    Result<std::unique_ptr<JobLog>> log =
        JobLog::Open({.directory = directory, .total_bytes = kTotalBytes, .files = 4}, {});
    ASSERT_TRUE(log.ok()) << log.status().text();
    SgprsLogStage stages[6] = {};
    SgprsLogJob job = {};
    job.client_id = 1;
    uint64_t refused = 0;
    for (uint64_t i = 1; i <= kJobs; ++i) {
      job.job = i;
      job.release_ns = i * 10;
      job.complete_ns = i * 10 + 5;
      // Tried again until there is room, so that all of them are written; each refusal counts.
      while (!(*log)->Append(job, stages)) {
        ++refused;
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
      if (i % (kJobs / 200) == 0) {
        most_resident = std::max(most_resident, ResidentBytes());
        most_disk = std::max(most_disk, BytesOnDisk(directory));
      }
    }
    (*log)->Flush();
    counts = (*log)->Counts();
    EXPECT_EQ(counts.dropped, refused);
    EXPECT_EQ(counts.appended, kJobs + refused);
  }
  const double seconds = static_cast<double>(NowNs() - begun_ns) / 1e9;
  EXPECT_EQ(counts.written, kJobs);
  EXPECT_LE(most_disk, kTotalBytes);
  EXPECT_LE(most_resident - std::min(before, most_resident), 16ull << 20);

  Result<std::unique_ptr<JobLogReader>> reader = JobLogReader::Open(directory);
  ASSERT_TRUE(reader.ok());
  uint64_t read = 0;
  SgprsLogJob last = {};
  while (std::optional<LoggedJob> job = *(*reader)->Next()) {
    ASSERT_GT(job->job.record.sequence, last.record.sequence);
    ASSERT_EQ(job->job.job, last.job == 0 ? job->job.job : last.job + 1);
    ASSERT_GT(job->job.release_ns, last.release_ns);
    ASSERT_EQ(job->stages.size(), 6u);
    last = job->job;
    ++read;
  }
  EXPECT_EQ((*reader)->counts().damaged, 0u);
  EXPECT_EQ(last.record.sequence, kJobs);
  EXPECT_EQ((*reader)->counts().overwritten, 0u);
  EXPECT_GE(read, kTotalBytes / 4 * 3 / SGPRS_LOG_RECORD_BYTES - 100);
  std::printf(
      "%.1f s for %lu records: %lu written, %lu dropped, %lu files begun; %lu MiB on disk, "
      "%lu MiB resident over what it began with; %lu read back\n",
      seconds, kJobs, counts.written, counts.dropped, counts.files_begun, most_disk >> 20,
      (most_resident - std::min(before, most_resident)) >> 20, read);
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace sgprs::observe
