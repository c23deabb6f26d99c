// SPDX-License-Identifier: Apache-2.0
// Time is u64 ns of CLOCK_MONOTONIC, everywhere. Code that decides takes `now_ns` as an argument;
// only the edges call NowNs().
#ifndef SGPRS_RUNTIME_BASE_CLOCK_H_
#define SGPRS_RUNTIME_BASE_CLOCK_H_

#include <time.h>

#include <cstdint>

namespace sgprs {

inline constexpr uint64_t kNsPerUs = 1'000;
inline constexpr uint64_t kNsPerMs = 1'000'000;
inline constexpr uint64_t kNsPerSecond = 1'000'000'000;

inline uint64_t NowNs() {
  timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return static_cast<uint64_t>(ts.tv_sec) * kNsPerSecond + static_cast<uint64_t>(ts.tv_nsec);
}

inline timespec ToTimespec(uint64_t ns) {
  timespec ts;
  ts.tv_sec = static_cast<time_t>(ns / kNsPerSecond);
  ts.tv_nsec = static_cast<long>(ns % kNsPerSecond);
  return ts;
}

}  // namespace sgprs

#endif  // SGPRS_RUNTIME_BASE_CLOCK_H_
