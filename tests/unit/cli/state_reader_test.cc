// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/state_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/unit/cli/segment.h"

namespace sgprs::cli {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<StateReader> Open(const Segment& segment) {
  Result<std::unique_ptr<StateReader>> reader = StateReader::Open(segment.Fd());
  EXPECT_TRUE(reader.ok()) << reader.status().text();
  return reader.ok() ? std::move(reader).value() : nullptr;
}

std::string Refusal(const Segment& segment) {
  const Result<std::unique_ptr<StateReader>> reader = StateReader::Open(segment.Fd());
  EXPECT_FALSE(reader.ok());
  return reader.status().text();
}

TEST(StateReaderTest, ReadsRowsInUseAndAsManyPartitionsAsThereAre) {
  Segment segment;
  segment.header()->partition_count = 2;
  segment.task(1)->state = SGPRS_TASK_SCHEDULED;
  std::strcpy(segment.task(1)->name, "camera");
  segment.task(1)->counters.jobs_completed = 5;
  segment.task(3)->state = SGPRS_TASK_GONE;
  segment.partition(1)->sm_count = 34;
  const auto reader = Open(segment);
  ASSERT_NE(reader, nullptr);
  const Result<StateSnapshot> snapshot = reader->Read(77);
  ASSERT_TRUE(snapshot.ok());
  EXPECT_EQ(snapshot->read_ns, 77u);
  EXPECT_STREQ(snapshot->header.policy, "sgprs");
  ASSERT_EQ(snapshot->tasks.size(), 2u);
  EXPECT_STREQ(snapshot->tasks[0].name, "camera");
  EXPECT_EQ(snapshot->tasks[0].counters.jobs_completed, 5u);
  ASSERT_EQ(snapshot->partitions.size(), 2u);
  EXPECT_EQ(snapshot->partitions[1].sm_count, 34u);
  EXPECT_EQ(snapshot->torn_rows, 0u);
}

TEST(StateReaderTest, NamesAreAlwaysTerminated) {
  Segment segment;
  segment.task(0)->state = SGPRS_TASK_LEARNING;
  std::memset(segment.task(0)->name, 'x', SGPRS_NAME_BYTES);
  const Result<StateSnapshot> snapshot = Open(segment)->Read(0);
  ASSERT_TRUE(snapshot.ok());
  EXPECT_EQ(std::strlen(snapshot->tasks.at(0).name), SGPRS_NAME_BYTES - 1u);
}

TEST(StateReaderTest, LeavesOutARowWhoseWriterDiedInIt) {
  Segment segment;
  segment.task(0)->state = SGPRS_TASK_SCHEDULED;
  segment.task(0)->seqcount = 7;  // odd: being written, for ever
  segment.task(1)->state = SGPRS_TASK_SCHEDULED;
  const Result<StateSnapshot> snapshot = Open(segment)->Read(0);
  ASSERT_TRUE(snapshot.ok());
  EXPECT_EQ(snapshot->tasks.size(), 1u);
  EXPECT_EQ(snapshot->torn_rows, 1u);
}

TEST(StateReaderTest, AHeaderThatIsNeverWholeIsAnError) {
  Segment segment;
  const auto reader = Open(segment);
  segment.header()->seqcount = 1;
  EXPECT_FALSE(reader->Read(0).ok());
}

TEST(StateReaderTest, RefusesOtherVersionsAndOtherFiles) {
  Segment segment;
  segment.header()->major = SGPRS_ABI_MAJOR + 1;
  EXPECT_THAT(Refusal(segment), HasSubstr("version"));
  segment.header()->magic = 1;
  EXPECT_THAT(Refusal(segment), HasSubstr("not a state segment"));
  const UniqueFd empty(memfd_create("empty", MFD_CLOEXEC));
  EXPECT_FALSE(StateReader::Open(UniqueFd(dup(empty.get()))).ok());
  EXPECT_FALSE(StateReader::Open(UniqueFd()).ok());
}

TEST(StateReaderTest, RefusesALayoutThatLeavesTheFile) {
  const auto refuses = [](auto change) {
    Segment segment;
    change(segment.header());
    Refusal(segment);
  };
  refuses([](SgprsStateHeader* h) { h->total_bytes += 4096; });
  refuses([](SgprsStateHeader* h) { h->task_rows += 1000; });
  refuses([](SgprsStateHeader* h) { h->tasks_offset = UINT64_MAX - 7; });
  refuses([](SgprsStateHeader* h) { h->tasks_offset += 4; });
  refuses([](SgprsStateHeader* h) { h->task_row_bytes = 8; });
  refuses([](SgprsStateHeader* h) { h->partition_rows = UINT32_MAX; });
}

// The writer of runtime/observe, in small: odd, words, even.
void WriteJobs(SgprsTaskRow* row, uint64_t value) {
  std::atomic_ref<uint32_t> seqcount(row->seqcount);
  const uint32_t before = seqcount.load(std::memory_order_relaxed);
  seqcount.store(before + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  for (uint64_t* word : {&row->counters.jobs_released, &row->counters.gpu_ns,
                         &row->reserved[std::size(row->reserved) - 1]}) {
    std::atomic_ref<uint64_t>(*word).store(value, std::memory_order_relaxed);
  }
  seqcount.store(before + 2, std::memory_order_release);
}

TEST(StateReaderTest, NeverReturnsHalfARowWhileItIsWritten) {
  Segment segment;
  segment.task(2)->state = SGPRS_TASK_SCHEDULED;
  const auto reader = Open(segment);
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (uint64_t value = 1; !stop.load(std::memory_order_relaxed); ++value) {
      WriteJobs(segment.task(2), value);
    }
  });
  uint64_t whole = 0;
  bool torn = false;
  for (int i = 0; i < 20'000; ++i) {
    const Result<StateSnapshot> snapshot = reader->Read(0);
    if (!snapshot.ok() || snapshot->tasks.empty()) continue;
    const SgprsTaskRow& row = snapshot->tasks[0];
    ++whole;
    torn = torn || row.counters.jobs_released != row.counters.gpu_ns ||
           row.counters.gpu_ns != row.reserved[std::size(row.reserved) - 1];
  }
  stop = true;
  writer.join();
  EXPECT_FALSE(torn);
  EXPECT_GT(whole, 0u);
}

}  // namespace
}  // namespace sgprs::cli
