// SPDX-License-Identifier: Apache-2.0
// Rounds of launches of one kernel with eight arguments, then a synchronisation: what a launch
// costs the thread that makes it, and what a round costs the program. The kernel chains a value, so
// that a launch lost, repeated or out of order is seen.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <ctime>
#include <string>

#include "tools/workloads/app/device_session.h"
#include "tools/workloads/app/frame_clock.h"
#include "tools/workloads/app/frame_statistics.h"
#include "tools/workloads/app/option_parser.h"
#include "tools/workloads/kernels/element_math.h"
#include "tools/workloads/kernels/ptx.h"

namespace workloads {
namespace {

struct Options {
  uint64_t launches = 100;
  uint64_t rounds = 100;
  uint64_t warmup = 3;
  bool no_verify = false;
  DriverEntry entry = DefaultDriverEntry();
  bool json = false;
};

bool ParseOptions(int argc, char** argv, Options* o, int* exit_code) {
  OptionParser parser("manylaunch", "Times launches of a kernel with eight arguments.");
  parser.AddCount("launches", "before each synchronisation (default 100)", 1, 10000000,
                  &o->launches);
  parser.AddCount("rounds", "default 100", 1, 10000000, &o->rounds);
  parser.AddCount("warmup", "rounds that are not counted (default 3)", 0, 1000000, &o->warmup);
  parser.AddFlag("no-verify", "do not look at the result (kernels that are not computed)",
                 &o->no_verify);
  parser.Add("entry", "WAY", "how it gets the driver (default direct)",
             "direct, dlopen, getproc, getproc-v1 or deepbind",
             [o](const std::string& text) { return ParseDriverEntry(text, &o->entry); });
  parser.AddFlag("json", "print one JSON object instead of text", &o->json);
  return parser.Parse(argc, argv, exit_code);
}

uint64_t CpuNs() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

struct Timings {
  FrameStatistics launch_ns{0};  // mean of each round
  FrameStatistics round_ns{0};   // with its synchronisation
  uint64_t cpu_ns = 0;           // of the process, all rounds
};

class ManyLaunch {
 public:
  ManyLaunch(const CudaApi& api, const Options& options) : api_(api), options_(options) {
    Check(api_, api_.cuModuleLoadData(&module_, workload_probe_ptx), "load the kernels");
    Check(api_, api_.cuModuleGetFunction(&function_, module_, "wl_eight"), "wl_eight");
    Check(api_, api_.cuMemAlloc(&memory_, 16), "allocate");
    Check(api_, api_.cuMemsetD8(memory_, 0, 16), "fill");
    addend_ = memory_ + 8;
    Check(api_, api_.cuMemcpyHtoD(addend_, &kAddend, sizeof(kAddend)), "copy in");
    Check(api_, api_.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "create a stream");
  }
  ~ManyLaunch() {
    api_.cuStreamDestroy(stream_);
    api_.cuMemFree(memory_);
    api_.cuModuleUnload(module_);
  }
  ManyLaunch(const ManyLaunch&) = delete;
  ManyLaunch& operator=(const ManyLaunch&) = delete;

  void Round(Timings* timings) {
    const uint64_t start_ns = NowNs();
    for (uint64_t i = 0; i < options_.launches; ++i) Launch();
    const uint64_t launched_ns = NowNs();
    Check(api_, api_.cuStreamSynchronize(stream_), "wait");
    if (timings == nullptr) return;
    timings->launch_ns.Add((launched_ns - start_ns) / std::max<uint64_t>(options_.launches, 1));
    timings->round_ns.Add(NowNs() - start_ns);
  }

  // Does the device's chain equal the host's?
  bool ChainIsRight() {
    unsigned long long chain = 0;
    Check(api_, api_.cuMemcpyDtoH(&chain, memory_, sizeof(chain)), "copy out");
    unsigned long long expected = 0;
    for (unsigned long long i = 0; i < launched_; ++i) {
      expected = ChainStep(expected, 1ull + 2 + 3 + i + 5 + 6 + kAddend);
    }
    return chain == expected;
  }
  uint64_t launched() const { return launched_; }

 private:
  static constexpr unsigned kAddend = 8;

  void Launch() {
    unsigned char a = 1;
    unsigned short b = 2;
    unsigned c = 3;
    unsigned long long d = launched_++;
    float e = 5;
    double f = 6;
    void* arguments[] = {&memory_, &a, &b, &c, &d, &e, &f, &addend_};
    Check(api_, api_.cuLaunchKernel(function_, 1, 1, 1, 32, 1, 1, 0, stream_, arguments, nullptr),
          "wl_eight");
  }

  const CudaApi& api_;
  const Options& options_;
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
  CUdeviceptr memory_ = 0;
  CUdeviceptr addend_ = 0;
  CUstream stream_ = nullptr;
  uint64_t launched_ = 0;
};

void PrintStatistics(const char* name, const FrameStatistics& s) {
  std::printf("\"%s\":{\"min\":%" PRIu64 ",\"p50\":%" PRIu64 ",\"p99\":%" PRIu64 ",\"max\":%" PRIu64
              ",\"mean\":%.1f},",
              name, s.Percentile(0), s.Percentile(50), s.Percentile(99), s.Percentile(100),
              s.MeanNs());
}

int Main(int argc, char** argv) {
  Options options;
  int exit_code = kExitOk;
  if (!ParseOptions(argc, argv, &options, &exit_code)) return exit_code;
  DeviceSession session;
  if (!session.Open(options.entry)) return kExitFailed;
  ManyLaunch program(session.api(), options);
  for (uint64_t i = 0; i < options.warmup; ++i) program.Round(nullptr);
  Timings timings;
  const uint64_t cpu_start = CpuNs();
  for (uint64_t i = 0; i < options.rounds; ++i) program.Round(&timings);
  timings.cpu_ns = CpuNs() - cpu_start;
  const bool right = options.no_verify || program.ChainIsRight();
  const double cpu_per_round =
      static_cast<double>(timings.cpu_ns) / static_cast<double>(options.rounds);
  if (options.json) {
    std::printf("{\"version\":1,\"program\":\"manylaunch\",\"device\":\"%s\",\"launches\":%" PRIu64
                ",\"rounds\":%" PRIu64 ",\"launches_total\":%" PRIu64 ",",
                session.device_name().c_str(), options.launches, options.rounds,
                program.launched());
    PrintStatistics("launch_ns", timings.launch_ns);
    PrintStatistics("round_ns", timings.round_ns);
    std::printf("\"cpu_ns_per_round\":%.0f,\"verified\":%s}\n", cpu_per_round,
                options.no_verify ? "null" : (right ? "true" : "false"));
  } else {
    std::printf("manylaunch on %s: %" PRIu64 " ns a launch (p50 of %" PRIu64
                " rounds), %.1f us a round of %" PRIu64 ", %.1f us CPU, result %s\n",
                session.device_name().c_str(), timings.launch_ns.Percentile(50), options.rounds,
                static_cast<double>(timings.round_ns.Percentile(50)) / 1e3, options.launches,
                cpu_per_round / 1e3,
                options.no_verify ? "not looked at"
                : right           ? "right"
                                  : "WRONG");
  }
  return right ? kExitOk : kExitFailed;
}

}  // namespace
}  // namespace workloads

int main(int argc, char** argv) { return workloads::Main(argc, argv); }
