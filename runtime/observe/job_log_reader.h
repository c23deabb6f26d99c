// SPDX-License-Identifier: Apache-2.0
// Reads a job log (include/sgprs/abi/job_log.h), also while it is being written. What is damaged,
// cut short or of another version is told from what is whole; nothing in a file is trusted.
//
// Thread: one at a time. Reads block on the disk. Memory: the tasks seen, one job, one buffer.
#ifndef SGPRS_RUNTIME_OBSERVE_JOB_LOG_READER_H_
#define SGPRS_RUNTIME_OBSERVE_JOB_LOG_READER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "sgprs/abi/job_log.h"

namespace sgprs::observe {

// Checks magic, version, sizes and check word. Errors: kInvalid (a job log of a version that is not
// read here: the text names both), kNotFound (not a job log, or one cut short in its header).
Result<SgprsLogHeader> ReadLogHeader(int fd, const std::string& name);

// What a task's stages are made of: as many as its jobs have, when they go as learnt.
using StageContents = std::vector<SgprsLogStageKernels>;

struct LoggedJob {
  SgprsLogJob job = {};  // its own `stages` are in the list too
  std::vector<SgprsLogStage> stages;
  // As was known of its task by then; nullptr: nothing. Shared by its jobs.
  std::shared_ptr<const StageContents> contents;
};

struct JobLogReaderCounts {
  uint64_t jobs = 0;
  uint64_t dropped = 0;      // by the writer: queue or disk was full
  uint64_t overwritten = 0;  // records that the ring had thrown away before they were read
  uint64_t damaged = 0;      // records whose check word is wrong
};

class JobLogReader {
 public:
  // `path`: a log's directory, or one file of one. At the oldest record that is there. Errors:
  // kNotFound (no log there), kInvalid (see above).
  static Result<std::unique_ptr<JobLogReader>> Open(const std::string& path);

  // The next job in the order of writing; nullopt: that is all for now, a later call may find more.
  // Error kInternal: the disk could not be read; kInvalid: a newer file is of another version.
  Result<std::optional<LoggedJob>> Next();

  // As last seen; nullptr: not named yet.
  const SgprsLogTask* Task(uint64_t client_id) const;
  const std::map<uint64_t, SgprsLogTask>& tasks() const { return tasks_; }
  // Of the file that the last job came from.
  const SgprsLogHeader& header() const { return header_; }
  const JobLogReaderCounts& counts() const { return counts_; }

 private:
  JobLogReader(std::string path, bool single_file)
      : directory_(std::move(path)), single_file_(single_file) {}
  // Opens file `number`, else the oldest one after it. False: there is none.
  Result<bool> OpenFrom(uint64_t number);
  struct Record {
    alignas(8) unsigned char bytes[SGPRS_LOG_RECORD_BYTES];
  };
  // nullptr: the end, for now.
  Result<const Record*> NextRecord();
  Result<bool> Fill();
  void Take(const Record& record, std::optional<LoggedJob>* whole);
  void TakeMore(const SgprsLogMore& more);
  void TakeContents(const SgprsLogContents& part);

  const std::string directory_;  // or the single file
  const bool single_file_;
  UniqueFd file_;
  SgprsLogHeader header_ = {};
  uint64_t offset_ = 0;         // of what follows the buffer
  uint64_t next_sequence_ = 0;  // 0 = not known
  std::vector<Record> buffer_;
  size_t buffer_at_ = 0;
  std::optional<LoggedJob> open_job_;  // more of its stages may follow
  std::map<uint64_t, SgprsLogTask> tasks_;
  std::map<uint64_t, std::shared_ptr<StageContents>> contents_;
  JobLogReaderCounts counts_;
};

}  // namespace sgprs::observe

#endif  // SGPRS_RUNTIME_OBSERVE_JOB_LOG_READER_H_
