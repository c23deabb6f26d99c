// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/jobs/recording_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/observe/job_log_check.h"

namespace sgprs::cli {
namespace {

Status WriteAll(int fd, const std::string& path, const void* from, size_t bytes, uint64_t offset) {
  const char* at = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t done = pwrite(fd, at, bytes, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      const int error = done < 0 ? errno : ENOSPC;
      return Status(error == ENOSPC ? ErrorCode::kExhausted : ErrorCode::kInternal,
                    path + ": " + std::strerror(error));
    }
    at += done;
    bytes -= static_cast<size_t>(done);
    offset += static_cast<uint64_t>(done);
  }
  return Status::Ok();
}

}  // namespace

Result<std::unique_ptr<RecordingFile>> RecordingFile::Open(const std::string& path,
                                                           const SgprsLogHeader& header) {
  UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file.valid()) {
    return Status(ErrorCode::kInvalid, path + " can not be written: " + std::strerror(errno));
  }
  std::unique_ptr<RecordingFile> made(new RecordingFile(path, std::move(file)));
  made->header_ = header;
  return made;
}

template <typename Record>
void RecordingFile::Append(Record record, uint16_t kind) {
  record.record = {.sequence = ++sequence_, .check = 0, .kind = kind, .reserved0 = 0, .dropped = 0};
  record.record.check = observe::CheckOfRecord(&record);
  buffer_.append(reinterpret_cast<const char*>(&record), sizeof(record));
}

void RecordingFile::Add(const JobHistory& history, const HistoryJob& job) {
  header_ = history.header();
  if (const SgprsLogTask* task = history.Logged(*job.task)) {
    const auto [named, first] = named_.try_emplace({job.task->run, job.task->client_id}, nullptr);
    if (first) Append(*task, SGPRS_LOG_TASK);
    if (job.contents != nullptr && named->second != job.contents) {
      AppendContents(job.task->client_id, *job.contents);
      named->second = job.contents;
    }
  }
  SgprsLogJob own = job.job;
  own.stage_count = static_cast<uint32_t>(job.stages.size());
  Append(own, SGPRS_LOG_JOB);
  for (size_t at = SGPRS_LOG_STAGES; at < job.stages.size(); at += SGPRS_LOG_MORE_STAGES) {
    SgprsLogMore more = {};
    more.client_id = own.client_id;
    more.job = own.job;
    more.first_stage = static_cast<uint32_t>(at);
    more.stage_count =
        static_cast<uint32_t>(std::min<size_t>(job.stages.size() - at, SGPRS_LOG_MORE_STAGES));
    std::copy_n(job.stages.begin() + static_cast<ptrdiff_t>(at), more.stage_count, more.stages);
    Append(more, SGPRS_LOG_MORE);
  }
  ++jobs_;
}

void RecordingFile::AppendContents(uint64_t client_id, const observe::StageContents& contents) {
  for (size_t first = 0; first < contents.size(); first += SGPRS_LOG_CONTENTS) {
    SgprsLogContents part = {};
    part.client_id = client_id;
    part.first_stage = static_cast<uint32_t>(first);
    part.stage_count = static_cast<uint32_t>(contents.size());
    std::copy_n(contents.begin() + static_cast<ptrdiff_t>(first),
                std::min<size_t>(contents.size() - first, SGPRS_LOG_CONTENTS), part.stages);
    Append(part, SGPRS_LOG_CONTENTS_OF);
  }
}

Status RecordingFile::Flush() {
  if (buffer_.empty() && written_ != 0) return Status::Ok();
  // As if it were a log of one file; pid and boot stay those of the daemon.
  SgprsLogHeader header = header_;
  header.file_count = 1;
  header.file_number = 0;
  header.file_records = sequence_;
  header.first_sequence = 1;
  header.check = observe::CheckOfHeader(header);
  Status status = WriteAll(file_.get(), path_, &header, sizeof(header), 0);
  if (!status.ok()) return status;
  written_ = std::max<uint64_t>(written_, sizeof(header));
  status = WriteAll(file_.get(), path_, buffer_.data(), buffer_.size(), written_);
  if (!status.ok()) return status;
  written_ += buffer_.size();
  buffer_.clear();
  return Status::Ok();
}

}  // namespace sgprs::cli
