// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/stage_state.h"

#include <cstdlib>

namespace sgprs::sched {

bool LegalTransition(StageState from, StageState to) {
  using enum StageState;
  if (to == kNone) return from != kNone;
  switch (from) {
    case kNone:
      return to == kReady;
    case kReady:
      return to == kQueued;
    case kQueued:
      return to == kReady || to == kRunning;
    case kRunning:
      return to == kParked || to == kStalled;
    case kParked:
      return to == kRunning;
    case kStalled:
      return to == kRunning || to == kParked;
  }
  return false;
}

bool LegalTransition(JobState from, JobState to) {
  return (from == JobState::kWaiting && (to == JobState::kGated || to == JobState::kActive)) ||
         (from == JobState::kGated && (to == JobState::kWaiting || to == JobState::kActive)) ||
         (from == JobState::kActive && to == JobState::kFinished);
}

void MoveTo(StageState* state, StageState to) {
  if (!LegalTransition(*state, to)) std::abort();
  *state = to;
}

void MoveTo(JobState* state, JobState to) {
  if (!LegalTransition(*state, to)) std::abort();
  *state = to;
}

}  // namespace sgprs::sched
