// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernel/release_finder.h"

#include <gtest/gtest.h>

namespace sgprs::kernel {
namespace {

constexpr uint64_t kMs = 1'000'000;

SgprsWakeRecord TimerWait(uint32_t tid, uint64_t due_ns) {
  SgprsWakeRecord r = {};
  r.tid = tid;
  r.wait = SGPRS_WAIT_TIMER;
  r.flags = SGPRS_WAKE_TIMER;
  r.due_ns = due_ns;
  r.wakeup_ns = due_ns + 10;
  r.exit_ns = due_ns + 20;
  return r;
}

SgprsWakeRecord InputWait(uint32_t tid, SgprsWait wait, uint64_t wakeup_ns) {
  SgprsWakeRecord r = {};
  r.tid = tid;
  r.wait = wait;
  r.wakeup_ns = wakeup_ns;
  r.exit_ns = wakeup_ns + 20;
  return r;
}

TEST(ReleaseFinder, TheTimerThatTheJobSleptOn) {
  ReleaseFinder finder(SGPRS_RELEASE_TIMER, 1);
  for (uint64_t job = 1; job <= 5; ++job) {
    finder.Add(TimerWait(1, job * 10 * kMs));
    finder.Add(InputWait(1, SGPRS_WAIT_FUTEX, job * 10 * kMs + 1000));  // waited for the GPU
    const auto found = finder.Find(job * 10 * kMs + 8 * kMs);           // 8 ms late
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(ReleaseFinder::ReleaseOf(*found), job * 10 * kMs);
  }
}

TEST(ReleaseFinder, EachWaitReleasesOneJob) {
  ReleaseFinder finder(SGPRS_RELEASE_TIMER, 1);
  finder.Add(TimerWait(1, 10 * kMs));
  EXPECT_TRUE(finder.Find(11 * kMs).has_value());
  EXPECT_FALSE(finder.Find(12 * kMs).has_value());  // a second burst in one period
}

TEST(ReleaseFinder, AWaitThatEndedAfterTheFirstLaunchIsOfTheNextJob) {
  ReleaseFinder finder(SGPRS_RELEASE_TIMER, 1);
  finder.Add(TimerWait(1, 10 * kMs));
  finder.Add(TimerWait(1, 20 * kMs));
  EXPECT_EQ(ReleaseFinder::ReleaseOf(*finder.Find(15 * kMs)), 10 * kMs);
  EXPECT_EQ(ReleaseFinder::ReleaseOf(*finder.Find(25 * kMs)), 20 * kMs);
}

// A helper thread with a timer of its own, which always fires between the job's timer and its
// first launch, is believed at first at most.
TEST(ReleaseFinder, AHelpersQuickTimerLosesAgainstTheJobsOwn) {
  ReleaseFinder finder(SGPRS_RELEASE_TIMER, 0);
  size_t right = 0;
  for (uint64_t job = 1; job <= 20; ++job) {
    const uint64_t due = job * 10 * kMs;
    finder.Add(TimerWait(7, due));
    for (uint64_t i = 1; i < 5; ++i) finder.Add(TimerWait(8, due - 10 * kMs + i * 2 * kMs));
    finder.Add(TimerWait(8, due + 1000));
    const auto found = finder.Find(due + kMs);
    ASSERT_TRUE(found.has_value());
    if (found->tid == 7) ++right;
  }
  EXPECT_GE(right, 19u);
}

TEST(ReleaseFinder, TheMainThreadBreaksATie) {
  ReleaseFinder finder(SGPRS_RELEASE_TIMER, 5);
  finder.Add(TimerWait(5, 10 * kMs));
  finder.Add(TimerWait(6, 10 * kMs + 1000));
  EXPECT_EQ(finder.Find(11 * kMs)->tid, 5u);
}

TEST(ReleaseFinder, InputIsWhatSomebodyElseEnded) {
  ReleaseFinder finder(SGPRS_RELEASE_INPUT, 1);
  finder.Add(InputWait(1, SGPRS_WAIT_SOCKET, 10 * kMs));
  finder.Add(TimerWait(1, 11 * kMs));                         // a timeout is no input
  finder.Add(InputWait(1, SGPRS_WAIT_FUTEX, 11 * kMs + 50));  // nor is a lock
  const auto found = finder.Find(12 * kMs);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->wait, SGPRS_WAIT_SOCKET);
  EXPECT_EQ(ReleaseFinder::ReleaseOf(*found), 10 * kMs);
}

TEST(ReleaseFinder, InterruptedWaitsReleaseNothing) {
  ReleaseFinder finder(SGPRS_RELEASE_TIMER, 1);
  SgprsWakeRecord r = TimerWait(1, 10 * kMs);
  r.flags |= SGPRS_WAKE_INTERRUPTED;
  finder.Add(r);
  EXPECT_FALSE(finder.Find(11 * kMs).has_value());
}

TEST(ReleaseFinder, AnOverdueTimerStillSaysWhenItWasDue) {
  ReleaseFinder finder(SGPRS_RELEASE_TIMER, 1);
  SgprsWakeRecord r = {};
  r.tid = 1;
  r.wait = SGPRS_WAIT_TIMER;
  r.flags = SGPRS_WAKE_NO_SLEEP;
  r.due_ns = 20 * kMs;
  r.exit_ns = 27 * kMs;
  finder.Add(r);
  EXPECT_EQ(ReleaseFinder::ReleaseOf(*finder.Find(28 * kMs)), 20 * kMs);
}

TEST(ReleaseFinder, RulesWithoutAWaitFindNothing) {
  for (const SgprsReleaseRule rule : {SGPRS_RELEASE_FIRST_LAUNCH, SGPRS_RELEASE_GRID}) {
    ReleaseFinder finder(rule, 1);
    finder.Add(TimerWait(1, 10 * kMs));
    EXPECT_FALSE(finder.Find(11 * kMs).has_value());
  }
}

// A process may start thousands of threads that sleep: the memory stays, and so does the thread
// that is believed.
TEST(ReleaseFinder, ManyThreadsDoNotPushOutTheOneThatCounts) {
  ReleaseFinder finder(SGPRS_RELEASE_TIMER, 0);
  uint32_t other = 1000;
  for (uint64_t job = 1; job <= 50; ++job) {
    finder.Add(TimerWait(1, job * 10 * kMs));
    for (int i = 0; i < 40; ++i) finder.Add(TimerWait(other++, job * 10 * kMs + 100 + i));
    const auto found = finder.Find(job * 10 * kMs + kMs);
    ASSERT_TRUE(found.has_value());
    if (job > 3) {
      EXPECT_EQ(found->tid, 1u) << job;
    }
  }
}

}  // namespace
}  // namespace sgprs::kernel
