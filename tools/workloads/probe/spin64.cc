// SPDX-License-Identifier: Apache-2.0
// Many threads, each on its own stream: copy in, a chain of kernels, copy out, compare with the
// host. A result that belongs to another thread, or kernels out of order, show.
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "tools/workloads/app/device_session.h"
#include "tools/workloads/app/option_parser.h"
#include "tools/workloads/kernels/element_math.h"
#include "tools/workloads/kernels/ptx.h"

namespace workloads {
namespace {

constexpr uint32_t kThreadsPerBlock = 256;

struct Options {
  uint64_t threads = 64;
  uint64_t rounds = 10;
  uint64_t launches = 20;
  uint64_t elements = 4096;
  DriverEntry entry = DefaultDriverEntry();
};

bool ParseOptions(int argc, char** argv, Options* o, int* exit_code) {
  OptionParser parser("spin64", "Threads with a stream each compute and compare with the host.");
  parser.AddCount("threads", "default 64", 1, 4096, &o->threads);
  parser.AddCount("rounds", "of each thread (default 10)", 1, 1000000, &o->rounds);
  parser.AddCount("launches", "in each round (default 20)", 1, 1000000, &o->launches);
  parser.AddCount("elements", "of each thread's data (default 4096)", 1, 1 << 24, &o->elements);
  parser.Add("entry", "WAY", "how it gets the driver (default direct)",
             "direct, dlopen, getproc, getproc-v1 or deepbind",
             [o](const std::string& text) { return ParseDriverEntry(text, &o->entry); });
  return parser.Parse(argc, argv, exit_code);
}

// One thread's stream, memory and check.
class Spinner {
 public:
  Spinner(const DeviceSession& session, CUfunction mix, const Options& options, unsigned index)
      : api_(session.api()), mix_(mix), options_(options), index_(index) {
    session.MakeCurrent();
    bytes_ = options_.elements * sizeof(unsigned);
    void* pinned = nullptr;
    Check(api_, api_.cuMemHostAlloc(&pinned, bytes_, 0), "allocate pinned memory");
    host_ = static_cast<unsigned*>(pinned);
    Check(api_, api_.cuMemAlloc(&device_, bytes_), "allocate");
    Check(api_, api_.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "create a stream");
  }
  ~Spinner() {
    api_.cuStreamDestroy(stream_);
    api_.cuMemFree(device_);
    api_.cuMemFreeHost(host_);
  }
  Spinner(const Spinner&) = delete;
  Spinner& operator=(const Spinner&) = delete;

  // Number of wrong elements.
  uint64_t Round(unsigned round) {
    for (uint64_t i = 0; i < options_.elements; ++i) host_[i] = Start(round, i);
    Check(api_, api_.cuMemcpyHtoDAsync(device_, host_, bytes_, stream_), "copy in");
    for (unsigned k = 0; k < options_.launches; ++k) Launch(k);
    Check(api_, api_.cuMemcpyDtoHAsync(host_, device_, bytes_, stream_), "copy out");
    Check(api_, api_.cuStreamSynchronize(stream_), "wait");
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < options_.elements; ++i)
      wrong += host_[i] != Expected(round, i) ? 1 : 0;
    return wrong;
  }

 private:
  unsigned Start(unsigned round, uint64_t i) const {
    return index_ * 2654435761u + round * 40503u + static_cast<unsigned>(i);
  }
  unsigned Multiplier(unsigned k) const { return (index_ * 2 + k * 4 + 5) | 1u; }
  unsigned Addend(unsigned k) const { return k * 977u + index_; }
  unsigned Expected(unsigned round, uint64_t i) const {
    unsigned value = Start(round, i);
    for (unsigned k = 0; k < options_.launches; ++k)
      value = MixStep(value, Multiplier(k), Addend(k));
    return value;
  }
  void Launch(unsigned k) {
    int n = static_cast<int>(options_.elements);
    unsigned multiplier = Multiplier(k);
    unsigned addend = Addend(k);
    void* arguments[] = {&device_, &n, &multiplier, &addend};
    const auto blocks =
        static_cast<unsigned>((options_.elements + kThreadsPerBlock - 1) / kThreadsPerBlock);
    Check(api_,
          api_.cuLaunchKernel(mix_, blocks, 1, 1, kThreadsPerBlock, 1, 1, 0, stream_, arguments,
                              nullptr),
          "wl_mix");
  }

  const CudaApi& api_;
  const CUfunction mix_;
  const Options& options_;
  const unsigned index_;
  uint64_t bytes_ = 0;
  unsigned* host_ = nullptr;
  CUdeviceptr device_ = 0;
  CUstream stream_ = nullptr;
};

int Main(int argc, char** argv) {
  Options options;
  int exit_code = kExitOk;
  if (!ParseOptions(argc, argv, &options, &exit_code)) return exit_code;
  DeviceSession session;
  if (!session.Open(options.entry)) return kExitFailed;
  const CudaApi& api = session.api();
  CUmodule module = nullptr;
  CUfunction mix = nullptr;
  Check(api, api.cuModuleLoadData(&module, workload_probe_ptx), "load the kernels");
  Check(api, api.cuModuleGetFunction(&mix, module, "wl_mix"), "wl_mix");

  // Relaxed: the joins below order the sum before it is read.
  std::atomic<uint64_t> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < options.threads; ++t) {
    threads.emplace_back([&, t] {
      Spinner spinner(session, mix, options, t);
      for (unsigned round = 0; round < options.rounds; ++round) {
        wrong.fetch_add(spinner.Round(round), std::memory_order_relaxed);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Check(api, api.cuModuleUnload(module), "unload");
  const uint64_t total = wrong.load(std::memory_order_relaxed);
  std::printf("spin64: %" PRIu64 " threads, %" PRIu64 " launches, %" PRIu64 " wrong elements\n",
              options.threads, options.threads * options.rounds * options.launches, total);
  return total == 0 ? kExitOk : kExitFailed;
}

}  // namespace
}  // namespace workloads

int main(int argc, char** argv) { return workloads::Main(argc, argv); }
