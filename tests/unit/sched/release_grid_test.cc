// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/release_grid.h"

#include <gtest/gtest.h>

namespace sgprs::sched {
namespace {

constexpr uint64_t kT = 1'000'000;

TEST(ReleaseGridTest, FirstLaunchBeginsTheGrid) {
  ReleaseGrid grid(kT);
  EXPECT_EQ(grid.Next(5 * kT + 7, 0).release_ns, 5 * kT + 7);
}

TEST(ReleaseGridTest, EarlierLaunchMovesTheGridBack) {
  ReleaseGrid grid(kT);
  grid.Next(1000, 0);
  EXPECT_EQ(grid.Next(kT + 400, 0).release_ns, kT + 400);
  EXPECT_EQ(grid.Next(2 * kT + 400, 0).release_ns, 2 * kT + 400);
}

TEST(ReleaseGridTest, LaterLaunchKeepsItsReleaseAndTheGridCreeps) {
  ReleaseGrid grid(kT);
  grid.Next(0, 0);
  EXPECT_EQ(grid.Next(kT + 100'000, 0).release_ns, kT);
  EXPECT_EQ(grid.Next(2 * kT + 100'000, 0).release_ns, 2 * kT + kT / 200);
}

TEST(ReleaseGridTest, CreepIsNoMoreThanTheLateness) {
  ReleaseGrid grid(kT);
  grid.Next(0, 0);
  grid.Next(kT + 30, 0);
  EXPECT_EQ(grid.Next(2 * kT + 30, 0).release_ns, 2 * kT + 30);
}

// The grid follows a clock that is 0.1 % slow, and its releases never lie after the launches.
TEST(ReleaseGridTest, FollowsASlowClock) {
  ReleaseGrid grid(kT);
  for (uint64_t i = 0; i < 5000; ++i) {
    const uint64_t launch = i * (kT + kT / 1000);
    const ReleaseGrid::Release release = grid.Next(launch, 0);
    EXPECT_LE(release.release_ns, launch);
    EXPECT_LE(launch - release.release_ns, kT / 500);
    EXPECT_EQ(release.skipped_periods, 0u);
  }
}

TEST(ReleaseGridTest, OverrunKeepsItsDeadlineAndDoesNotMoveTheGrid) {
  ReleaseGrid grid(kT);
  grid.Next(0, 0);
  for (uint64_t i = 1; i < 100; ++i) {
    const uint64_t late = i * kT + kT / 2;
    EXPECT_EQ(grid.Next(late, late).release_ns, i * kT);
  }
}

// A program warms up, then begins its loop: its launches keep another phase from then on.
TEST(ReleaseGridTest, FollowsAProcessThatKeepsAnotherPhase) {
  ReleaseGrid grid(kT);
  grid.Next(0, 0);
  uint64_t release_ns = 0;
  for (uint64_t i = 1; i <= 9; ++i) {
    const uint64_t launch = i * kT + 600'000 + (i % 3) * 20'000;
    release_ns = grid.Next(launch, launch - kT).release_ns;
    EXPECT_LE(release_ns, launch) << i;
    if (i < 9) {
      EXPECT_LT(release_ns, i * kT + 50'000) << i;
    }
  }
  EXPECT_EQ(release_ns, 9 * kT + 600'000);  // the least late of the eight before
}

// One job in eight that is on time shows that the grid is right.
TEST(ReleaseGridTest, ALateProcessKeepsItsGrid) {
  ReleaseGrid grid(kT);
  grid.Next(0, 0);
  for (uint64_t i = 1; i < 200; ++i) {
    const uint64_t late = i % 8 == 0 ? 0 : 400'000;
    EXPECT_LE(grid.Next(i * kT + late, 0).release_ns, i * kT + 7 * kT / 200) << i;
  }
}

// So does one whose predecessor was still running.
TEST(ReleaseGridTest, OverrunsAreNoPhase) {
  ReleaseGrid grid(kT);
  grid.Next(0, 0);
  for (uint64_t i = 1; i < 200; ++i) {
    const uint64_t launch = i * kT + 400'000;
    EXPECT_LE(grid.Next(launch, i % 8 == 0 ? launch : 0).release_ns, i * kT + i * 7 * kT / 1600 + 1)
        << i;
  }
}

TEST(ReleaseGridTest, ThreeQuartersOfAPeriodLateIsTheNextPeriod) {
  ReleaseGrid grid(kT);
  grid.Next(0, 0);
  const ReleaseGrid::Release just_before = ReleaseGrid(grid).Next(2 * kT - kT / 4 - 1, 0);
  EXPECT_EQ(just_before.release_ns, kT);
  EXPECT_EQ(just_before.skipped_periods, 0u);
  const ReleaseGrid::Release at = ReleaseGrid(grid).Next(2 * kT - kT / 4, 0);
  EXPECT_EQ(at.release_ns, 2 * kT - kT / 4);
  EXPECT_EQ(at.skipped_periods, 1u);
}

TEST(ReleaseGridTest, CountsSkippedPeriods) {
  ReleaseGrid grid(kT);
  grid.Next(0, 0);
  const ReleaseGrid::Release release = grid.Next(5 * kT + 10, 5 * kT);
  EXPECT_EQ(release.release_ns, 5 * kT);
  EXPECT_EQ(release.skipped_periods, 4u);
}

TEST(ReleaseGridTest, AKnownReleaseIsTheGridsPoint) {
  ReleaseGrid grid(kT);
  EXPECT_EQ(grid.At(5 * kT).release_ns, 5 * kT);
  EXPECT_EQ(grid.At(6 * kT + 3).release_ns, 6 * kT + 3);  // no creep: it is known
  const ReleaseGrid::Release later = grid.At(9 * kT);
  EXPECT_EQ(later.release_ns, 9 * kT);
  EXPECT_EQ(later.skipped_periods, 2u);
  EXPECT_EQ(grid.At(9 * kT + kT / 3).skipped_periods, 0u);  // twice in one period
  EXPECT_EQ(grid.At(4 * kT).release_ns, 4 * kT);            // backwards is harmless
  // What is not known goes on from there.
  EXPECT_EQ(grid.Next(5 * kT + 400, 0).release_ns, 5 * kT);
}

TEST(ReleaseGridTest, TimeRunningBackwardsIsHarmless) {
  ReleaseGrid grid(kT);
  grid.Next(10 * kT, 0);
  EXPECT_EQ(grid.Next(3 * kT, 0).release_ns, 3 * kT);
}

// A process that was held presents its jobs early; they wait for their release.
TEST(ReleaseGridTest, PacedLaunchesWaitForTheNextPoint) {
  ReleaseGrid grid(kT);
  grid.Next(0, 0);
  EXPECT_EQ(grid.Next(kT / 2, 0, /*paced=*/true).release_ns, kT);
  grid.Shift(2);
  EXPECT_EQ(grid.Next(3 * kT + 100, 0, /*paced=*/true).release_ns, 4 * kT);
  EXPECT_EQ(grid.Next(4 * kT + 100, 0, /*paced=*/false).release_ns, 4 * kT + 100);
}

}  // namespace
}  // namespace sgprs::sched
