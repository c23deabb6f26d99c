// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/partition_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sgprs::sched {
namespace {

using ::testing::ElementsAre;

constexpr uint64_t kWait = 1000;

QueueEntry Entry(uint32_t task, uint64_t high, uint64_t low, uint64_t sequence,
                 bool best_effort = false) {
  return {.key = {high, low},
          .sequence = sequence,
          .task = task,
          .ready_ns = 10 * sequence,
          .cost_ns = 100,
          .best_effort = best_effort};
}

SlotHolder Holder(uint32_t task, uint64_t granted_ns, uint64_t cost_ns, bool best_effort = false) {
  return {.task = task, .granted_ns = granted_ns, .cost_ns = cost_ns, .best_effort = best_effort};
}

std::vector<uint32_t> Drain(PartitionState* partition) {
  std::vector<uint32_t> order;
  bool above = false;
  while (const QueueEntry* next = partition->Next(0, false, kWait, &above)) {
    order.push_back(next->task);
    partition->Dequeue(QueueEntry(*next));
  }
  return order;
}

TEST(PartitionStateTest, LevelThenDeadlineThenOrderOfReadiness) {
  PartitionState partition(34, 2);
  partition.Enqueue(Entry(1, 2, 50, 1));
  partition.Enqueue(Entry(2, 0, 90, 2));
  partition.Enqueue(Entry(3, 0, 80, 3));
  partition.Enqueue(Entry(4, 1, 10, 4));
  partition.Enqueue(Entry(5, 0, 80, 5));
  EXPECT_THAT(partition.QueuedTasks(), ElementsAre(1u, 2u, 3u, 4u, 5u));
  EXPECT_THAT(Drain(&partition), ElementsAre(3u, 5u, 2u, 4u, 1u));
}

TEST(PartitionStateTest, CapacityHolds) {
  PartitionState partition(34, 2);
  bool above = false;
  partition.TakeSlot(Holder(1, 0, 100), 0);
  partition.Enqueue(Entry(3, 0, 0, 1));
  EXPECT_NE(partition.Next(0, true, kWait, &above), nullptr);
  partition.TakeSlot(Holder(2, 0, 100), 0);
  EXPECT_EQ(partition.Next(0, true, kWait, &above), nullptr);
  EXPECT_NE(partition.Next(0, false, kWait, &above), nullptr) << "unbounded";
  partition.FreeSlot(1, 50);
  EXPECT_NE(partition.Next(0, true, kWait, &above), nullptr);
}

TEST(PartitionStateTest, BestEffortIsNoObstacleButFindsSome) {
  PartitionState partition(34, 2);
  bool above = false;
  partition.TakeSlot(Holder(1, 0, 100, true), 0);
  partition.TakeSlot(Holder(2, 0, 100, true), 0);
  partition.Enqueue(Entry(3, 11, 0, 1, true));
  EXPECT_EQ(partition.Next(0, true, kWait, &above), nullptr);
  partition.Enqueue(Entry(4, 0, 0, 2));
  ASSERT_NE(partition.Next(0, true, kWait, &above), nullptr);
  EXPECT_EQ(partition.Next(0, true, kWait, &above)->task, 4u);
  EXPECT_FALSE(above);
}

TEST(PartitionStateTest, BestEffortRunsInWhatTheOthersLeave) {
  PartitionState partition(34, 2);
  bool above = false;
  partition.Enqueue(Entry(3, 11, 0, 1, true));
  partition.TakeSlot(Holder(1, 0, 100), 0);
  EXPECT_EQ(partition.Next(0, true, kWait, &above), nullptr);
  partition.FreeSlot(1, 0);
  EXPECT_FALSE(partition.idle());
  EXPECT_NE(partition.Next(0, true, kWait, &above), nullptr);
}

TEST(PartitionStateTest, LongWaitGoesAboveCapacityOneAtATime) {
  PartitionState partition(34, 1);
  bool above = false;
  partition.TakeSlot(Holder(1, 0, 100), 0);
  partition.Enqueue(Entry(2, 5, 0, 1, true));  // ready at 10
  partition.Enqueue(Entry(3, 0, 0, 2));        // ready at 20
  EXPECT_EQ(partition.NextLongWaitNs(kWait), 10 + kWait);
  EXPECT_EQ(partition.Next(9 + kWait, true, kWait, &above), nullptr);
  const QueueEntry* next = partition.Next(10 + kWait, true, kWait, &above);
  ASSERT_NE(next, nullptr);
  EXPECT_EQ(next->task, 2u);
  EXPECT_TRUE(above);
  partition.Dequeue(QueueEntry(*next));
  SlotHolder extra = Holder(2, 10 + kWait, 100, true);
  extra.above_capacity = true;
  partition.TakeSlot(extra, 10 + kWait);
  EXPECT_EQ(partition.Next(99 * kWait, true, kWait, &above), nullptr);
}

// papers.md 1.5
TEST(PartitionStateTest, EstimatedEnd) {
  PartitionState partition(34, 2);
  EXPECT_EQ(partition.View(1000, false).finish_ns, 1000u);
  partition.TakeSlot(Holder(1, 900, 300), 900);
  partition.TakeSlot(Holder(2, 950, 200), 950);
  partition.Enqueue(Entry(3, 0, 0, 1));
  EXPECT_EQ(partition.View(1000, false).finish_ns, 900u + 300 + 200 + 100);
  EXPECT_EQ(partition.View(1300, false).finish_ns, 1300u + 600) << "the oldest outlived its cost";
  partition.Enqueue(Entry(4, 9, 0, 2, true));
  EXPECT_EQ(partition.View(1000, false).finish_ns, 1500u) << "queued best effort is not seen";
  EXPECT_EQ(partition.View(1000, false).queued, 1u);
  EXPECT_EQ(partition.View(1000, true).finish_ns, 1600u);
  EXPECT_EQ(partition.View(1000, true).queued, 2u);
  partition.stalled = 1;
  EXPECT_EQ(partition.View(1000, false).finish_ns, UINT64_MAX);
}

TEST(PartitionStateTest, BusyWhileAnythingRuns) {
  PartitionState partition(34, 2);
  partition.TakeSlot(Holder(1, 100, 1), 100);
  partition.TakeSlot(Holder(2, 150, 1), 150);
  partition.FreeSlot(1, 200);
  EXPECT_EQ(partition.BusyNs(250), 150u);
  partition.FreeSlot(2, 300);
  EXPECT_EQ(partition.BusyNs(900), 200u);
}

}  // namespace
}  // namespace sgprs::sched
