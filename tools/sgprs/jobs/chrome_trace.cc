// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/jobs/chrome_trace.h"

#include <fmt/format.h>

#include <algorithm>

namespace sgprs::cli {
namespace {

// us as the format wants them. Importers multiply by 1000 and cut off: the digit after the ns keeps
// a binary fraction from falling to the ns below.
std::string Us(uint64_t ns) { return fmt::format("{}.{:03}2", ns / 1000, ns % 1000); }

std::string Quoted(std::string_view text) {
  return Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string Args(const Json& args) {
  if (args.is_null()) return "";
  return ",\"args\":" + args.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

ChromeTrace::ChromeTrace(std::function<bool(std::string_view)> write) : write_(std::move(write)) {
  Write("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
}

void ChromeTrace::Write(std::string_view text) {
  if (!full_ && !write_(text)) full_ = true;
}

void ChromeTrace::Event(std::string_view text) {
  Write(events_ == 0 ? "\n" : ",\n");
  Write(text);
  ++events_;
}

void ChromeTrace::NameProcess(uint32_t process, std::string_view name) {
  Event(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})", process,
                    Quoted(name)));
  Event(
      fmt::format(R"({{"ph":"M","name":"process_sort_index","pid":{},"args":{{"sort_index":{}}}}})",
                  process, process));
}

bool ChromeTrace::Fits(const LaneState& lane, uint64_t begin_ns, uint64_t end_ns) {
  if (lane.taken.size() == kKept && begin_ns < lane.taken.front().second) return false;
  return std::none_of(lane.taken.begin(), lane.taken.end(), [&](const auto& slice) {
    return begin_ns < slice.second && slice.first < end_ns;
  });
}

ChromeTrace::LaneState* ChromeTrace::Free(uint32_t process, const std::string& track,
                                          uint64_t begin_ns, uint64_t end_ns) {
  std::vector<LaneState>& lanes = tracks_[{process, track}];
  for (LaneState& lane : lanes) {
    if (Fits(lane, begin_ns, end_ns)) return &lane;
  }
  lanes.push_back({.thread = next_thread_++, .taken = {}});
  const std::string name = lanes.size() == 1 ? track : fmt::format("{} ({})", track, lanes.size());
  Event(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})",
                    process, lanes.back().thread, Quoted(name)));
  return &lanes.back();
}

ChromeTrace::Lane ChromeTrace::AddSlice(uint32_t process, const std::string& track,
                                        std::string_view name, uint64_t begin_ns, uint64_t end_ns,
                                        const Json& args) {
  LaneState* state = Free(process, track, begin_ns, end_ns);
  if (state->taken.size() == kKept) state->taken.pop_front();
  state->taken.emplace_back(begin_ns, end_ns);
  const Lane lane = {process, state->thread};
  AddNested(lane, name, begin_ns, end_ns, args);
  return lane;
}

void ChromeTrace::AddNested(Lane lane, std::string_view name, uint64_t begin_ns, uint64_t end_ns,
                            const Json& args) {
  Event(fmt::format(R"({{"ph":"X","name":{},"pid":{},"tid":{},"ts":{},"dur":{}{}}})", Quoted(name),
                    lane.process, lane.thread, Us(begin_ns),
                    Us(end_ns - std::min(begin_ns, end_ns)), Args(args)));
}

void ChromeTrace::AddInstant(Lane lane, std::string_view name, uint64_t at_ns, const Json& args) {
  Event(fmt::format(R"({{"ph":"i","s":"t","name":{},"pid":{},"tid":{},"ts":{}{}}})", Quoted(name),
                    lane.process, lane.thread, Us(at_ns), Args(args)));
}

void ChromeTrace::AddFlow(Lane lane, char phase, uint64_t id, uint64_t at_ns) {
  Event(fmt::format(R"({{"ph":"{}","cat":"job","name":"job","id":{},"pid":{},"tid":{},"ts":{}{}}})",
                    phase, id, lane.process, lane.thread, Us(at_ns),
                    phase == 's' ? "" : R"(,"bp":"e")"));
}

void ChromeTrace::Finish(const Json& other) {
  Write("\n],\"otherData\":" + other.dump(-1, ' ', false, Json::error_handler_t::replace) + "}\n");
}

}  // namespace sgprs::cli
