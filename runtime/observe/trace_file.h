// SPDX-License-Identifier: Apache-2.0
// A streamed trace file in Chrome's JSON format, which Perfetto and chrome://tracing open.
//
// The file on disk is whole JSON after every flush: a flush writes the new events and the closing
// brackets, the next one overwrites the brackets. So a trace survives SIGKILL up to its last flush.
// Format: the "Trace Event Format" document, events X (complete), i (instant), M (metadata).
//
// Thread: the loop's. Writing goes to the page cache; at most kFlushBytes are held back.
#ifndef SGPRS_RUNTIME_OBSERVE_TRACE_FILE_H_
#define SGPRS_RUNTIME_OBSERVE_TRACE_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace sgprs::observe {

class TraceFile {
 public:
  // Makes or empties `path`. Errors: kInvalid (can not be written; the text says why).
  static Result<std::unique_ptr<TraceFile>> Open(const std::string& path);
  // Flushes.
  ~TraceFile();

  struct Track {
    uint32_t process = 0;
    uint64_t thread = 0;
  };
  void NameProcess(uint32_t process, std::string_view name);
  void NameThread(Track track, std::string_view name);
  // An event that viewers skip: facts for whoever reads the file back. `args` as for Slice().
  void Fact(std::string_view name, std::string_view args);
  // `args`: the inside of a JSON object ("\"job\":3"), may be empty. Names: valid UTF-8.
  void Slice(Track track, std::string_view name, uint64_t begin_ns, uint64_t end_ns,
             std::string_view args);
  void Instant(Track track, std::string_view name, uint64_t at_ns, std::string_view args);

  // Error kExhausted or kInternal: the file could not be written (disk full); later events are
  // dropped.
  Status Flush();
  const std::string& path() const { return path_; }
  uint64_t events() const { return events_; }

 private:
  TraceFile() = default;
  void Append(std::string_view event);

  static constexpr size_t kFlushBytes = 256 * 1024;
  std::string path_;
  UniqueFd fd_;
  std::string buffer_;
  uint64_t written_ = 0;  // where the closing brackets begin
  uint64_t events_ = 0;
  Status error_;
};

}  // namespace sgprs::observe

#endif  // SGPRS_RUNTIME_OBSERVE_TRACE_FILE_H_
