// SPDX-License-Identifier: Apache-2.0
// Events made, used and destroyed by several threads at once, handles given out again as a driver
// does.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "shim/record/event_table.h"

namespace sgprs::shim {
namespace {

CUevent Handle(uint64_t number) { return reinterpret_cast<CUevent>(0x10000 + number * 64); }
CUcontext Context(uint64_t number) { return reinterpret_cast<CUcontext>(0x100 + number * 16); }

TEST(EventTable, KnowsWhatWasMadeAndNothingElse) {
  auto table = std::make_unique<EventTable>();
  EXPECT_EQ(table->ContextOf(nullptr), nullptr);
  EXPECT_FALSE(table->Deferrable(Handle(1)));
  table->Note(Handle(1), 7);  // of nobody: no cell is taken
  EXPECT_EQ(table->Upto(Handle(1)), 0u);
  table->Made(Handle(1), Context(1));
  EXPECT_TRUE(table->Deferrable(Handle(1)));
  table->Note(Handle(1), 9);
  table->NoteCaptured(Handle(1), 3);
  EXPECT_EQ(table->Upto(Handle(1)), 9u);
  EXPECT_EQ(table->CaptureOf(Handle(1)), 3u);
  table->Note(Handle(1), 10);
  EXPECT_EQ(table->CaptureOf(Handle(1)), 0u);
  table->NeverDefer(Handle(1));
  EXPECT_FALSE(table->Deferrable(Handle(1)));
  table->Gone(Handle(1));
  EXPECT_EQ(table->ContextOf(Handle(1)), nullptr);
  table->Made(Handle(1), Context(2));  // the handle again, another event
  EXPECT_TRUE(table->Deferrable(Handle(1)));
  EXPECT_EQ(table->Upto(Handle(1)), 0u);
}

TEST(EventTable, IsNotFilledByEventsThatAreGone) {
  auto table = std::make_unique<EventTable>();
  for (uint64_t i = 0; i < 200000; ++i) {
    table->Made(Handle(i), Context(1));
    ASSERT_TRUE(table->Deferrable(Handle(i))) << i;
    table->Gone(Handle(i));
  }
}

TEST(EventTableStress, ThreadsEachSeeTheirOwn) {
  auto table = std::make_unique<EventTable>();
  constexpr uint64_t kThreads = 4, kEach = 300;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&table, t] {
      std::mt19937_64 random(t);
      std::vector<uint64_t> upto(kEach, 0);
      std::vector<bool> there(kEach, false);
      for (int round = 0; round < 20000; ++round) {
        const uint64_t i = random() % kEach;
        const CUevent event = Handle(i * kThreads + t);
        if (!there[i]) {
          table->Made(event, Context(t));
          there[i] = table->ContextOf(event) == Context(t);
          ASSERT_TRUE(there[i]);
          upto[i] = 0;
        } else if (random() % 4 == 0) {
          table->Gone(event);
          there[i] = false;
          ASSERT_EQ(table->ContextOf(event), nullptr);
        } else {
          ASSERT_EQ(table->Upto(event), upto[i]);
          table->Note(event, upto[i] = random() >> 8);
          ASSERT_EQ(table->Upto(event), upto[i]);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace sgprs::shim
