// SPDX-License-Identifier: Apache-2.0
// States of a job and of its one stage in flight, with the legal transitions. An illegal one is our
// own bug and aborts (only sgprsd, the simulator and tests contain this code).
#ifndef SGPRS_RUNTIME_SCHED_STAGE_STATE_H_
#define SGPRS_RUNTIME_SCHED_STAGE_STATE_H_

#include <cstdint>

namespace sgprs::sched {

//            ┌──────────── placed anew ◄──────┐
//            ▼                                │
//   none ► ready ──────────────────────► queued ──► running ◄──► parked
//                                                     ▲ │           ▲
//                                                     │ ▼           │
//                                                   stalled ────────┘
// Every state may go back to none: the stage is complete, or its job or task is gone.
enum class StageState : uint8_t {
  kNone,     // no stage in flight
  kReady,    // may run, not placed
  kQueued,   // placed, waits for a slot
  kRunning,  // granted, holds a slot
  kParked,   // granted, all that it issued is complete, holds no slot
  kStalled,  // granted, work outstanding and silent beyond the bound, holds no slot
};

enum class JobState : uint8_t {
  kWaiting,   // an earlier job of the task is not over, or its gate was not asked yet
  kGated,     // waits at its first launch for its gate or for a release
  kActive,    // its stages run
  kFinished,  // progress reached the learnt length; stays until closed
};

bool LegalTransition(StageState from, StageState to);
bool LegalTransition(JobState from, JobState to);

// Moves `*state`; aborts if that is not legal.
void MoveTo(StageState* state, StageState to);
void MoveTo(JobState* state, JobState to);

}  // namespace sgprs::sched

#endif  // SGPRS_RUNTIME_SCHED_STAGE_STATE_H_
