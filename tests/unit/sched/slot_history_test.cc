// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/slot_history.h"

#include <gtest/gtest.h>

namespace sgprs::sched {
namespace {

TEST(SlotHistoryTest, WorstWindowOnlyOnceOneIsFull) {
  SlotHistory history;
  for (uint32_t i = 0; i + 1 < kWindowSlots; ++i) history.Ran(false);
  EXPECT_EQ(history.worst_window(), kWindowSlots);
  history.Ran(true);
  EXPECT_EQ(history.worst_window(), 1u);
  for (int i = 0; i < 100; ++i) history.Ran(true);
  EXPECT_EQ(history.worst_window(), 1u) << "the worst so far";
}

TEST(SlotHistoryTest, HoldsCountAndRunsEnd) {
  SlotHistory history;
  for (int i = 0; i < 3; ++i) history.Held();
  history.Ran(true);
  history.Held();
  EXPECT_EQ(history.held(), 4u);
  EXPECT_EQ(history.longest_hold(), 3u);
  EXPECT_EQ(history.hold_run(), 1u);
  for (uint32_t i = 0; i < kWindowSlots; ++i) history.Ran(true);
  EXPECT_EQ(history.worst_window(), kWindowSlots - 4);
}

TEST(SlotHistoryTest, AnUnmetRunEndsWithAFrameOnTimeOnly) {
  SlotHistory history;
  history.Held();
  history.Ran(false);
  history.Held();
  EXPECT_EQ(history.unmet_run(), 3u) << "a late frame serves nobody";
  EXPECT_EQ(history.hold_run(), 1u);
  history.Ran(true);
  EXPECT_EQ(history.unmet_run(), 0u);
}

}  // namespace
}  // namespace sgprs::sched
