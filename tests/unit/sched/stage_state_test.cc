// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/stage_state.h"

#include <gtest/gtest.h>

namespace sgprs::sched {
namespace {

TEST(StageStateTest, OnlyTheDrawnTransitionsAreLegal) {
  using enum StageState;
  const StageState all[] = {kNone, kReady, kQueued, kRunning, kParked, kStalled};
  // Rows: from; columns: to, in the order above.
  const bool legal[6][6] = {
      {0, 1, 0, 0, 0, 0}, {1, 0, 1, 0, 0, 0}, {1, 1, 0, 1, 0, 0},
      {1, 0, 0, 0, 1, 1}, {1, 0, 0, 1, 0, 0}, {1, 0, 0, 1, 1, 0},
  };
  for (int from = 0; from < 6; ++from) {
    for (int to = 0; to < 6; ++to) {
      EXPECT_EQ(LegalTransition(all[from], all[to]), legal[from][to]) << from << " -> " << to;
    }
  }
}

TEST(StageStateDeathTest, IllegalTransitionAborts) {
  StageState state = StageState::kReady;
  EXPECT_DEATH(MoveTo(&state, StageState::kRunning), "");
  JobState job = JobState::kFinished;
  EXPECT_DEATH(MoveTo(&job, JobState::kActive), "");
}

}  // namespace
}  // namespace sgprs::sched
