// SPDX-License-Identifier: Apache-2.0
// Writes Chrome's trace event format (the "Trace Event Format" document), which Perfetto and
// chrome://tracing open: slices (X), instants (i), flow arrows (s, t, f), names (M). Streams.
//
// Slices of a track must nest: AddSlice() picks among the lanes of a track one where nothing is in
// the way; nested slices go to the lane of the one around them. Threads are known by their number,
// whatever their process, so numbers here are of the whole file.
#ifndef SGPRS_TOOLS_SGPRS_JOBS_CHROME_TRACE_H_
#define SGPRS_TOOLS_SGPRS_JOBS_CHROME_TRACE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/sgprs/json.h"

namespace sgprs::cli {

class ChromeTrace {
 public:
  // `write` takes the text piece by piece; false from it ends all output (full()).
  explicit ChromeTrace(std::function<bool(std::string_view)> write);

  // A lane of a track.
  struct Lane {
    uint32_t process = 0;
    uint32_t thread = 0;
  };
  void NameProcess(uint32_t process, std::string_view name);
  // A slice on track `track` (any name) of `process`. `args`: an object, or null.
  Lane AddSlice(uint32_t process, const std::string& track, std::string_view name,
                uint64_t begin_ns, uint64_t end_ns, const Json& args);
  // Within the slice that was last put on `lane`; cut to it by the caller.
  void AddNested(Lane lane, std::string_view name, uint64_t begin_ns, uint64_t end_ns,
                 const Json& args);
  // A moment on `lane`.
  void AddInstant(Lane lane, std::string_view name, uint64_t at_ns, const Json& args);
  // An arrow's begin ('s'), a point on it ('t') or its end ('f') in the slice around `at_ns`.
  void AddFlow(Lane lane, char phase, uint64_t id, uint64_t at_ns);
  // Closes the file. `other`: facts about the whole of it.
  void Finish(const Json& other);

  bool full() const { return full_; }
  uint64_t events() const { return events_; }

 private:
  struct LaneState {
    uint32_t thread = 0;
    std::deque<std::pair<uint64_t, uint64_t>> taken;  // the latest kKept slices
  };
  static constexpr size_t kKept = 256;
  static bool Fits(const LaneState& lane, uint64_t begin_ns, uint64_t end_ns);
  LaneState* Free(uint32_t process, const std::string& track, uint64_t begin_ns, uint64_t end_ns);
  void Write(std::string_view text);
  void Event(std::string_view text);

  const std::function<bool(std::string_view)> write_;
  bool full_ = false;
  uint64_t events_ = 0;
  uint32_t next_thread_ = 1;
  std::map<std::pair<uint32_t, std::string>, std::vector<LaneState>> tracks_;
};

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_JOBS_CHROME_TRACE_H_
