// SPDX-License-Identifier: Apache-2.0
#include "runtime/observe/job_log_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "runtime/observe/job_log_check.h"

namespace sgprs::observe {
namespace {

constexpr size_t kBufferRecords = 256;
constexpr uint32_t kMostFiles = 1024;
constexpr int kHeaderReads = 5;
constexpr uint32_t kFewFiles = 64;  // looked for when a writer may have changed their number

// Bytes read from `offset` on, at most `bytes`; -1 and errno.
ssize_t ReadAt(int fd, void* to, size_t bytes, uint64_t offset) {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t got =
        pread(fd, static_cast<char*>(to) + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return static_cast<ssize_t>(done);
}

template <typename T>
T As(const unsigned char* bytes) {
  T record;
  std::memcpy(&record, bytes, sizeof(record));
  return record;
}

void Terminate(char (&text)[SGPRS_NAME_BYTES]) { text[SGPRS_NAME_BYTES - 1] = '\0'; }

std::string FileName(const std::string& directory, uint64_t index) {
  return directory + "/jobs." + std::to_string(index);
}

}  // namespace

Result<SgprsLogHeader> ReadLogHeader(int fd, const std::string& name) {
  SgprsLogHeader header;
  ssize_t got = ReadAt(fd, &header, sizeof(header), 0);
  // Its writer may be changing it in place (JobLogFiles::Describe).
  for (int again = 0;
       again < kHeaderReads && got == sizeof(header) && header.magic == SGPRS_LOG_MAGIC &&
       header.major == SGPRS_LOG_MAJOR && header.check != CheckOfHeader(header);
       ++again) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    got = ReadAt(fd, &header, sizeof(header), 0);
  }
  if (got < static_cast<ssize_t>(offsetof(SgprsLogHeader, header_bytes)) ||
      header.magic != SGPRS_LOG_MAGIC) {
    return Status(ErrorCode::kNotFound, name + " is not a job log");
  }
  if (header.major != SGPRS_LOG_MAJOR) {
    return Status(ErrorCode::kInvalid,
                  name + " is a job log of version " + std::to_string(header.major) + "." +
                      std::to_string(header.minor) + "; this program reads version " +
                      std::to_string(SGPRS_LOG_MAJOR) + ": use the one that wrote it");
  }
  if (got != sizeof(header) || header.check != CheckOfHeader(header) ||
      header.header_bytes != SGPRS_LOG_HEADER_BYTES ||
      header.record_bytes != SGPRS_LOG_RECORD_BYTES || header.file_count == 0 ||
      header.file_count > kMostFiles || header.partition_count > SGPRS_MAX_PARTITIONS) {
    return Status(ErrorCode::kNotFound, name + " is damaged in its header");
  }
  Terminate(header.policy);
  Terminate(header.device_name);
  return header;
}

Result<std::unique_ptr<JobLogReader>> JobLogReader::Open(const std::string& path) {
  struct stat at = {};
  const bool single_file = stat(path.c_str(), &at) == 0 && S_ISREG(at.st_mode);
  std::unique_ptr<JobLogReader> reader(new JobLogReader(path, single_file));
  Result<bool> opened = reader->OpenFrom(0);
  if (!opened.ok()) return opened.status();
  if (!*opened) {
    return Status(ErrorCode::kNotFound,
                  single_file ? path + " is not a job log" : "no job log in " + path);
  }
  return reader;
}

Result<bool> JobLogReader::OpenFrom(uint64_t number) {
  UniqueFd best;
  SgprsLogHeader best_header = {};
  const uint32_t many = file_.valid() ? std::max(header_.file_count, kFewFiles) : kMostFiles;
  const uint32_t most = single_file_ ? 1 : many;
  for (uint32_t i = 0; i < most; ++i) {
    const std::string name = single_file_ ? directory_ : FileName(directory_, i);
    UniqueFd file(open(name.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.valid()) continue;  // the one that is being begun
    Result<SgprsLogHeader> header = ReadLogHeader(file.get(), name);
    if (!header.ok()) {
      if (header.status().code() == ErrorCode::kInvalid) return header.status();
      continue;
    }
    if (header->file_number < number) continue;
    if (best.valid() && header->file_number >= best_header.file_number) continue;
    best = std::move(file);
    best_header = *header;
  }
  if (!best.valid()) return false;
  file_ = std::move(best);
  header_ = best_header;
  offset_ = SGPRS_LOG_HEADER_BYTES;
  buffer_.clear();
  buffer_at_ = 0;
  return true;
}

// False: nothing new in this file.
Result<bool> JobLogReader::Fill() {
  buffer_.resize(kBufferRecords);
  buffer_at_ = 0;
  const ssize_t got = ReadAt(file_.get(), buffer_.data(), kBufferRecords * sizeof(Record), offset_);
  if (got < 0) {
    buffer_.clear();
    return Status(ErrorCode::kInternal,
                  "reading the job log in " + directory_ + ": " + std::strerror(errno));
  }
  // A record cut short is one that is being written, or was when its writer was killed.
  buffer_.resize(static_cast<size_t>(got) / sizeof(Record));
  offset_ += buffer_.size() * sizeof(Record);
  if (buffer_.empty()) return false;
  // Its writer may have learnt of the pool since it was opened.
  Result<SgprsLogHeader> header = ReadLogHeader(file_.get(), directory_);
  if (header.ok()) header_ = *header;
  return true;
}

Result<const JobLogReader::Record*> JobLogReader::NextRecord() {
  for (;;) {
    if (buffer_at_ == buffer_.size()) {
      Result<bool> filled = Fill();
      if (!filled.ok()) return filled.status();
      if (!*filled) {
        // A file that has a successor is full or given up; it may have grown just before.
        const SgprsLogHeader before = header_;
        UniqueFd held(dup(file_.get()));
        const uint64_t at = offset_;
        Result<bool> opened = OpenFrom(before.file_number + 1);
        if (!opened.ok()) return opened.status();
        if (!*opened) return static_cast<const Record*>(nullptr);
        Record probe;
        if (ReadAt(held.get(), &probe, sizeof(probe), at) == sizeof(probe)) {
          file_ = std::move(held);
          header_ = before;
          offset_ = at;
        }
        continue;
      }
    }
    const Record& record = buffer_[buffer_at_++];
    const auto head = As<SgprsLogRecord>(record.bytes);
    if (head.check != CheckOfRecord(record.bytes)) {
      ++counts_.damaged;
      if (next_sequence_ != 0) ++next_sequence_;
      continue;
    }
    if (next_sequence_ != 0 && head.sequence > next_sequence_) {
      counts_.overwritten += head.sequence - next_sequence_;
    }
    next_sequence_ = head.sequence + 1;
    counts_.dropped += head.dropped;
    return &record;
  }
}

void JobLogReader::Take(const Record& record, std::optional<LoggedJob>* whole) {
  switch (As<SgprsLogRecord>(record.bytes).kind) {
    case SGPRS_LOG_TASK: {
      auto task = As<SgprsLogTask>(record.bytes);
      Terminate(task.name);
      Terminate(task.program);
      tasks_[task.client_id] = task;
      break;
    }
    case SGPRS_LOG_JOB: {
      *whole = std::move(open_job_);  // the rest of its stages is lost
      auto job = As<SgprsLogJob>(record.bytes);
      job.stage_count = std::min<uint32_t>(job.stage_count, SGPRS_MAX_STAGES);
      job.culprit_comm[SGPRS_LOG_COMM_BYTES - 1] = '\0';
      const uint32_t own = std::min<uint32_t>(job.stage_count, SGPRS_LOG_STAGES);
      const auto contents = contents_.find(job.client_id);
      open_job_.emplace(
          LoggedJob{.job = job,
                    .stages = {job.stages, job.stages + own},
                    .contents = contents == contents_.end() ? nullptr : contents->second});
      break;
    }
    case SGPRS_LOG_MORE:
      TakeMore(As<SgprsLogMore>(record.bytes));
      break;
    case SGPRS_LOG_CONTENTS_OF:
      TakeContents(As<SgprsLogContents>(record.bytes));
      break;
    default:  // of a later minor version
      break;
  }
}

void JobLogReader::TakeMore(const SgprsLogMore& more) {
  if (!open_job_ || open_job_->job.client_id != more.client_id || open_job_->job.job != more.job ||
      more.first_stage != open_job_->stages.size()) {
    return;
  }
  const uint32_t room =
      open_job_->job.stage_count - static_cast<uint32_t>(open_job_->stages.size());
  const uint32_t count =
      std::min({more.stage_count, room, static_cast<uint32_t>(SGPRS_LOG_MORE_STAGES)});
  open_job_->stages.insert(open_job_->stages.end(), more.stages, more.stages + count);
}

void JobLogReader::TakeContents(const SgprsLogContents& part) {
  std::shared_ptr<StageContents>& contents = contents_[part.client_id];
  // Jobs read before keep what they have.
  if (part.first_stage == 0 || contents == nullptr) contents = std::make_shared<StageContents>();
  if (part.first_stage != contents->size()) return;  // the records before it are lost
  const uint32_t end = std::min<uint32_t>(part.stage_count, SGPRS_MAX_STAGES);
  for (uint32_t i = part.first_stage; i < end && i < part.first_stage + SGPRS_LOG_CONTENTS; ++i) {
    contents->push_back(part.stages[i - part.first_stage]);
    for (SgprsLogKernel& kernel : contents->back().kernels)
      kernel.name[SGPRS_LOG_KERNEL_BYTES - 1] = '\0';
  }
}

Result<std::optional<LoggedJob>> JobLogReader::Next() {
  std::optional<LoggedJob> whole;
  while (!whole) {
    if (open_job_ && open_job_->stages.size() == open_job_->job.stage_count) {
      whole = std::move(open_job_);
      open_job_.reset();
      break;
    }
    Result<const Record*> record = NextRecord();
    if (!record.ok()) return record.status();
    if (*record == nullptr) return std::optional<LoggedJob>();
    Take(**record, &whole);
  }
  ++counts_.jobs;
  return whole;
}

const SgprsLogTask* JobLogReader::Task(uint64_t client_id) const {
  const auto found = tasks_.find(client_id);
  return found != tasks_.end() ? &found->second : nullptr;
}

}  // namespace sgprs::observe
