// SPDX-License-Identifier: Apache-2.0
#include "runtime/observe/trace_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/observe/text.h"

namespace sgprs::observe {
namespace {

constexpr std::string_view kHead = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
constexpr std::string_view kTail = "\n]}\n";

// The format counts microseconds; three digits keep the nanoseconds. The fourth is for readers that
// multiply the double by 1000 and cut it off, as Perfetto does: what lies a hair below a whole
// nanosecond would lose one, and slices that touch would overlap. Good for 25 days of uptime;
// beyond, a double has no room for nanoseconds.
std::string Us(uint64_t ns) { return fmt::format("{}.{:03}2", ns / 1000, ns % 1000); }

Status WriteAll(int fd, std::string_view text, uint64_t offset) {
  while (!text.empty()) {
    const ssize_t wrote = pwrite(fd, text.data(), text.size(), static_cast<off_t>(offset));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      return Status(errno == ENOSPC ? ErrorCode::kExhausted : ErrorCode::kInternal,
                    std::string("writing: ") + std::strerror(errno));
    }
    text.remove_prefix(static_cast<size_t>(wrote));
    offset += static_cast<uint64_t>(wrote);
  }
  return Status::Ok();
}

}  // namespace

Result<std::unique_ptr<TraceFile>> TraceFile::Open(const std::string& path) {
  std::unique_ptr<TraceFile> file(new TraceFile);
  file->path_ = path;
  file->fd_.reset(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file->fd_.valid()) {
    return Status(ErrorCode::kInvalid,
                  "trace file '" + OneLine(path) + "': " + std::strerror(errno));
  }
  file->buffer_ = kHead;
  if (Status status = file->Flush(); !status.ok()) return status;
  return file;
}

TraceFile::~TraceFile() {
  if (Status status = Flush(); !status.ok()) {
    // Reported to whoever called Flush() before; nobody is left to tell here.
  }
}

void TraceFile::Append(std::string_view event) {
  if (!error_.ok()) return;
  if (events_++ != 0) buffer_ += ",\n";
  buffer_ += event;
  if (buffer_.size() >= kFlushBytes && !Flush().ok()) buffer_.clear();
}

void TraceFile::NameProcess(uint32_t process, std::string_view name) {
  Append(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})", process,
                     JsonString(name)));
  Append(fmt::format(
      R"({{"ph":"M","name":"process_sort_index","pid":{0},"args":{{"sort_index":{0}}}}})",
      process));
}

void TraceFile::NameThread(Track track, std::string_view name) {
  Append(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})",
                     track.process, track.thread, JsonString(name)));
  Append(fmt::format(
      R"({{"ph":"M","name":"thread_sort_index","pid":{0},"tid":{1},"args":{{"sort_index":{1}}}}})",
      track.process, track.thread));
}

void TraceFile::Fact(std::string_view name, std::string_view args) {
  Append(fmt::format(R"({{"ph":"M","name":{},"pid":0,"args":{{{}}}}})", JsonString(name), args));
}

void TraceFile::Slice(Track track, std::string_view name, uint64_t begin_ns, uint64_t end_ns,
                      std::string_view args) {
  if (end_ns < begin_ns) end_ns = begin_ns;
  Append(fmt::format(R"({{"ph":"X","name":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}})",
                     JsonString(name), track.process, track.thread, Us(begin_ns),
                     Us(end_ns - begin_ns), args));
}

void TraceFile::Instant(Track track, std::string_view name, uint64_t at_ns, std::string_view args) {
  Append(fmt::format(R"({{"ph":"i","s":"t","name":{},"pid":{},"tid":{},"ts":{},"args":{{{}}}}})",
                     JsonString(name), track.process, track.thread, Us(at_ns), args));
}

Status TraceFile::Flush() {
  if (!error_.ok() || buffer_.empty()) return error_;
  const size_t bytes = buffer_.size();
  buffer_ += kTail;
  error_ = WriteAll(fd_.get(), buffer_, written_).WithContext("trace file '" + path_ + "'");
  written_ += bytes;
  buffer_.clear();
  return error_;
}

}  // namespace sgprs::observe
