// SPDX-License-Identifier: Apache-2.0
// A job log on disk with jobs made up for the tests of what reads it.
#ifndef SGPRS_TESTS_UNIT_CLI_JOBS_WRITTEN_LOG_H_
#define SGPRS_TESTS_UNIT_CLI_JOBS_WRITTEN_LOG_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/observe/job_log.h"
#include "tools/sgprs/jobs/job_history.h"

namespace sgprs::cli {

inline constexpr uint64_t kPeriod = 10 * kNsPerMs;

// Released by its timer at `release_ns`, all phases short, on time; 3.55 ms of response time.
inline SgprsLogJob UsualJob(uint64_t client_id, uint64_t number, uint64_t release_ns) {
  SgprsLogJob job = {};
  job.client_id = client_id;
  job.job = number;
  job.flags = SGPRS_LOG_STAMPS;
  job.release_rule = SGPRS_RELEASE_TIMER;
  job.release_ns = job.due_ns = release_ns;
  job.expire_ns = release_ns + 50 * kNsPerUs;
  job.wakeup_ns = job.expire_ns + 2 * kNsPerUs;
  job.on_cpu_ns = job.wakeup_ns + 48 * kNsPerUs;
  job.wait_exit_ns = job.on_cpu_ns + 5 * kNsPerUs;
  job.first_launch_ns = job.wait_exit_ns + 295 * kNsPerUs;
  job.first_grant_ns = job.first_launch_ns + 30 * kNsPerUs;
  job.first_issue_ns = job.first_grant_ns + 20 * kNsPerUs;
  job.complete_ns = job.first_issue_ns + 3100 * kNsPerUs;
  job.deadline_ns = release_ns + kPeriod;
  job.cpu = 1;
  return job;
}

// Moments from `from` (a member of SgprsLogJob) on, the release and the deadline apart, come
// `by_ns` later; late if that is beyond the deadline.
inline void Delay(SgprsLogJob* job, uint64_t SgprsLogJob::*from, uint64_t by_ns) {
  uint64_t SgprsLogJob::*const moments[] = {
      &SgprsLogJob::expire_ns,      &SgprsLogJob::wakeup_ns,       &SgprsLogJob::on_cpu_ns,
      &SgprsLogJob::wait_exit_ns,   &SgprsLogJob::first_launch_ns, &SgprsLogJob::first_grant_ns,
      &SgprsLogJob::first_issue_ns, &SgprsLogJob::complete_ns};
  bool after = false;
  for (uint64_t SgprsLogJob::*moment : moments) {
    after = after || moment == from;
    if (after) job->*moment += by_ns;
  }
  if (job->complete_ns > job->deadline_ns) job->flags |= SGPRS_LOG_MISSED;
}

// One stage in `partition` from grant to completion.
inline std::vector<SgprsLogStage> OneStage(const SgprsLogJob& job, uint16_t partition = 0) {
  SgprsLogStage stage = {};
  stage.granted_ns = job.first_grant_ns;
  stage.issued_ns = job.first_issue_ns;
  stage.gpu_start_ns = job.first_issue_ns + 10 * kNsPerUs;
  stage.gpu_end_ns = job.complete_ns;
  stage.virtual_deadline_ns = job.deadline_ns;
  stage.partition = partition;
  return {stage};
}

class WrittenLog {
 public:
  WrittenLog() {
    std::string name = ::testing::TempDir() + "sgprs-jobs-XXXXXX";
    if (mkdtemp(name.data()) != nullptr) directory_ = name;
  }
  ~WrittenLog() {
    log_.reset();
    std::filesystem::remove_all(directory_);
  }
  WrittenLog(const WrittenLog&) = delete;
  WrittenLog& operator=(const WrittenLog&) = delete;

  void Task(uint64_t client_id, const char* name) {
    SgprsLogTask task = {};
    task.client_id = client_id;
    std::strncpy(task.name, name, sizeof(task.name) - 1);
    std::strncpy(task.program, "program", sizeof(task.program) - 1);
    task.period_ns = task.deadline_ns = kPeriod;
    task.pid = static_cast<uint32_t>(1000 + client_id);
    task.release_rule = SGPRS_RELEASE_TIMER;
    log()->AppendTask(task);
  }
  void Job(const SgprsLogJob& job, const std::vector<SgprsLogStage>& stages) {
    log()->Append(job, stages);
  }
  // One kernel a stage, by name, ten times.
  void Contents(uint64_t client_id, const std::vector<std::string>& kernels) {
    std::vector<SgprsLogStageKernels> rows(kernels.size());
    for (size_t i = 0; i < kernels.size(); ++i) {
      std::strncpy(rows[i].kernels[0].name, kernels[i].c_str(), SGPRS_LOG_KERNEL_BYTES - 1);
      rows[i].kernels[0].launches = 10;
    }
    log()->AppendContents(client_id, rows);
  }
  void Job(const SgprsLogJob& job) { Job(job, OneStage(job)); }
  // `count` usual jobs, one a period, the first released at `from_ns`.
  void UsualJobs(uint64_t client_id, uint64_t count, uint64_t from_ns = kNsPerSecond) {
    for (uint64_t i = 0; i < count; ++i) Job(UsualJob(client_id, i + 1, from_ns + i * kPeriod));
  }
  void Flush() { log()->Flush(); }

  std::unique_ptr<JobHistory> Open() {
    Flush();
    Result<std::unique_ptr<JobHistory>> history = JobHistory::Open(directory_);
    EXPECT_TRUE(history.ok()) << history.status().text();
    return history.ok() ? std::move(*history) : nullptr;
  }
  // Before the first job; another one than "test".
  void SetDevice(const std::string& name) { device_ = name; }
  const std::string& directory() const { return directory_; }

 private:
  observe::JobLog* log() {
    if (log_ == nullptr) {
      const SgprsLogPartition partitions[] = {{0, 34}, {34, 34}};
      Result<std::unique_ptr<observe::JobLog>> opened =
          observe::JobLog::Open({.directory = directory_, .total_bytes = 4u << 20, .files = 2},
                                {.policy = "sgprs",
                                 .device = device_,
                                 .probe_level = 3,
                                 .sm_count = 68,
                                 .partitions = partitions});
      EXPECT_TRUE(opened.ok()) << opened.status().text();
      log_ = std::move(*opened);
    }
    return log_.get();
  }

  std::string directory_;
  std::string device_ = "test";
  std::unique_ptr<observe::JobLog> log_;
};

}  // namespace sgprs::cli

#endif  // SGPRS_TESTS_UNIT_CLI_JOBS_WRITTEN_LOG_H_
