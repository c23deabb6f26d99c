// SPDX-License-Identifier: Apache-2.0
#include "runtime/observe/state_segment.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

namespace sgprs::observe {
namespace {

class StateSegmentTest : public ::testing::Test {
 protected:
  StateSegmentTest() : state_(StateSegment::Create().value()) {
    void* at = mmap(nullptr, state_->bytes(), PROT_READ, MAP_SHARED, state_->reader_fd(), 0);
    EXPECT_NE(at, MAP_FAILED);
    base_ = static_cast<char*>(at);
  }
  ~StateSegmentTest() override { munmap(base_, state_->bytes()); }
  const SgprsStateHeader& header() const {
    return *reinterpret_cast<const SgprsStateHeader*>(base_);
  }
  const SgprsTaskRow& task(uint32_t row) const {
    return reinterpret_cast<const SgprsTaskRow*>(base_ + header().tasks_offset)[row];
  }

  std::unique_ptr<StateSegment> state_;
  char* base_ = nullptr;
};

TEST_F(StateSegmentTest, LayoutIsTheAbis) {
  EXPECT_EQ(header().magic, SGPRS_STATE_MAGIC);
  EXPECT_EQ(header().major, SGPRS_ABI_MAJOR);
  EXPECT_EQ(header().total_bytes, state_->bytes());
  EXPECT_EQ(header().task_row_bytes, sizeof(SgprsTaskRow));
  EXPECT_LE(header().tasks_offset + header().task_rows * sizeof(SgprsTaskRow),
            header().total_bytes);
  EXPECT_LE(header().partitions_offset + header().partition_rows * sizeof(SgprsPartitionRow),
            header().tasks_offset);
}

TEST_F(StateSegmentTest, RowsReachTheReader) {
  SgprsTaskRow row = {};
  row.state = SGPRS_TASK_SCHEDULED;
  row.counters.recorded = 42;
  row.reserved[3] = 9;
  std::strcpy(row.name, "task");
  state_->WriteTask(1023, row);
  EXPECT_EQ(task(1023).counters.recorded, 42u);
  EXPECT_EQ(task(1023).reserved[3], 9u);
  EXPECT_EQ(task(1023).seqcount % 2, 0u);
  EXPECT_NE(task(1023).seqcount, 0u);
  EXPECT_EQ(task(1022).state, static_cast<uint32_t>(SGPRS_TASK_NONE));
  SgprsStateHeader guarded = {};
  guarded.pid = 5;
  guarded.grants = 6;
  state_->WriteHeader(guarded);
  EXPECT_EQ(header().pid, 5u);
  EXPECT_EQ(header().grants, 6u);
  EXPECT_EQ(header().magic, SGPRS_STATE_MAGIC);  // the constant part stays
}

TEST_F(StateSegmentTest, NobodyElseCanWrite) {
  const int fd = state_->reader_fd();
  EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
  const int again = open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDWR | O_CLOEXEC);
  if (again < 0) return;
  EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, again, 0), MAP_FAILED);
  EXPECT_LT(pwrite(again, "x", 1, 0), 0);
  EXPECT_NE(ftruncate(again, 1), 0);
  close(again);
}

TEST_F(StateSegmentTest, FreshRowsFirstThenTheLongestGone) {
  for (uint32_t i = 0; i < SGPRS_MAX_TASKS; ++i) {
    ASSERT_EQ(state_->TakeRow(), i);
    if (i == 5 || i == 3) state_->RetireRow(i);
  }
  EXPECT_EQ(state_->TakeRow(), 3u);
  EXPECT_EQ(state_->TakeRow(), 5u);
  EXPECT_EQ(state_->TakeRow(), std::nullopt);
}

// A reader never takes a torn row for a whole one: both halves always say the same.
TEST_F(StateSegmentTest, ReadersSeeWholeRows) {
  constexpr size_t kLast = std::size(decltype(SgprsTaskRow::reserved){}) - 1;
  std::atomic<bool> stop{false};
  std::jthread writer([&] {
    SgprsTaskRow row = {};
    for (uint64_t i = 1; !stop.load(std::memory_order_relaxed); ++i) {
      row.joined_ns = i;
      row.reserved[kLast] = i;
      state_->WriteTask(0, row);
    }
  });
  const auto word = [&](size_t offset) {
    auto* at = reinterpret_cast<uint64_t*>(base_ + header().tasks_offset + offset);
    return std::atomic_ref<uint64_t>(*at).load(std::memory_order_relaxed);
  };
  auto* count_word = reinterpret_cast<uint32_t*>(base_ + header().tasks_offset);
  std::atomic_ref<uint32_t> count(*count_word);
  int whole = 0;
  while (whole < 10'000) {
    // Acquire pairs with the writer's release store of the even count.
    const uint32_t before = count.load(std::memory_order_acquire);
    const uint64_t first = word(offsetof(SgprsTaskRow, joined_ns));
    const uint64_t last = word(offsetof(SgprsTaskRow, reserved) + kLast * sizeof(uint64_t));
    // Acquire fence pairs with the writer's release fence.
    std::atomic_thread_fence(std::memory_order_acquire);
    if (before % 2 != 0 || count.load(std::memory_order_relaxed) != before) continue;
    if (first != 0) ++whole;  // until the writer runs, nothing is shown
    EXPECT_EQ(first, last);
    if (first != last) break;
  }
  stop.store(true, std::memory_order_relaxed);
}

}  // namespace
}  // namespace sgprs::observe
