// SPDX-License-Identifier: Apache-2.0
// Floods the device: kernels of a given length on one stream, with a synchronisation now and then
// only so that the queue stays finite. The neighbour that a real-time program must survive.
#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <string>

#include "tools/workloads/app/device_session.h"
#include "tools/workloads/app/frame_clock.h"
#include "tools/workloads/app/option_parser.h"
#include "tools/workloads/kernels/ptx.h"

namespace workloads {
namespace {

constexpr uint32_t kThreads = 256;

struct Options {
  uint64_t kernels = 0;
  double seconds = 0;
  double kernel_us = 100;
  uint64_t sync_each = 64;
  uint64_t blocks = 544;  // 8 for each SM of a 68-SM device: fills it
  DriverEntry entry = DefaultDriverEntry();
  bool json = false;
};

bool ParseOptions(int argc, char** argv, Options* o, int* exit_code) {
  OptionParser parser("burst", "Floods the device with kernels until told to stop.");
  constexpr uint64_t kMany = 1000000000000;
  parser.AddCount("kernels", "how many (default: no end)", 1, kMany, &o->kernels);
  parser.Add("seconds", "S", "for how long (default: no end)", "a number of seconds above 0",
             [o](const std::string& text) { return ParsePositive(text, &o->seconds); });
  parser.Add("kernel-us", "U", "length of a kernel alone on the device (default 100)",
             "a number from 1 to 1000000", [o](const std::string& text) {
               return ParsePositive(text, &o->kernel_us) && o->kernel_us >= 1 &&
                      o->kernel_us <= 1e6;
             });
  parser.AddCount("sync-each", "synchronise after so many kernels (default 64)", 1, 100000,
                  &o->sync_each);
  parser.AddCount("blocks", "blocks of a kernel, of 256 threads (default 544)", 1, 100000,
                  &o->blocks);
  parser.Add("entry", "WAY", "how it gets the driver (default direct)",
             "direct, dlopen, getproc, getproc-v1 or deepbind",
             [o](const std::string& text) { return ParseDriverEntry(text, &o->entry); });
  parser.AddFlag("json", "print one JSON object instead of text", &o->json);
  return parser.Parse(argc, argv, exit_code);
}

class Burst {
 public:
  Burst(const CudaApi& api, const Options& options) : api_(api), options_(options) {
    Check(api_, api_.cuModuleLoadData(&module_, workload_probe_ptx), "load the kernels");
    Check(api_, api_.cuModuleGetFunction(&function_, module_, "wl_busy"), "wl_busy");
    const uint64_t bytes = options_.blocks * kThreads * sizeof(float);
    Check(api_, api_.cuMemAlloc(&kept_, bytes), "allocate");
    Check(api_, api_.cuMemsetD8(kept_, 0, bytes), "fill");
    Check(api_, api_.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "create a stream");
  }
  ~Burst() {
    api_.cuStreamDestroy(stream_);
    api_.cuMemFree(kept_);
    api_.cuModuleUnload(module_);
  }
  Burst(const Burst&) = delete;
  Burst& operator=(const Burst&) = delete;

  // Rounds of wl_busy that take the asked time: from the difference of two lengths, so that the
  // cost of a launch drops out; the best of some, so that neighbours hardly matter.
  int Calibrate() {
    constexpr int kShort = 2000;
    constexpr int kLong = 12000;
    const double ns_per_round =
        static_cast<double>(BestNs(kLong) - std::min(BestNs(kShort), BestNs(kLong))) /
        (kLong - kShort);
    const double rounds = options_.kernel_us * 1000 / std::max(ns_per_round, 0.01);
    return static_cast<int>(std::clamp(rounds, 1.0, 1e9));
  }

  void Run(int rounds) {
    const uint64_t start_ns = NowNs();
    const double length_ns = options_.seconds * 1e9;
    while (!StopRequested() && (options_.kernels == 0 || launched_ < options_.kernels)) {
      Launch(rounds);
      ++launched_;
      if (launched_ % options_.sync_each == 0) Wait();
      if (length_ns > 0 && static_cast<double>(NowNs() - start_ns) >= length_ns) break;
    }
    Wait();
    wall_ns_ = NowNs() - start_ns;
  }

  void Print(int rounds, const std::string& device) const {
    const double each_us =
        launched_ == 0 ? 0 : static_cast<double>(wall_ns_) / 1e3 / static_cast<double>(launched_);
    if (options_.json) {
      std::printf("{\"version\":1,\"program\":\"burst\",\"device\":\"%s\",\"kernels\":%" PRIu64
                  ",\"calibration_kernels\":%" PRIu64 ",\"rounds\":%d,\"wall_ns\":%" PRIu64
                  ",\"us_per_kernel\":%.3f}\n",
                  device.c_str(), launched_, calibration_, rounds, wall_ns_, each_us);
    } else {
      std::printf("burst on %s: %" PRIu64 " kernels in %.3f s, %.1f us each\n", device.c_str(),
                  launched_, static_cast<double>(wall_ns_) / 1e9, each_us);
    }
  }

 private:
  void Launch(int rounds) {
    void* arguments[] = {&kept_, &rounds};
    Check(api_,
          api_.cuLaunchKernel(function_, static_cast<unsigned>(options_.blocks), 1, 1, kThreads, 1,
                              1, 0, stream_, arguments, nullptr),
          "wl_busy");
  }
  void Wait() { Check(api_, api_.cuStreamSynchronize(stream_), "wait for the kernels"); }

  uint64_t BestNs(int rounds) {
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 4; ++i) {
      const uint64_t start = NowNs();
      Launch(rounds);
      Wait();
      ++calibration_;
      best = std::min(best, NowNs() - start);
    }
    return best;
  }

  const CudaApi& api_;
  const Options& options_;
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
  CUdeviceptr kept_ = 0;
  CUstream stream_ = nullptr;
  uint64_t launched_ = 0;
  uint64_t calibration_ = 0;
  uint64_t wall_ns_ = 0;
};

int Main(int argc, char** argv) {
  Options options;
  int exit_code = kExitOk;
  if (!ParseOptions(argc, argv, &options, &exit_code)) return exit_code;
  StopOnSignals();
  DeviceSession session;
  if (!session.Open(options.entry)) return kExitFailed;
  Burst burst(session.api(), options);
  const int rounds = burst.Calibrate();
  burst.Run(rounds);
  burst.Print(rounds, session.device_name());
  return kExitOk;
}

}  // namespace
}  // namespace workloads

int main(int argc, char** argv) { return workloads::Main(argc, argv); }
