// SPDX-License-Identifier: Apache-2.0
// For tests/bench/bench_calls.py: what a call costs the application's thread.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "tests/e2e/faults/probe.h"

namespace probe {
namespace {

uint64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

// Median over rounds of the mean of 50 calls; `after` is not timed.
template <typename Call, typename After>
uint64_t Time(int rounds, Call call, After after) {
  std::vector<uint64_t> means;
  for (int i = 0; i < rounds; ++i) {
    const uint64_t start_ns = NowNs();
    for (int k = 0; k < 50; ++k) call();
    means.push_back((NowNs() - start_ns) / 50);
    after();
  }
  std::nth_element(means.begin(), means.begin() + rounds / 2, means.end());
  return means[static_cast<size_t>(rounds) / 2];
}

void TimeCalls(const Arguments& arguments) {
  const int rounds = std::max(1, Number(arguments, 0, 1000) / 50);
  const Device d = Open();
  const CUdeviceptr buffer = Buffer(0);
  CUstream stream, other;
  CUevent event;
  CUgraph graph;
  CUgraphExec exec;
  CHECK_CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK_CU(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  CHECK_CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  CHECK_CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  for (int i = 0; i < 10; ++i) CHECK_CU(Step(d, stream, buffer, buffer, 0, 1));
  CHECK_CU(cuStreamEndCapture(stream, &graph));
  CHECK_CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
  const auto sync = [&] { CHECK_CU(cuCtxSynchronize()); };
  for (int i = 0; i < 100; ++i) CHECK_CU(Step(d, stream, buffer, buffer, 0, 1));
  sync();
  const auto record = Time(
      rounds, [&] { CHECK_CU(cuEventRecord(event, stream)); }, sync);
  const auto wait = Time(
      rounds, [&] { CHECK_CU(cuStreamWaitEvent(other, event, 0)); }, sync);
  const auto idle = Time(
      rounds, [&] { CHECK_CU(cuStreamSynchronize(stream)); }, sync);
  const auto launch = Time(
      rounds, [&] { CHECK_CU(cuGraphLaunch(exec, stream)); }, sync);
  std::printf("{\"record_ns\":%llu,\"wait_ns\":%llu,\"sync_ns\":%llu,\"graph_ns\":%llu}\n",
              static_cast<unsigned long long>(record), static_cast<unsigned long long>(wait),
              static_cast<unsigned long long>(idle), static_cast<unsigned long long>(launch));
}

const Scenarios kScenarios = {{"time-calls", TimeCalls}};

}  // namespace
}  // namespace probe
