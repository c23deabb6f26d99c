// SPDX-License-Identifier: Apache-2.0
// The file of `sgprs trace record`: job records copied out of a job log into one file of the same
// format (include/sgprs/abi/job_log.h), which no ring overwrites. JobHistory reads it back.
//
// The file is whole after every Flush(): what was written before a SIGKILL is there. Thread: one at
// a time; writes block on the disk.
#ifndef SGPRS_TOOLS_SGPRS_JOBS_RECORDING_FILE_H_
#define SGPRS_TOOLS_SGPRS_JOBS_RECORDING_FILE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "tools/sgprs/jobs/job_history.h"

namespace sgprs::cli {

class RecordingFile {
 public:
  // Makes or empties `path`. `header`: of the log that is copied from. Error kInvalid: it can not
  // be written.
  static Result<std::unique_ptr<RecordingFile>> Open(const std::string& path,
                                                     const SgprsLogHeader& header);

  // `history`: where the job came from; names its task the first time, and what its stages are made
  // of when that changes.
  void Add(const JobHistory& history, const HistoryJob& job);
  // Error kExhausted or kInternal: it could not be written (a full disk).
  Status Flush();
  uint64_t jobs() const { return jobs_; }

 private:
  RecordingFile(std::string path, UniqueFd file) : path_(std::move(path)), file_(std::move(file)) {}
  template <typename Record>
  void Append(Record record, uint16_t kind);
  void AppendContents(uint64_t client_id, const observe::StageContents& contents);

  const std::string path_;
  UniqueFd file_;
  std::string buffer_;
  SgprsLogHeader header_ = {};
  uint64_t sequence_ = 0;
  uint64_t written_ = 0;  // bytes, the header's too
  uint64_t jobs_ = 0;
  // By run and client: what was written last of its stages; nullptr: only its name.
  std::map<std::pair<uint32_t, uint64_t>, std::shared_ptr<const observe::StageContents>> named_;
};

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_JOBS_RECORDING_FILE_H_
