// SPDX-License-Identifier: Apache-2.0
#include "tools/workloads/app/network_options.h"

#include <cmath>
#include <string>

#include "tools/workloads/app/option_parser.h"

namespace workloads {
namespace {

constexpr uint64_t kLeastSide = 32;
constexpr uint64_t kMostSide = 1024;
constexpr uint64_t kDefaultLengthNs = 5000000000;
constexpr uint64_t kMany = 1000000000;

bool ParseInput(const std::string& text, InputSize* input) {
  const size_t cross = text.find('x');
  uint64_t height = 0;
  uint64_t width = 0;
  if (cross == std::string::npos ||
      !ParseCount(text.substr(0, cross), kLeastSide, kMostSide, &height) ||
      !ParseCount(text.substr(cross + 1), kLeastSide, kMostSide, &width)) {
    return false;
  }
  *input = {static_cast<int>(height), static_cast<int>(width)};
  return true;
}

bool ParseStream(const std::string& text, StreamChoice* stream) {
  if (text == "null")
    *stream = StreamChoice::kNull;
  else if (text == "own")
    *stream = StreamChoice::kOwn;
  else if (text == "blocking")
    *stream = StreamChoice::kBlocking;
  else
    return false;
  return true;
}

void AddTimeOptions(OptionParser& parser, NetworkOptions* o) {
  parser.Add("fps", "F", "frames per second (default 30)", "a number above 0, at most 1000000",
             [o](const std::string& text) {
               double fps = 0;
               if (!ParsePositive(text, &fps) || fps > 1e6 || fps < 1e-6) return false;
               // Up, so that S seconds at F fps are S * F frames and not one more.
               o->period_ns = static_cast<uint64_t>(std::ceil(1e9 / fps));
               return true;
             });
  parser.AddDuration("period", "period, instead of --fps; 0ms: frames back to back", &o->period_ns);
  parser.AddDuration("deadline",
                     "a frame is on time up to here after its release (default: period)",
                     &o->deadline_ns);
  parser.Add("seconds", "S", "length of the run (default 5, if no --frames)",
             "a number of seconds above 0, at most 1000000", [o](const std::string& text) {
               double seconds = 0;
               if (!ParsePositive(text, &seconds) || seconds > 1e6) return false;
               o->length_ns = static_cast<uint64_t>(std::llround(seconds * 1e9));
               return o->length_ns != 0;
             });
  parser.AddCount("frames", "number of frames of the run", 1, kMany, &o->frames);
  parser.AddDuration("phase", "delay of the first release", &o->phase_ns);
  parser.AddCount("warmup", "frames before the first release, back to back (default 1)", 0, kMany,
                  &o->warmup);
}

}  // namespace

bool ParseNetworkOptions(int argc, char** argv, const char* name, NetworkOptions* o,
                         int* exit_code) {
  OptionParser parser(name,
                      "Runs the network periodically on the CUDA driver and prints latencies and a "
                      "checksum of all outputs.");
  AddTimeOptions(parser, o);
  parser.Add("input", "HxW", "input size (default 224x224)", "HxW, each from 32 to 1024",
             [o](const std::string& text) { return ParseInput(text, &o->input); });
  if (o->blocks != 0) {
    parser.AddCount("blocks", "residual blocks of a group (default 2; the SGPRS paper's has 3)", 1,
                    16, &o->blocks);
  }
  parser.AddCount("seed", "of weights and inputs (default 1)", 0, UINT64_MAX, &o->seed);
  parser.Add("stream", "KIND", "own (default), blocking or null: the stream that it works on",
             "own, blocking or null",
             [o](const std::string& text) { return ParseStream(text, &o->stream); });
  parser.Add("entry", "WAY",
             "direct, dlopen, getproc, getproc-v1, deepbind: how it gets the driver",
             "direct, dlopen, getproc, getproc-v1 or deepbind",
             [o](const std::string& text) { return ParseDriverEntry(text, &o->entry); });
  parser.Add("frames-file", "FILE",
             "write one JSON line a frame: when it was released, begun, done", "the name of a file",
             [o](const std::string& text) {
               o->frames_file = text;
               return !text.empty();
             });
  parser.AddFlag("json", "print one JSON object instead of text", &o->json);
  if (!parser.Parse(argc, argv, exit_code)) return false;
  if (o->frames == 0 && o->length_ns == 0) o->length_ns = kDefaultLengthNs;
  if (o->deadline_ns == 0) o->deadline_ns = o->period_ns;
  return true;
}

}  // namespace workloads
