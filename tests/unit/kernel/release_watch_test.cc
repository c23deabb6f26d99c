// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernel/release_watch.h"

#include <gtest/gtest.h>

namespace sgprs::kernel {
namespace {

constexpr uint64_t kMs = 1'000'000;

SgprsWakeRecord Timer(uint32_t sequence, uint64_t due_ns) {
  SgprsWakeRecord r = {};
  r.tid = 1;
  r.sequence = sequence;
  r.wait = SGPRS_WAIT_TIMER;
  r.flags = SGPRS_WAKE_TIMER;
  r.sleep_ns = due_ns - kMs;
  r.due_ns = due_ns;
  r.expire_ns = due_ns + 50'000;
  r.wakeup_ns = due_ns + 51'000;
  r.on_cpu_ns = due_ns + 80'000;
  r.exit_ns = due_ns + 82'000;
  return r;
}

SgprsWakeRecord Socket(uint32_t sequence, uint64_t wakeup_ns) {
  SgprsWakeRecord r = Timer(sequence, wakeup_ns - 51'000);
  r.wait = SGPRS_WAIT_SOCKET;
  r.flags = 0;
  r.due_ns = r.expire_ns = 0;
  return r;
}

// design.md 9: deadlines anchor on the timer, not on when the process got going.
TEST(ReleaseWatch, AProcessDelayedOnTheCpuKeepsTheReleaseOfItsTimer) {
  ReleaseWatch watch(SGPRS_RELEASE_TIMER, 1);
  watch.Add(Timer(1, 100 * kMs));
  const ReleaseWatch::Job& job = watch.Released(1, 108 * kMs, 0);
  EXPECT_EQ(job.release_ns, 100 * kMs);
  EXPECT_EQ(job.rule, SGPRS_RELEASE_TIMER);
  ASSERT_TRUE(job.wake.has_value());

  ReleaseWatch plain(SGPRS_RELEASE_FIRST_LAUNCH, 1);
  plain.Add(Timer(1, 100 * kMs));
  EXPECT_EQ(plain.Released(1, 108 * kMs, 0).release_ns, 108 * kMs);
  EXPECT_TRUE(plain.Find(1)->wake.has_value());  // told in the record all the same
}

TEST(ReleaseWatch, WithoutAWaitTheFirstLaunchIsTheReleaseAndIsCounted) {
  ReleaseWatch watch(SGPRS_RELEASE_TIMER, 1);
  SgprsWakeRecord broken = Timer(1, 10 * kMs);
  broken.on_cpu_ns = 0;
  watch.Add(broken);
  const ReleaseWatch::Job& job = watch.Released(1, 12 * kMs, 0);
  EXPECT_EQ(job.release_ns, 12 * kMs);
  EXPECT_EQ(job.rule, SGPRS_RELEASE_FIRST_LAUNCH);
  EXPECT_EQ(watch.counts().incomplete, 1u);
  EXPECT_EQ(watch.counts().unreleased, 1u);
}

TEST(ReleaseWatch, AWaitOlderThanTheJobBeforeIsNotBelieved) {
  ReleaseWatch watch(SGPRS_RELEASE_TIMER, 1);
  watch.Add(Timer(1, 10 * kMs));
  EXPECT_EQ(watch.Released(2, 30 * kMs, 20 * kMs).release_ns, 30 * kMs);
}

TEST(ReleaseWatch, InputReleasesAtItsWakeup) {
  ReleaseWatch watch(SGPRS_RELEASE_INPUT, 1);
  watch.Add(Socket(1, 10 * kMs));
  watch.Add(Timer(2, 11 * kMs));
  const ReleaseWatch::Job& job = watch.Released(1, 12 * kMs, 0);
  EXPECT_EQ(job.release_ns, 10 * kMs);
  EXPECT_EQ(job.wake->wait, SGPRS_WAIT_SOCKET);
}

TEST(ReleaseWatch, TheGridIsTheSchedulersToMake) {
  ReleaseWatch watch(SGPRS_RELEASE_GRID, 1);
  watch.Add(Timer(1, 100 * kMs));
  const ReleaseWatch::Job& job = watch.Released(1, 103 * kMs, 0);
  EXPECT_EQ(job.release_ns, 103 * kMs);
  EXPECT_EQ(job.rule, SGPRS_RELEASE_GRID);
}

TEST(ReleaseWatch, TheNextWaitOfTheSameThreadTellsWhatItDid) {
  ReleaseWatch watch(SGPRS_RELEASE_TIMER, 1);
  watch.Add(Timer(1, 10 * kMs));
  watch.Released(1, 12 * kMs, 0);
  SgprsWakeRecord other = Timer(2, 13 * kMs);
  other.tid = 9;
  watch.Add(other);
  EXPECT_FALSE(watch.Find(1)->after.has_value());
  SgprsWakeRecord next = Timer(2, 20 * kMs);
  next.stopped_ns = 7 * kMs;
  watch.Add(next);
  ASSERT_TRUE(watch.Find(1)->after.has_value());
  EXPECT_EQ(watch.Find(1)->after->stopped_ns, 7 * kMs);
}

TEST(ReleaseWatch, MissingRecordsAreCountedAndWhatFollowsThemTellsNothing) {
  ReleaseWatch watch(SGPRS_RELEASE_TIMER, 1);
  watch.Add(Timer(1, 10 * kMs));
  watch.Released(1, 12 * kMs, 0);
  watch.Add(Timer(4, 40 * kMs));
  EXPECT_EQ(watch.counts().missing, 2u);
  EXPECT_FALSE(watch.Find(1)->after.has_value());
}

TEST(ReleaseWatch, OldJobsAreForgotten) {
  ReleaseWatch watch(SGPRS_RELEASE_TIMER, 1);
  for (uint64_t i = 1; i <= 100; ++i) watch.Released(i, i * kMs, 0);
  EXPECT_EQ(watch.Find(1), nullptr);
  EXPECT_NE(watch.Find(100), nullptr);
  EXPECT_NE(watch.Find(100 - ReleaseWatch::kKeptJobs + 1), nullptr);
}

}  // namespace
}  // namespace sgprs::kernel
