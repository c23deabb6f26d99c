// SPDX-License-Identifier: Apache-2.0
#include "runtime/loop/timer_queue.h"

#include <gtest/gtest.h>

#include <vector>

namespace sgprs::loop {
namespace {

TEST(TimerQueue, RunsInOrderOfDueTime) {
  TimerQueue queue;
  std::vector<int> ran;
  queue.Add(30, 0, [&] { ran.push_back(3); });
  queue.Add(10, 0, [&] { ran.push_back(1); });
  queue.Add(20, 0, [&] { ran.push_back(2); });
  EXPECT_EQ(queue.next_due_ns(), 10u);
  queue.RunDue(20);
  EXPECT_EQ(ran, (std::vector<int>{1, 2}));
  EXPECT_EQ(queue.next_due_ns(), 30u);
  queue.RunDue(30);
  EXPECT_EQ(ran, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(queue.next_due_ns(), UINT64_MAX);
}

TEST(TimerQueue, RepeatsWithoutMakingUpForMissedPoints) {
  TimerQueue queue;
  int ran = 0;
  queue.Add(10, 10, [&] { ++ran; });
  queue.RunDue(55);
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(queue.next_due_ns(), 65u);
  queue.RunDue(64);
  EXPECT_EQ(ran, 1);
  queue.RunDue(65);
  EXPECT_EQ(ran, 2);
}

TEST(TimerQueue, HandlerMayRemoveItselfAndOthers) {
  TimerQueue queue;
  int ran = 0;
  TimerId self = 0;
  const TimerId other = queue.Add(20, 0, [&] { ran += 100; });
  self = queue.Add(10, 5, [&] {
    ++ran;
    queue.Remove(self);
    queue.Remove(other);
  });
  queue.RunDue(50);
  queue.RunDue(500);
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(queue.size(), 0u);
}

TEST(TimerQueue, TimerAddedByHandlerRunsLater) {
  TimerQueue queue;
  int ran = 0;
  queue.Add(10, 0, [&] { queue.Add(5, 0, [&] { ++ran; }); });
  queue.RunDue(10);
  EXPECT_EQ(ran, 0);
  queue.RunDue(10);
  EXPECT_EQ(ran, 1);
}

}  // namespace
}  // namespace sgprs::loop
