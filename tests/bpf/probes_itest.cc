// SPDX-License-Identifier: Apache-2.0
// The probes against a periodic process that keeps its own stamps.
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <map>
#include <thread>
#include <vector>

#include "tests/bpf/probes_fixture.h"

namespace sgprs::testing {
namespace {

using kernel::CheckWake;
using kernel::ProbeCounts;
using kernel::WakeCheck;

uint64_t Median(std::vector<uint64_t> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

TEST_F(ProbesTest, StampsOfAPeriodicProcessAgreeWithItsOwn) {
  constexpr size_t kPeriods = 300;
  Shared<Period> own(kPeriods);
  Follow([&own] { RunPeriodic(own.data(), kPeriods, 10 * kNsPerMs); });

  std::map<uint64_t, const SgprsWakeRecord*> by_due;
  for (const SgprsWakeRecord& record : records_) {
    EXPECT_EQ(record.client_id, kId);
    if (CheckWake(record) == WakeCheck::kComplete) by_due[record.due_ns] = &record;
  }
  size_t complete = 0;
  std::vector<uint64_t> expire, wakeup, on_cpu, exit, process;
  for (size_t i = 0; i < kPeriods; ++i) {
    const auto found = by_due.find(own[i].due_ns);
    if (found == by_due.end()) continue;
    ++complete;
    const SgprsWakeRecord& r = *found->second;
    EXPECT_EQ(r.wait, SGPRS_WAIT_TIMER);
    EXPECT_LE(r.exit_ns, own[i].back_ns);  // the kernel sees the return before the process does
    if ((r.flags & SGPRS_WAKE_NO_SLEEP) != 0) continue;
    expire.push_back(r.expire_ns - r.due_ns);
    wakeup.push_back(r.wakeup_ns - r.expire_ns);
    on_cpu.push_back(r.on_cpu_ns - r.wakeup_ns);
    exit.push_back(r.exit_ns - r.on_cpu_ns);
    process.push_back(own[i].back_ns - r.exit_ns);
  }
  const ProbeCounts counts = probes_->Counts();
  std::printf(
      "%zu of %zu complete; medians in us: due-expire %.1f expire-wakeup %.1f wakeup-on_cpu %.1f "
      "on_cpu-exit %.1f exit-process %.1f; sent %lu lost %lu misses %lu mismatched %lu\n",
      complete, kPeriods, Median(expire) / 1e3, Median(wakeup) / 1e3, Median(on_cpu) / 1e3,
      Median(exit) / 1e3, Median(process) / 1e3, counts.sent, counts.lost, counts.misses,
      counts.mismatched);
  EXPECT_GE(complete * 100, kPeriods * 98);
  EXPECT_EQ(counts.lost, 0u);
  // A few periods may have no record at all: see bpf/README.md.
  EXPECT_LE(counts.sent, kPeriods + 5);
}

TEST_F(ProbesTest, OnlyTheRegisteredIsFollowedAndNoLongerThanThat) {
  Shared<Period> own(20);
  Shared<uint32_t> unregistered(1);
  Child stranger([] {
    for (;;) usleep(1000);
  });
  stranger.Go();
  Child child([&own, &unregistered] {
    RunPeriodic(own.data(), 10, 2 * kNsPerMs);
    while (std::atomic_ref<uint32_t>(*unregistered.data()).load() == 0) {
    }
    RunPeriodic(own.data() + 10, 10, 2 * kNsPerMs);
    for (;;) pause();
  });
  ASSERT_TRUE(probes_->Register(child.pidfd(), kId).ok());
  child.Go();
  while (own[9].back_ns == 0) usleep(1000);
  probes_->Unregister(child.pidfd());
  std::atomic_ref<uint32_t>(*unregistered.data()).store(1);
  while (own[19].back_ns == 0) usleep(1000);
  Drain();
  ASSERT_FALSE(records_.empty());
  for (const SgprsWakeRecord& r : records_) {
    EXPECT_EQ(r.tid, static_cast<uint32_t>(child.pid()));
    EXPECT_EQ(r.client_id, kId);
  }
  EXPECT_LT(records_.size(), 20u);
}

TEST_F(ProbesTest, ThreadsHaveSequencesOfTheirOwn) {
  constexpr size_t kThreads = 4;
  constexpr uint32_t kWaits = 20;
  Shared<Period> own(kThreads * kWaits);
  Follow([&own] {
    std::vector<std::thread> threads;
    for (size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back(
          [&own, i] { RunPeriodic(own.data() + i * kWaits, kWaits, 2 * kNsPerMs); });
    }
    for (std::thread& thread : threads) thread.join();
  });
  std::map<uint32_t, uint32_t> last;
  for (const SgprsWakeRecord& r : records_) {
    EXPECT_EQ(r.sequence, ++last[r.tid]);
  }
  EXPECT_GE(last.size(), kThreads);
}

TEST_F(ProbesTest, AProcessInAPidNamespaceIsFollowed) {
  Shared<Period> own(20);
  Child outer([&own] {
    if (unshare(CLONE_NEWPID) != 0) _exit(1);
    // The child of this one is pid 1 of its namespace; the pidfd comes from out here.
    const pid_t inner = fork();
    if (inner == 0) {
      usleep(50'000);
      RunPeriodic(own.data(), 20, 2 * kNsPerMs);
      _exit(0);
    }
    own[0].back_ns = static_cast<uint64_t>(inner);
    waitpid(inner, nullptr, 0);
  });
  if (geteuid() != 0) GTEST_SKIP() << "a pid namespace needs root";
  outer.Go();
  while (own[0].back_ns == 0) usleep(100);
  const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, own[0].back_ns, 0)));
  ASSERT_TRUE(pidfd.valid());
  ASSERT_TRUE(probes_->Register(pidfd.get(), kId).ok());
  outer.Wait();
  Drain();
  probes_->Unregister(pidfd.get());
  EXPECT_GE(Complete(SGPRS_WAIT_TIMER, true).size(), 15u);
}

TEST_F(ProbesTest, AFullRingLosesRecordsAndSaysSo) {
  ASSERT_NO_FATAL_FAILURE(Load({.ring_bytes = 4096}));
  constexpr uint32_t kWaits = 60;
  Shared<Period> own(kWaits);
  Child child([&own] { RunPeriodic(own.data(), kWaits, kNsPerMs); });
  ASSERT_TRUE(probes_->Register(child.pidfd(), kId).ok());
  child.Go();
  while (own[kWaits / 2].back_ns == 0) usleep(1000);
  // Half full: the reader is called.
  pollfd ready = {.fd = probes_->ring_fd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&ready, 1, 0), 1);
  Drain();
  child.Wait();
  Drain();
  probes_->Unregister(child.pidfd());
  const ProbeCounts counts = probes_->Counts();
  EXPECT_GT(counts.lost, 0u);
  EXPECT_EQ(counts.sent, records_.size());
  uint32_t missing = 0;
  uint32_t last = 0;
  for (const SgprsWakeRecord& r : records_) {
    missing += kernel::MissingBefore(last, r.sequence);
    last = r.sequence;
  }
  EXPECT_GT(missing, 0u);
  EXPECT_LE(missing, counts.lost);
}

TEST_F(ProbesTest, ADrainStopsWhereItIsTold) {
  Shared<Period> own(20);
  Child child([&own] { RunPeriodic(own.data(), 20, kNsPerMs); });
  ASSERT_TRUE(probes_->Register(child.pidfd(), kId).ok());
  child.Go();
  child.Wait();
  size_t seen = 0;
  const auto count = [&seen](const SgprsWakeRecord&) { ++seen; };
  EXPECT_EQ(probes_->Drain(count, 3), 3u);
  EXPECT_EQ(seen, 3u);
  EXPECT_GE(probes_->Drain(count), 10u);
  EXPECT_EQ(probes_->Drain(count), 0u);
  EXPECT_EQ(seen, probes_->Counts().sent);
  probes_->Unregister(child.pidfd());
}

TEST_F(ProbesTest, AProcessThatIsOverCanNotBeRegistered) {
  Child child([] {});
  child.Go();
  const UniqueFd pidfd(dup(child.pidfd()));
  child.Wait();
  EXPECT_EQ(probes_->Register(pidfd.get(), kId).code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace sgprs::testing
