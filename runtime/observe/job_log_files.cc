// SPDX-License-Identifier: Apache-2.0
#include "runtime/observe/job_log_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/base/clock.h"
#include "runtime/observe/job_log_check.h"
#include "runtime/observe/job_log_reader.h"

namespace sgprs::observe {
namespace {

constexpr uint32_t kMostFiles = 1024;

std::string Errno() { return std::strerror(errno); }

Status WriteError(const std::string& what) {
  const bool full = errno == ENOSPC || errno == EDQUOT || errno == EFBIG;
  return Status(full ? ErrorCode::kExhausted : ErrorCode::kInternal, what + ": " + Errno());
}

// Writes all of it or says why not; `done` is how far it came.
bool WriteAll(int fd, const void* data, size_t bytes, uint64_t offset, size_t* done) {
  const auto* from = static_cast<const char*>(data);
  *done = 0;
  while (*done < bytes) {
    const ssize_t wrote =
        pwrite(fd, from + *done, bytes - *done, static_cast<off_t>(offset + *done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    *done += static_cast<size_t>(wrote);
  }
  return true;
}

bool BeginsLikeALog(int fd) {
  uint64_t magic = 0;
  return pread(fd, &magic, sizeof(magic), 0) == sizeof(magic) && magic == SGPRS_LOG_MAGIC;
}

uint64_t UnixNs() {
  timespec ts;
  clock_gettime(CLOCK_REALTIME, &ts);
  return static_cast<uint64_t>(ts.tv_sec) * kNsPerSecond + static_cast<uint64_t>(ts.tv_nsec);
}

}  // namespace

std::string JobLogFileName(const std::string& directory, uint64_t index) {
  return directory + "/jobs." + std::to_string(index);
}

Result<std::unique_ptr<JobLogFiles>> JobLogFiles::Open(const std::string& directory,
                                                       uint32_t file_count, uint64_t file_records) {
  if (mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST) {
    return Status(ErrorCode::kInvalid,
                  "making the job log's directory " + directory + ": " + Errno());
  }
  std::unique_ptr<JobLogFiles> files(new JobLogFiles);
  files->directory_ = directory;
  files->file_count_ = file_count;
  files->file_records_ = file_records;
  const std::string lock = directory + "/lock";
  files->lock_.reset(open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!files->lock_.valid()) {
    return Status(ErrorCode::kInvalid, "opening " + lock + ": " + Errno());
  }
  if (flock(files->lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    return Status(ErrorCode::kRefused, "another process writes the job log in " + directory);
  }
  if (Status looked = files->LookAtExisting(); !looked.ok()) return looked;
  return files;
}

Status JobLogFiles::LookAtExisting() {
  bool same_shape = true;
  for (uint32_t i = 0; i < kMostFiles; ++i) {
    const std::string name = JobLogFileName(directory_, i);
    UniqueFd file(open(name.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.valid()) continue;
    Result<SgprsLogHeader> header = ReadLogHeader(file.get(), name);
    if (!header.ok()) {
      if (header.status().code() == ErrorCode::kInvalid) return header.status();
      if (!BeginsLikeALog(file.get())) {
        return Status(ErrorCode::kInvalid, name +
                                               " is not a job log: give the log a directory of "
                                               "its own");
      }
      continue;
    }
    same_shape =
        same_shape && header->file_count == file_count_ && header->file_records == file_records_;
    next_file_ = std::max(next_file_, header->file_number + 1);
    struct stat size = {};
    fstat(file.get(), &size);
    const auto bytes = static_cast<uint64_t>(size.st_size);
    const uint64_t records =
        (std::max<uint64_t>(bytes, SGPRS_LOG_HEADER_BYTES) - SGPRS_LOG_HEADER_BYTES) /
        SGPRS_LOG_RECORD_BYTES;
    next_sequence_ = std::max(next_sequence_, header->first_sequence + records);
  }
  for (uint32_t i = 0; !same_shape && i < kMostFiles; ++i) {
    unlink(JobLogFileName(directory_, i).c_str());
  }
  return Status::Ok();
}

Status JobLogFiles::BeginFile(SgprsLogHeader header) {
  room_ = 0;
  file_.reset();
  const std::string name = JobLogFileName(directory_, next_file_ % file_count_);
  const std::string fresh = name + ".new";
  // A reader that has the old one open keeps it whole; its room on disk is given back first.
  unlink(name.c_str());
  UniqueFd file(open(fresh.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file.valid()) return WriteError("making " + fresh);
  header.magic = SGPRS_LOG_MAGIC;
  header.major = SGPRS_LOG_MAJOR;
  header.minor = SGPRS_LOG_MINOR;
  header.header_bytes = SGPRS_LOG_HEADER_BYTES;
  header.record_bytes = SGPRS_LOG_RECORD_BYTES;
  header.file_count = file_count_;
  header.file_number = next_file_;
  header.file_records = file_records_;
  header.first_sequence = next_sequence_;
  header.begun_ns = NowNs();
  header.begun_unix_ns = UnixNs();
  header.check = CheckOfHeader(header);
  size_t done = 0;
  if (!WriteAll(file.get(), &header, sizeof(header), 0, &done) ||
      rename(fresh.c_str(), name.c_str()) != 0) {
    const Status failed = WriteError("writing " + name);
    unlink(fresh.c_str());
    return failed;
  }
  file_ = std::move(file);
  header_ = header;
  offset_ = SGPRS_LOG_HEADER_BYTES;
  room_ = file_records_;
  ++next_file_;
  ++files_begun_;
  return Status::Ok();
}

Status JobLogFiles::Describe(const SgprsLogHeader& header) {
  if (!file_.valid()) return Status::Ok();
  header_.probe_level = header.probe_level;
  header_.sm_count = header.sm_count;
  header_.partition_count = header.partition_count;
  std::copy_n(header.partitions, SGPRS_MAX_PARTITIONS, header_.partitions);
  std::copy_n(header.policy, sizeof(header_.policy), header_.policy);
  std::copy_n(header.device_name, sizeof(header_.device_name), header_.device_name);
  header_.check = CheckOfHeader(header_);
  size_t done = 0;
  if (WriteAll(file_.get(), &header_, sizeof(header_), 0, &done)) return Status::Ok();
  return WriteError("writing the job log in " + directory_);
}

Status JobLogFiles::Append(LogSlot* records, uint32_t count, uint32_t* written) {
  for (uint32_t i = 0; i < count; ++i) {
    SgprsLogRecord head = records[i].Head();
    head.sequence = next_sequence_ + i;
    records[i].SetHead(head);
    head.check = CheckOfRecord(records[i].bytes);
    records[i].SetHead(head);
  }
  size_t done = 0;
  const bool all = WriteAll(file_.get(), records, size_t{count} * sizeof(LogSlot), offset_, &done);
  const Status status = all ? Status::Ok() : WriteError("writing the job log in " + directory_);
  *written = static_cast<uint32_t>(done / sizeof(LogSlot));
  next_sequence_ += *written;
  offset_ += *written * sizeof(LogSlot);
  room_ -= *written;
  // A piece of a record at the end would be in the way of nothing, but is nobody's.
  if (!all) (void)!ftruncate(file_.get(), static_cast<off_t>(offset_));
  return status;
}

}  // namespace sgprs::observe
