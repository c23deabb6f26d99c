// SPDX-License-Identifier: Apache-2.0
// Every kind of wait, and who is to blame for a delay.
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "tests/bpf/probes_fixture.h"

namespace sgprs::testing {
namespace {

constexpr useconds_t kLater = 20'000;  // us after which somebody else ends a wait

void FutexWait(uint32_t* word, const timespec* timeout) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, timeout, nullptr, 0);
}

TEST_F(ProbesTest, ALockIsAFutexAndItsTimeoutATimer) {
  Shared<uint64_t> asked(1);
  const auto body = [&asked] {
    uint32_t word = 0;
    std::thread waker([&word] {
      usleep(kLater);
      syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    });
    FutexWait(&word, nullptr);
    waker.join();
    const timespec timeout = ToTimespec(5 * kNsPerMs);
    asked[0] = NowNs();
    FutexWait(&word, &timeout);
  };
  ASSERT_TRUE(FollowUntil(body, [this] {
    return Complete(SGPRS_WAIT_FUTEX, true).size() == 1 &&
           !Complete(SGPRS_WAIT_FUTEX, false).empty();
  }));
  const std::vector<SgprsWakeRecord> timed = Complete(SGPRS_WAIT_FUTEX, true);
  EXPECT_GE(timed[0].due_ns, asked[0] + 5 * kNsPerMs);
  EXPECT_LE(timed[0].due_ns, timed[0].expire_ns);
}

TEST_F(ProbesTest, PollEndsByItsTimeoutOrByInput) {
  const auto body = [] {
    int ends[2];
    if (pipe(ends) != 0) _exit(1);
    pollfd in = {.fd = ends[0], .events = POLLIN, .revents = 0};
    poll(&in, 1, 5);  // nothing comes
    std::thread writer([&ends] {
      usleep(kLater);
      (void)!write(ends[1], "x", 1);
    });
    poll(&in, 1, 10'000);
    writer.join();
    const int set = epoll_create1(0);
    epoll_event event = {.events = EPOLLIN, .data = {}};
    char byte;
    (void)!read(ends[0], &byte, 1);
    epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event);
    epoll_wait(set, &event, 1, 5);
  };
  ASSERT_TRUE(FollowUntil(body, [this] {
    return Complete(SGPRS_WAIT_POLL, true).size() == 2 &&
           Complete(SGPRS_WAIT_POLL, false).size() == 1;
  }));
}

TEST_F(ProbesTest, ReadingATimerfdIsATimerReadingAPipeIsInput) {
  Shared<uint64_t> due(1);
  const auto body = [&due] {
    const int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    due[0] = NowNs() + 5 * kNsPerMs;
    const itimerspec at = {.it_interval = {}, .it_value = ToTimespec(due[0])};
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, nullptr);
    uint64_t expirations;
    (void)!read(timer, &expirations, sizeof(expirations));
    int ends[2];
    if (pipe(ends) != 0) _exit(1);
    std::thread writer([&ends] {
      usleep(kLater);
      (void)!write(ends[1], "x", 1);
    });
    char byte;
    (void)!read(ends[0], &byte, 1);
    writer.join();
  };
  ASSERT_TRUE(FollowUntil(body, [this] {
    return Complete(SGPRS_WAIT_READ, true).size() == 1 &&
           Complete(SGPRS_WAIT_READ, false).size() == 1;
  }));
  const std::vector<SgprsWakeRecord> timer = Complete(SGPRS_WAIT_READ, true);
  EXPECT_EQ(timer[0].due_ns, due[0]);
}

