// SPDX-License-Identifier: Apache-2.0
// THE way in which tools read job records: one daemon's job log (include/sgprs/abi/job_log.h), or a
// file of `sgprs trace record`, job by job with its task's name, also while it grows.
//
// A log outlives its daemon, and client ids begin anew with each one: here a task is (run, client
// id), where a run is one daemon's life. Only the newest run is read; what a daemon that starts
// later adds to the same log is read as the next run.
//
// Thread: one at a time. Reads block on the disk, never on the daemon, which does not notice.
// Memory: the tasks seen and one job. Text from clients is made printable here.
#ifndef SGPRS_TOOLS_SGPRS_JOBS_JOB_HISTORY_H_
#define SGPRS_TOOLS_SGPRS_JOBS_JOB_HISTORY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/observe/job_log_reader.h"

namespace sgprs::cli {

struct HistoryTask {
  uint32_t run = 0;  // counts from 0 within this JobHistory
  uint64_t client_id = 0;
  std::string name;  // empty: the log does not say (yet)
  std::string program;
  uint64_t period_ns = 0;    // 0 = none
  uint64_t deadline_ns = 0;  // relative, 0 = none
  uint32_t pid = 0;
  uint32_t task_class = 0;    // SgprsTaskClass
  uint32_t release_rule = 0;  // SgprsReleaseRule asked for
  bool gone = false;
};

struct HistoryJob {
  SgprsLogJob job = {};
  std::vector<SgprsLogStage> stages;
  std::shared_ptr<const observe::StageContents> contents;  // nullptr: not known
  const HistoryTask* task = nullptr;  // never null; valid as long as the JobHistory

  bool missed() const { return (job.flags & SGPRS_LOG_MISSED) != 0; }
  bool learning() const { return (job.flags & SGPRS_LOG_LEARNING) != 0; }
  bool has_deadline() const { return job.deadline_ns != UINT64_MAX; }
  // What the stage launches most: "conv2d x6, relu x5". Empty: not known, or the job went another
  // way than its task usually does. Printable.
  std::string Kernels(size_t stage) const;
};

class JobHistory {
 public:
  // `path`: the directory of a log, or one file of that format. At its oldest job. Errors:
  // kNotFound (there is no log), kInvalid (of a version that is not read here).
  static Result<std::unique_ptr<JobHistory>> Open(const std::string& path);

  // The next job in the order of writing, which is that of completion within a task and nearly so
  // over all. nullopt: that is all for now; a later call may find more. Errors: kInternal (the disk
  // could not be read), kInvalid (a newer file is of another version).
  Result<std::optional<HistoryJob>> Next();
  // Passes over what is there, so that Next() gives what comes from now on. Errors as Next().
  Status SkipToEnd();

  // In the order of (run, client id).
  std::vector<const HistoryTask*> Tasks() const;
  // "cam"; "cam#7" if the log has several tasks of that name; "client#7" if it has none.
  std::string Label(const HistoryTask& task) const;
  // Whether a user who typed `word` means this task: its name (then all of that name), NAME#ID, or
  // #ID.
  static bool Matches(const HistoryTask& task, std::string_view word);
  // Those that Matches() picks. Error kNotFound: none; the text names those that there are.
  Result<std::vector<const HistoryTask*>> Find(std::string_view word) const;

  // Of the file that the last job came from: policy, device, partitions, probe level.
  const SgprsLogHeader& header() const { return reader_->header(); }
  const observe::JobLogReaderCounts& counts() const { return reader_->counts(); }
  const std::string& path() const { return path_; }
  // The log of the task as it stands in the file, for who copies records. nullptr: not named.
  const SgprsLogTask* Logged(const HistoryTask& task) const;

 private:
  JobHistory(std::string path, std::unique_ptr<observe::JobLogReader> reader)
      : path_(std::move(path)), reader_(std::move(reader)) {}
  HistoryTask* Learn(uint64_t client_id);

  using TaskKey = std::pair<uint32_t, uint64_t>;
  const std::string path_;
  const std::unique_ptr<observe::JobLogReader> reader_;
  uint64_t first_file_ = 0;  // of the newest run when it was opened
  uint32_t run_ = 0;
  uint32_t run_pid_ = 0;
  std::map<TaskKey, HistoryTask> tasks_;  // nodes stay where they are
};

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_JOBS_JOB_HISTORY_H_
