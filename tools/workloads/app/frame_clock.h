// SPDX-License-Identifier: Apache-2.0
// The periodic timer: frame k is released at start + k * period, on CLOCK_MONOTONIC, absolute, so
// that no lateness accumulates. A frame whose time has passed is released at once; none is skipped.
#ifndef SGPRS_TOOLS_WORKLOADS_APP_FRAME_CLOCK_H_
#define SGPRS_TOOLS_WORKLOADS_APP_FRAME_CLOCK_H_

#include <cstdint>

namespace workloads {

uint64_t NowNs();

// Sleeps until `time_ns` of CLOCK_MONOTONIC. False: StopRequested(), without waiting for it.
bool SleepUntil(uint64_t time_ns);

// SIGINT and SIGTERM from now on only ask the program to stop.
void StopOnSignals();
bool StopRequested();

// Which frames a run has. Pure.
struct FrameSchedule {
  uint64_t period_ns;    // 0: back to back
  uint64_t start_ns;     // release of frame 0
  uint64_t frame_count;  // 0: bounded by time only
  uint64_t length_ns;    // of the run; 0: bounded by frames only

  uint64_t ReleaseNs(uint64_t frame) const { return start_ns + frame * period_ns; }
  // Is `frame` part of the run, for a program that is ready for it at `now_ns`?
  bool Has(uint64_t frame, uint64_t now_ns) const {
    if (frame_count != 0 && frame >= frame_count) return false;
    if (length_ns == 0) return true;
    return ReleaseNs(frame) < start_ns + length_ns && now_ns < start_ns + length_ns;
  }
  // Frames released by `now_ns`, `completed` of which are done.
  uint64_t Released(uint64_t now_ns, uint64_t completed) const {
    if (period_ns == 0 || now_ns < start_ns) return completed;
    const uint64_t end_ns =
        length_ns == 0 ? now_ns
                       : (now_ns < start_ns + length_ns ? now_ns : start_ns + length_ns - 1);
    const uint64_t released = (end_ns - start_ns) / period_ns + 1;
    const uint64_t most = frame_count != 0 && released > frame_count ? frame_count : released;
    return most > completed ? most : completed;
  }
};

}  // namespace workloads

#endif  // SGPRS_TOOLS_WORKLOADS_APP_FRAME_CLOCK_H_