TEST_F(ProbesTest, AMessageOnASocketIsInputAndItsSenderIsNamed) {
  Shared<uint32_t> sender(1);
  const auto body = [&sender] {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) _exit(1);
    std::thread thread([&ends, &sender] {
      sender[0] = static_cast<uint32_t>(gettid());
      pthread_setname_np(pthread_self(), "sender");
      usleep(kLater);
      send(ends[1], "x", 1, 0);
    });
    char byte;
    recv(ends[0], &byte, 1, 0);
    thread.join();
  };
  ASSERT_TRUE(FollowUntil(body, [this] { return Complete(SGPRS_WAIT_SOCKET, false).size() == 1; }));
  const std::vector<SgprsWakeRecord> input = Complete(SGPRS_WAIT_SOCKET, false);
  EXPECT_EQ(input[0].waker_tid, sender[0]);
  EXPECT_STREQ(input[0].waker_comm, "sender");
  EXPECT_EQ(input[0].due_ns, 0u);
}

TEST_F(ProbesTest, ASleepThatWasOverBeforeItBeganSaysWhenItWasDue) {
  Shared<uint64_t> due(1);
  Follow([&due] {
    due[0] = NowNs() - 3 * kNsPerMs;
    const timespec until = ToTimespec(due[0]);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
  });
  size_t found = 0;
  for (const SgprsWakeRecord& r : records_) {
    if ((r.flags & SGPRS_WAKE_NO_SLEEP) == 0) continue;
    ++found;
    EXPECT_EQ(r.due_ns, due[0]);
    EXPECT_EQ(kernel::CheckWake(r), kernel::WakeCheck::kComplete);
  }
  EXPECT_EQ(found, 1u);
}

TEST_F(ProbesTest, ASleepOnTheWallClockIsDueOnOurs) {
  Shared<uint64_t> due(2);
  const auto body = [&due] {
    timespec wall;
    const uint64_t before = NowNs();
    clock_gettime(CLOCK_REALTIME, &wall);
    due[1] = NowNs() + 5 * kNsPerMs;
    due[0] = before + 5 * kNsPerMs;
    const uint64_t wall_ns = static_cast<uint64_t>(wall.tv_sec) * kNsPerSecond +
                             static_cast<uint64_t>(wall.tv_nsec) + 5 * kNsPerMs;
    const timespec until = ToTimespec(wall_ns);
    clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, nullptr);
  };
  ASSERT_TRUE(FollowUntil(body, [this] { return Complete(SGPRS_WAIT_TIMER, true).size() == 1; }));
  const std::vector<SgprsWakeRecord> timer = Complete(SGPRS_WAIT_TIMER, true);
  EXPECT_GE(timer[0].due_ns + kNsPerUs, due[0]);
  EXPECT_LE(timer[0].due_ns, due[1] + kNsPerUs);
}

TEST_F(ProbesTest, ShortWaitsAreCountedNotSent) {
  ASSERT_NO_FATAL_FAILURE(Load({.min_wait_ns = 10 * kNsPerSecond}));
  Follow([] {
    int ends[2];
    if (pipe(ends) != 0) _exit(1);
    std::thread writer([&ends] {
      for (int i = 0; i < 5; ++i) {
        usleep(2000);
        (void)!write(ends[1], "x", 1);
      }
    });
    char byte;
    for (int i = 0; i < 5; ++i) (void)!read(ends[0], &byte, 1);
    writer.join();
    usleep(1000);  // a timer: sent, and carries what the short waits cost
  });
  EXPECT_TRUE(Complete(SGPRS_WAIT_READ, false).empty());
  EXPECT_GE(probes_->Counts().short_waits, 5u);
  uint64_t blocked_ns = 0;
  for (const SgprsWakeRecord& r : records_) blocked_ns = std::max(blocked_ns, r.blocked_ns);
  EXPECT_GE(blocked_ns, 5 * kNsPerMs);
}

