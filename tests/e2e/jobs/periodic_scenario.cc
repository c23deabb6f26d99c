// SPDX-License-Identifier: Apache-2.0
// A frame on an absolute timer: some work of the CPU, a few kernels, a synchronisation.
// periodic FRAMES PERIOD_US PREPARE_US [KERNELS [CPU [ROUNDS BLOCKS]]]; CPU: where this thread
// stays, once the shim's threads are there.
#include <sched.h>
#include <time.h>

#include <cerrno>

#include "tests/e2e/faults/probe.h"

namespace probe {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

int64_t Now(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * kSecondNs + now.tv_nsec;
}

void SleepUntil(int64_t ns) {
  const timespec until = {ns / kSecondNs, ns % kSecondNs};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

void Periodic(const Arguments& arguments) {
  const int frames = Number(arguments, 0, 100);
  const int64_t period_ns = 1000 * int64_t{Number(arguments, 1, 10'000)};
  const int64_t prepare_ns = 1000 * int64_t{Number(arguments, 2, 0)};
  const int kernels = Number(arguments, 3, 4);
  const int cpu = Number(arguments, 4, -1);
  const auto rounds = static_cast<uint32_t>(Number(arguments, 5, 0));
  const auto blocks = static_cast<uint32_t>(Number(arguments, 6, 1));
  const Device device = Open();
  CUstream stream;
  CHECK_CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const CUdeviceptr buffer = Buffer(0);
  if (cpu >= 0) {
    CHECK_CU(Step(device, stream, buffer, buffer, 0, 0));
    CHECK_CU(cuStreamSynchronize(stream));
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(cpu), &one);
    EXPECT(sched_setaffinity(0, sizeof(one), &one) == 0);
  }
  int64_t release_ns = Now(CLOCK_MONOTONIC) + period_ns;
  for (int i = 0; i < frames; ++i, release_ns += period_ns) {
    SleepUntil(release_ns);
    // CPU time of the thread: a stop or a preemption does not count as work.
    const int64_t done_ns = Now(CLOCK_THREAD_CPUTIME_ID) + prepare_ns;
    while (Now(CLOCK_THREAD_CPUTIME_ID) < done_ns) {
    }
    for (int k = 0; k < kernels; ++k) {
      CHECK_CU(Step(device, stream, buffer, buffer, 0, 1, rounds, blocks));
    }
    CHECK_CU(cuStreamSynchronize(stream));
  }
  EXPECT(Value(buffer) == static_cast<uint32_t>(frames * kernels));
}

const Scenarios registered{{"periodic", Periodic}};

}  // namespace
}  // namespace probe
