// SPDX-License-Identifier: Apache-2.0
#include "runtime/observe/job_log.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <limits>

#include "runtime/base/unique_fd.h"

namespace sgprs::observe {
namespace {

constexpr uint32_t kBatch = 256;
constexpr uint32_t kMostRecordsOfJob =
    1 + (SGPRS_MAX_STAGES - SGPRS_LOG_STAGES + SGPRS_LOG_MORE_STAGES - 1) / SGPRS_LOG_MORE_STAGES;

void CopyText(char (&to)[SGPRS_NAME_BYTES], const std::string& from) {
  std::memset(to, 0, sizeof(to));
  std::memcpy(to, from.data(), std::min(from.size(), sizeof(to) - 1));
}

// /proc/sys/kernel/random/boot_id as 16 bytes; zeros if it can not be read.
void ReadBootId(uint8_t (&id)[16]) {
  std::memset(id, 0, sizeof(id));
  UniqueFd file(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  char text[64];
  const ssize_t bytes = file.valid() ? read(file.get(), text, sizeof(text)) : 0;
  size_t digits = 0;
  for (ssize_t i = 0; i < bytes && digits < 32; ++i) {
    const char c = text[i];
    const int value = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (value < 0) continue;
    id[digits / 2] = static_cast<uint8_t>(id[digits / 2] << 4 | value);
    ++digits;
  }
}

}  // namespace

Result<std::unique_ptr<JobLog>> JobLog::Open(const JobLogOptions& options, const JobLogInfo& info) {
  if (options.files < 2 || options.files > 1024) {
    return Status(ErrorCode::kInvalid,
                  "a job log has 2 to 1024 files, not " + std::to_string(options.files));
  }
  const uint64_t file_bytes = options.total_bytes / options.files;
  if (file_bytes < kLeastFileBytes) {
    return Status(ErrorCode::kInvalid, "a job log of " + std::to_string(options.files) +
                                           " files needs at least " +
                                           std::to_string(kLeastFileBytes * options.files) +
                                           " bytes, not " + std::to_string(options.total_bytes));
  }
  if (!std::has_single_bit(options.queue_records) || options.queue_records < kMostRecordsOfJob) {
    return Status(ErrorCode::kInvalid, "the job log's queue must be a power of two, at least " +
                                           std::to_string(std::bit_ceil(kMostRecordsOfJob)));
  }
  Result<std::unique_ptr<JobLogFiles>> files =
      JobLogFiles::Open(options.directory, options.files,
                        (file_bytes - SGPRS_LOG_HEADER_BYTES) / SGPRS_LOG_RECORD_BYTES);
  if (!files.ok()) return files.status();
  std::unique_ptr<JobLog> log(new JobLog(options, std::move(*files)));
  log->SetInfo(info);
  if (Status begun = log->files_->BeginFile(log->header_); !begun.ok()) return begun;
  log->files_begun_.store(1, std::memory_order_relaxed);  // relaxed: before the thread begins
  log->writer_ = std::thread([raw = log.get()] { raw->Write(); });
  pthread_setname_np(log->writer_.native_handle(), "sgprs-job-log");
  return log;
}

JobLog::JobLog(const JobLogOptions& options, std::unique_ptr<JobLogFiles> files)
    : queue_(options.queue_records), files_(std::move(files)), batch_(new LogSlot[kBatch]) {
  ReadBootId(header_.boot_id);
  header_.pid = static_cast<uint32_t>(getpid());
}

JobLog::~JobLog() {
  if (!writer_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  hurry_.notify_all();
  // Release, with the acquire of the writer's wait(): sees stopping_ (and the lock says so too).
  pushes_.fetch_add(1, std::memory_order_release);
  pushes_.notify_all();
  writer_.join();
}

void JobLog::SetInfo(const JobLogInfo& info) {
  std::lock_guard lock(mutex_);
  CopyText(header_.policy, info.policy);
  CopyText(header_.device_name, info.device);
  header_.probe_level = info.probe_level;
  header_.sm_count = info.sm_count;
  header_.partition_count =
      static_cast<uint32_t>(std::min<size_t>(info.partitions.size(), SGPRS_MAX_PARTITIONS));
  std::copy_n(info.partitions.begin(), header_.partition_count, header_.partitions);
  described_ = false;
}

// --- the appender ---

bool JobLog::Append(SgprsLogJob job, std::span<const SgprsLogStage> stages) {
  std::array<LogSlot, kMostRecordsOfJob> slots;
  const size_t kept = std::min<size_t>(stages.size(), SGPRS_MAX_STAGES);
  job.record = {.kind = SGPRS_LOG_JOB};
  job.stage_count = static_cast<uint32_t>(kept);
  job.stages_lost = static_cast<uint32_t>(stages.size() - kept);
  const size_t own = std::min<size_t>(kept, SGPRS_LOG_STAGES);
  std::memset(job.stages, 0, sizeof(job.stages));
  std::copy_n(stages.begin(), own, job.stages);
  slots[0] = LogSlot::Of(job);
  uint32_t count = 1;
  for (size_t i = own; i < kept; i += SGPRS_LOG_MORE_STAGES) {
    SgprsLogMore more = {};
    more.record.kind = SGPRS_LOG_MORE;
    more.client_id = job.client_id;
    more.job = job.job;
    more.first_stage = static_cast<uint32_t>(i);
    more.stage_count = static_cast<uint32_t>(std::min<size_t>(kept - i, SGPRS_LOG_MORE_STAGES));
    std::copy_n(stages.begin() + static_cast<long>(i), more.stage_count, more.stages);
    slots[count++] = LogSlot::Of(more);
  }
  return Push({slots.data(), count});
}

bool JobLog::AppendTask(SgprsLogTask task) {
  task.record = {.kind = SGPRS_LOG_TASK};
  LogSlot slot = LogSlot::Of(task);
  return Push({&slot, 1});
}

bool JobLog::AppendContents(uint64_t client_id, std::span<const SgprsLogStageKernels> stages) {
  constexpr uint32_t kMost = SGPRS_MAX_STAGES / SGPRS_LOG_CONTENTS;
  std::array<LogSlot, kMost> slots;
  const auto total = static_cast<uint32_t>(std::min<size_t>(stages.size(), SGPRS_MAX_STAGES));
  uint32_t count = 0;
  for (uint32_t first = 0; first < total; first += SGPRS_LOG_CONTENTS) {
    SgprsLogContents part = {};
    part.record.kind = SGPRS_LOG_CONTENTS_OF;
    part.client_id = client_id;
    part.first_stage = first;
    part.stage_count = total;
    std::copy_n(stages.begin() + first, std::min<uint32_t>(total - first, SGPRS_LOG_CONTENTS),
                part.stages);
    slots[count++] = LogSlot::Of(part);
  }
  return count != 0 && Push({slots.data(), count});
}

bool JobLog::Push(std::span<LogSlot> records) {
  const auto count = static_cast<uint32_t>(records.size());
  SgprsLogRecord head = records[0].Head();
  head.dropped = dropped_since_;
  records[0].SetHead(head);
  appended_.fetch_add(count, std::memory_order_relaxed);  // relaxed: counts, read by nobody's logic
  if (!queue_.Push(records.data(), count)) {
    dropped_since_ += std::min(count, std::numeric_limits<uint32_t>::max() - dropped_since_);
    dropped_.fetch_add(count, std::memory_order_relaxed);  // relaxed: a count
    // Release, with the acquire in Flush().
    done_.fetch_add(count, std::memory_order_release);
    return false;
  }
  dropped_since_ = 0;
  // Release, with the acquire of the writer's wait(): it looks at the queue again. A system call
  // only when it sleeps, at most once in kPauseNs.
  pushes_.fetch_add(1, std::memory_order_release);
  pushes_.notify_one();
  return true;
}

void JobLog::Flush() {
  {
    std::lock_guard lock(mutex_);
    hurrying_ = true;
  }
  hurry_.notify_all();
  // Acquire, with the releases of whoever counts: what it stands for is on disk.
  while (done_.load(std::memory_order_acquire) < appended_.load(std::memory_order_relaxed)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::lock_guard lock(mutex_);
  hurrying_ = false;
}

JobLogCounts JobLog::Counts() const {
  // Relaxed: each is a count of its own.
  return {.appended = appended_.load(std::memory_order_relaxed),
          .written = written_.load(std::memory_order_relaxed),
          .dropped = dropped_.load(std::memory_order_relaxed),
          .files_begun = files_begun_.load(std::memory_order_relaxed)};
}

std::string JobLog::Trouble() const {
  std::lock_guard lock(mutex_);
  return trouble_;
}

// --- the writer ---

void JobLog::Write() {
  for (;;) {
    // Acquire, with the releases in Push() and the destructor.
    const uint32_t seen = pushes_.load(std::memory_order_acquire);
    while (const uint32_t count = queue_.Pop(batch_.get(), kBatch)) WriteBatch(count);
    if (!Pause()) {
      while (const uint32_t count = queue_.Pop(batch_.get(), kBatch)) WriteBatch(count);
      return;
    }
    pushes_.wait(seen, std::memory_order_acquire);
  }
}

// So that a burst is one write and one wake-up. False: it is the end.
bool JobLog::Pause() {
  std::unique_lock lock(mutex_);
  hurry_.wait_for(lock, std::chrono::nanoseconds(kPauseNs),
                  [this] { return stopping_ || hurrying_; });
  return !stopping_;
}

// The pool is known only when the first client has said what device it has.
void JobLog::Describe() {
  SgprsLogHeader header;
  {
    std::lock_guard lock(mutex_);
    if (described_) return;
    described_ = true;
    header = header_;
  }
  const Status described = files_->Describe(header);
  if (described.ok()) return;
  std::lock_guard lock(mutex_);
  trouble_ = described.text();
}

void JobLog::WriteBatch(uint32_t count) {
  Describe();
  for (uint32_t begin = 0; begin < count;) {
    if (files_->room() == 0 && !BeginFile()) {
      Drop(count - begin, Status::Ok());
      return;
    }
    const auto some = static_cast<uint32_t>(std::min<uint64_t>(count - begin, files_->room()));
    for (uint32_t i = begin; i < begin + some; ++i) {
      Note(batch_[i]);
    }
    SgprsLogRecord head = batch_[begin].Head();
    head.dropped += write_dropped_;
    batch_[begin].SetHead(head);
    uint32_t written = 0;
    const Status status = files_->Append(&batch_[begin], some, &written);
    if (written != 0) write_dropped_ = 0;
    written_.fetch_add(written, std::memory_order_relaxed);  // relaxed: a count
    // Release, with the acquire in Flush().
    done_.fetch_add(written, std::memory_order_release);
    if (!status.ok()) Drop(some - written, status);
    begin += some;
  }
}

bool JobLog::BeginFile() {
  SgprsLogHeader header;
  {
    std::lock_guard lock(mutex_);
    header = header_;
  }
  header.dropped = dropped_.load(std::memory_order_relaxed);  // relaxed: a count
  if (Status begun = files_->BeginFile(header); !begun.ok()) {
    std::lock_guard lock(mutex_);
    trouble_ = begun.text();
    return false;
  }
  files_begun_.fetch_add(1, std::memory_order_relaxed);  // relaxed: a count
  for (const auto& [id, named] : tasks_) {
    std::vector<LogSlot> slots = {LogSlot::Of(named.task)};
    for (const SgprsLogContents& part : named.contents) slots.push_back(LogSlot::Of(part));
    const auto count = static_cast<uint32_t>(slots.size());
    uint32_t written = 0;
    if (files_->room() <= count || !files_->Append(slots.data(), count, &written).ok()) break;
  }
  return true;
}

void JobLog::Note(const LogSlot& record) {
  if (record.Head().kind == SGPRS_LOG_TASK) {
    auto task = record.As<SgprsLogTask>();
    if (task.gone_ns != 0) {
      tasks_.erase(task.client_id);
      return;
    }
    task.record = {.kind = SGPRS_LOG_TASK};
    tasks_[task.client_id].task = task;
  } else if (record.Head().kind == SGPRS_LOG_CONTENTS_OF) {
    auto part = record.As<SgprsLogContents>();
    const auto named = tasks_.find(part.client_id);
    if (named == tasks_.end()) return;
    if (part.first_stage == 0) named->second.contents.clear();
    part.record = {.kind = SGPRS_LOG_CONTENTS_OF};
    named->second.contents.push_back(part);
  }
}

void JobLog::Drop(uint32_t count, const Status& why) {
  write_dropped_ += std::min(count, std::numeric_limits<uint32_t>::max() - write_dropped_);
  dropped_.fetch_add(count, std::memory_order_relaxed);  // relaxed: a count
  // Release, with the acquire in Flush().
  done_.fetch_add(count, std::memory_order_release);
  if (why.ok()) return;
  std::lock_guard lock(mutex_);
  trouble_ = why.text();
}

}  // namespace sgprs::observe
