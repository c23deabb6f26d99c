// SPDX-License-Identifier: Apache-2.0
#include "tools/workloads/app/frame_clock.h"

#include <cerrno>
#include <csignal>
#include <ctime>

namespace workloads {
namespace {

constexpr uint64_t kSecondNs = 1000000000;

volatile std::sig_atomic_t stop_requested = 0;

}  // namespace

uint64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * kSecondNs + static_cast<uint64_t>(now.tv_nsec);
}

bool SleepUntil(uint64_t time_ns) {
  timespec until{};
  until.tv_sec = static_cast<time_t>(time_ns / kSecondNs);
  until.tv_nsec = static_cast<long>(time_ns % kSecondNs);
  while (!StopRequested()) {
    if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != EINTR) {
      return !StopRequested();
    }
  }
  return false;
}

void StopOnSignals() {
  struct sigaction action {};
  action.sa_handler = [](int) { stop_requested = 1; };
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool StopRequested() { return stop_requested != 0; }

}  // namespace workloads
