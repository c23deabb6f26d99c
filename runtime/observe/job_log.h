// SPDX-License-Identifier: Apache-2.0
// Writes the job log: one record a job, in a bounded ring of files (include/sgprs/abi/job_log.h).
//
// Threads: one that appends (the loop's), and a writer thread of this object that alone touches the
// disk. Append() copies into a bounded queue, never waits, and counts what finds no room. SIGKILL
// loses what was appended in the last kPauseNs or so; everything before it is whole on disk (in the
// page cache: a power cut loses more).
#ifndef SGPRS_RUNTIME_OBSERVE_JOB_LOG_H_
#define SGPRS_RUNTIME_OBSERVE_JOB_LOG_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/observe/job_log_files.h"
#include "runtime/observe/job_log_queue.h"
#include "sgprs/abi/job_log.h"

namespace sgprs::observe {

struct JobLogOptions {
  std::string directory;
  uint64_t total_bytes = 64ull << 20;  // of all files; at least kLeastFileBytes each
  uint32_t files = 4;
  uint32_t queue_records = 2048;  // a power of two
};

// What each file says of the daemon that wrote it.
struct JobLogInfo {
  std::string policy;
  std::string device;
  uint32_t probe_level = 0;
  uint32_t sm_count = 0;
  std::span<const SgprsLogPartition> partitions;
};

struct JobLogCounts {
  uint64_t appended = 0;  // records taken: written, dropped or still queued
  uint64_t written = 0;
  uint64_t dropped = 0;  // queue full, disk full
  uint64_t files_begun = 0;
};

class JobLog {
 public:
  static constexpr uint64_t kPauseNs = 20'000'000;
  static constexpr uint64_t kLeastFileBytes = 1u << 20;

  // Errors: as JobLogFiles::Open(), kInvalid (sizes).
  static Result<std::unique_ptr<JobLog>> Open(const JobLogOptions& options, const JobLogInfo& info);
  // Writes what is queued.
  ~JobLog();

  // For the files begun from now on.
  void SetInfo(const JobLogInfo& info);
  // `job` with all of `stages`; `job.record`, its stages and their counts are filled in here.
  // False: dropped.
  bool Append(SgprsLogJob job, std::span<const SgprsLogStage> stages);
  // A task that joined, changed, or is gone (gone_ns != 0). Repeated at the head of each file while
  // alive. False: no room; its jobs have no name until the next file.
  bool AppendTask(SgprsLogTask task);
  // What the client's stages are made of from now on: record kind, client and places are filled in
  // here; `stages` has SGPRS_MAX_STAGES at most. Repeated like the task. False: no room.
  bool AppendContents(uint64_t client_id, std::span<const SgprsLogStageKernels> stages);

  // Waits until all that was appended is written or dropped. For tests and the end.
  void Flush();
  JobLogCounts Counts() const;
  // Of the latest failed write; empty if all is well.
  std::string Trouble() const;

 private:
  JobLog(const JobLogOptions& options, std::unique_ptr<JobLogFiles> files);
  bool Push(std::span<LogSlot> records);
  void Write();
  bool Pause();
  void Describe();
  void WriteBatch(uint32_t count);
  // Begins a file and names the tasks alive in it. False: the disk says no.
  bool BeginFile();
  // What the next files repeat.
  void Note(const LogSlot& record);
  void Drop(uint32_t count, const Status& why);

  JobLogQueue queue_;

  // The appender's.
  uint32_t dropped_since_ = 0;

  // The writer's.
  const std::unique_ptr<JobLogFiles> files_;
  const std::unique_ptr<LogSlot[]> batch_;
  struct Named {
    SgprsLogTask task;
    std::vector<SgprsLogContents> contents;
  };
  std::map<uint64_t, Named> tasks_;  // alive
  uint32_t write_dropped_ = 0;       // since the last record written

  // Shared.
  std::atomic<uint32_t> pushes_{0};  // changes with each push; what the writer sleeps on
  std::atomic<uint64_t> appended_{0};
  std::atomic<uint64_t> done_{0};  // written or dropped by the writer
  std::atomic<uint64_t> written_{0};
  std::atomic<uint64_t> dropped_{0};
  std::atomic<uint64_t> files_begun_{0};
  mutable std::mutex mutex_;
  std::condition_variable hurry_;  // the writer need not pause
  bool hurrying_ = false;
  bool stopping_ = false;
  SgprsLogHeader header_ = {};
  bool described_ = true;  // the file says what header_ says
  std::string trouble_;
  std::thread writer_;
};

}  // namespace sgprs::observe

#endif  // SGPRS_RUNTIME_OBSERVE_JOB_LOG_H_
