// SPDX-License-Identifier: Apache-2.0
// The ring of files of a job log, as its writer sees it: begins files, appends whole records.
// Format: include/sgprs/abi/job_log.h. Thread: the writer's.
#ifndef SGPRS_RUNTIME_OBSERVE_JOB_LOG_FILES_H_
#define SGPRS_RUNTIME_OBSERVE_JOB_LOG_FILES_H_

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/observe/job_log_queue.h"
#include "sgprs/abi/job_log.h"

namespace sgprs::observe {

std::string JobLogFileName(const std::string& directory, uint64_t index);

class JobLogFiles {
 public:
  // Makes `directory` if need be and locks it against a second writer. Goes on with the numbers of
  // what is there; files of another shape (count or size) are removed. Errors: kInvalid (can not be
  // written, or holds a log of another major version), kRefused (another process writes it).
  static Result<std::unique_ptr<JobLogFiles>> Open(const std::string& directory,
                                                   uint32_t file_count, uint64_t file_records);

  // Ends the file and begins the next one with this header; numbers, sizes, times and check are
  // filled in here. Until it succeeds there is no room. Error kExhausted (disk full), kInternal.
  Status BeginFile(SgprsLogHeader header);
  // What the header says of policy, device, pool and probes is from now on what `header` says; the
  // rest of it stays. In place: a reader that meets it half written reads it again. Errors as
  // BeginFile(); nothing to do before the first file.
  Status Describe(const SgprsLogHeader& header);
  // Whole records that the current file still takes.
  uint64_t room() const { return room_; }
  // Gives each record its sequence and check and writes them. On an error none of those that are
  // not whole on disk counts: `written` says how many are.
  Status Append(LogSlot* records, uint32_t count, uint32_t* written);

  uint64_t next_sequence() const { return next_sequence_; }
  uint64_t files_begun() const { return files_begun_; }

 private:
  JobLogFiles() = default;
  Status LookAtExisting();

  std::string directory_;
  UniqueFd lock_;
  UniqueFd file_;
  SgprsLogHeader header_ = {};  // of it
  uint32_t file_count_ = 0;
  uint64_t file_records_ = 0;
  uint64_t next_file_ = 0;
  uint64_t next_sequence_ = 1;
  uint64_t room_ = 0;
  uint64_t offset_ = 0;
  uint64_t files_begun_ = 0;
};

}  // namespace sgprs::observe

#endif  // SGPRS_RUNTIME_OBSERVE_JOB_LOG_FILES_H_