// What a thread does between two waits is in the record of the second one.
TEST_F(ProbesTest, RunningAndBeingStoppedAreToldApart) {
  Shared<Period> own(3);
  Shared<uint64_t> stopped(2);
  Child child([&own, &stopped] {
    RunPeriodic(own.data(), 3, 10 * kNsPerMs, [&stopped](size_t i) {
      if (i == 0) {  // 5 ms of work
        const uint64_t until = NowNs() + 5 * kNsPerMs;
        while (NowNs() < until) {
        }
      } else if (i == 1) {
        stopped[0] = NowNs();
        raise(SIGSTOP);
        stopped[1] = NowNs();
      }
    });
  });
  ASSERT_TRUE(probes_->Register(child.pidfd(), kId).ok());
  child.Go();
  waitpid(child.pid(), nullptr, WUNTRACED);
  usleep(20'000);
  kill(child.pid(), SIGCONT);
  child.Wait();
  Drain();
  probes_->Unregister(child.pidfd());
  std::vector<SgprsWakeRecord> waits;
  for (const SgprsWakeRecord& r : records_) {
    if (r.wait == SGPRS_WAIT_TIMER) waits.push_back(r);
  }
  ASSERT_EQ(waits.size(), 3u);
  EXPECT_GE(waits[1].run_ns + waits[1].queued_ns, 5 * kNsPerMs);
  EXPECT_EQ(waits[1].stopped_ns, 0u);
  EXPECT_GE(waits[2].stopped_ns, 20 * kNsPerMs);
  EXPECT_LE(waits[2].stopped_ns, stopped[1] - stopped[0]);
  // Due while it was stopped: no sleep, but the due time is known.
  EXPECT_EQ(waits[2].due_ns, own[2].due_ns);
}

void PinTo(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof(set), &set);
}

TEST_F(ProbesTest, WhoHadTheCpuIsNamed) {
  Shared<Period> own(40);
  Shared<uint32_t> allowed(1);
  // Takes the CPU for 6 ms of every 9: a thread beside it with a period of 10 is late often, at its
  // wakeup and in its work.
  Child hog([&allowed] {
    PinTo(0);
    const sched_param priority = {.sched_priority = 1};
    allowed[0] = sched_setscheduler(0, SCHED_FIFO, &priority) == 0 ? 1 : 2;
    prctl(PR_SET_NAME, "the-hog");
    for (;;) {
      const uint64_t until = NowNs() + 6 * kNsPerMs;
      while (NowNs() < until) {
      }
      usleep(3000);
    }
  });
  hog.Go();
  while (allowed[0] == 0) usleep(1000);
  if (allowed[0] == 2) GTEST_SKIP() << "SCHED_FIFO is not permitted";
  Follow([&own] {
    PinTo(0);
    RunPeriodic(own.data(), 40, 10 * kNsPerMs, [](size_t) {
      const uint64_t until = NowNs() + 2 * kNsPerMs;
      while (NowNs() < until) {
      }
    });
  });
  // Others may be busy on this CPU too, but the hog is in nearly everybody's way.
  const auto hog_tid = static_cast<uint32_t>(hog.pid());
  size_t late = 0;
  size_t late_by_hog = 0;
  size_t preempted = 0;
  size_t preempted_by_hog = 0;
  for (const SgprsWakeRecord& r : Complete(SGPRS_WAIT_TIMER, true)) {
    if (r.on_cpu_ns - r.wakeup_ns > kNsPerMs) {
      ++late;
      if (r.ran_tid == hog_tid && std::strcmp(r.ran_comm, "the-hog") == 0) ++late_by_hog;
      EXPECT_LE(r.ran_ns, r.on_cpu_ns - r.wakeup_ns);
    }
    if (r.preempt_ns > kNsPerMs) {
      ++preempted;
      if (r.preempt_tid == hog_tid && std::strcmp(r.preempt_comm, "the-hog") == 0) {
        ++preempted_by_hog;
      }
      EXPECT_LE(r.preempt_ns, r.queued_ns);
    }
  }
  EXPECT_GT(late, 3u);
  EXPECT_GE(2 * late_by_hog, late);
  EXPECT_GT(preempted, 0u);
  EXPECT_GT(preempted_by_hog, 0u);
}

}  // namespace
}  // namespace sgprs::testing
