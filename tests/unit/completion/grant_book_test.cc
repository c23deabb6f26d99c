// SPDX-License-Identifier: Apache-2.0
#include "runtime/completion/grant_book.h"

#include <gtest/gtest.h>

#include "runtime/base/clock.h"
#include "tests/support/fake_shim.h"

namespace sgprs::completion {
namespace {

constexpr uint8_t kUuid[SGPRS_UUID_BYTES] = {};

sched::Grant MakeGrant(uint64_t job, uint32_t stage, uint64_t from, uint64_t upto) {
  return {.job = job, .stage = stage, .stage_count = 6, .from = from, .upto = upto, .partition = 2};
}

class GrantBookTest : public ::testing::Test {
 protected:
  GrantBookTest()
      : owner_(lane::LaneOwner::Create(1, kUuid).value()),
        shim_(owner_->header()),
        book_(owner_.get(), /*force_switch=*/false) {}

  GrantBook::Progress Take() {
    reports_.clear();
    EXPECT_TRUE(owner_->Observe().ok());
    auto progress = book_.TakeCompletions(NowNs(), &reports_);
    EXPECT_TRUE(progress.ok());
    return progress.ok() ? *progress : GrantBook::Progress{};
  }

  std::unique_ptr<lane::LaneOwner> owner_;
  sgprs::testing::FakeLane shim_;
  GrantBook book_;
  std::vector<sched::StageReport> reports_;
};

TEST_F(GrantBookTest, TranslatesBothWays) {
  shim_.RecordJob(5);
  shim_.RecordJob(20);  // job 2 begins at lane index 5
  book_.Add(MakeGrant(2, 1, 4, 10), 5, NowNs());
  const auto grant = shim_.TakeGrant();
  ASSERT_TRUE(grant.has_value());
  EXPECT_EQ(grant->from, 9u);
  EXPECT_EQ(grant->upto, 15u);
  EXPECT_EQ(grant->job, 2u);
  EXPECT_EQ(grant->partition, 2u);
  EXPECT_EQ(grant->flags, 0u);

  shim_.Complete(*grant, 12);
  EXPECT_EQ(Take().upto, 12u);
  ASSERT_EQ(reports_.size(), 1u);
  EXPECT_EQ(reports_[0].done, 7u);
  EXPECT_FALSE(reports_[0].whole);
  shim_.Complete(*grant, 15);
  Take();
  ASSERT_EQ(reports_.size(), 1u);
  EXPECT_EQ(reports_[0].stage, 1u);
  EXPECT_EQ(reports_[0].done, 10u);
  EXPECT_TRUE(reports_[0].whole);
  const auto ended = book_.TakeEnded();
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_NE(ended[0].first_issue_ns, 0u);
  shim_.Complete(*grant, 15);  // said twice: nothing new
  Take();
  EXPECT_TRUE(reports_.empty());
}

TEST_F(GrantBookTest, LastStageIsMarkedAndOpen) {
  shim_.RecordJob(3);
  book_.Add(MakeGrant(1, 5, 0, sched::kOpen), 0, NowNs());
  const auto grant = shim_.TakeGrant();
  ASSERT_TRUE(grant.has_value());
  EXPECT_EQ(grant->upto, SGPRS_GRANT_OPEN);
  EXPECT_EQ(grant->flags, SGPRS_GRANT_LAST_STAGE);
  shim_.Complete(*grant, 3);
  Take();
  EXPECT_FALSE(reports_[0].whole);
  EXPECT_TRUE(book_.TakeEnded().empty());
  book_.FinishJob(1, 77);
  book_.CloseJob(1, 78);
  const auto ended = book_.TakeEnded();
  ASSERT_EQ(ended.size(), 1u);  // once
  EXPECT_EQ(ended[0].complete_ns, 77u);
}

TEST_F(GrantBookTest, FullRingKeepsGrantsAndTheirOrder) {
  shim_.RecordJob(200);
  for (uint32_t i = 0; i < 100; ++i) book_.Add(MakeGrant(1, i, i, i + 1), 0, NowNs());
  EXPECT_EQ(book_.unpublished(), 100u - SGPRS_LANE_GRANTS);
  for (uint32_t i = 0; i < 100; ++i) {
    const auto grant = shim_.TakeGrant();
    ASSERT_TRUE(grant.has_value()) << i;
    EXPECT_EQ(grant->stage, i);
    book_.Publish(NowNs());
  }
  EXPECT_EQ(book_.unpublished(), 0u);
}

TEST_F(GrantBookTest, GrantsOfClosedJobsDoNotPileUp) {
  for (uint64_t job = 1; job <= 2 * SGPRS_LANE_GRANTS; ++job) {
    book_.Add(MakeGrant(job, 0, 0, 1), job - 1, NowNs());
  }
  ASSERT_EQ(book_.unpublished(), SGPRS_LANE_GRANTS);  // the issuer takes none
  book_.CloseJob(2 * SGPRS_LANE_GRANTS - 1, NowNs());
  EXPECT_EQ(book_.unpublished(), 1u);
  while (shim_.TakeGrant()) continue;
  book_.Publish(NowNs());
  EXPECT_EQ(shim_.TakeGrant()->job, 2 * SGPRS_LANE_GRANTS);
}

TEST_F(GrantBookTest, GrantedCursorEndsWhereTheJobDoes) {
  shim_.RecordJob(10);
  ASSERT_TRUE(owner_->Observe().ok());
  book_.Add(MakeGrant(1, 0, 0, 4), 0, NowNs());
  book_.MoveGranted(UINT64_MAX);
  EXPECT_EQ(shim_.granted(), 4u);
  book_.Add(MakeGrant(1, 1, 4, sched::kOpen), 0, NowNs());
  book_.MoveGranted(UINT64_MAX);
  EXPECT_EQ(shim_.granted(), 10u);
  shim_.RecordJob(10);
  ASSERT_TRUE(owner_->Observe().ok());
  book_.MoveGranted(/*job_end=*/10);  // the open grant does not reach into job 2
  EXPECT_EQ(shim_.granted(), 10u);
}

TEST_F(GrantBookTest, WorkWithoutAGrantIsReportedToTheGrantsItPassed) {
  shim_.RecordJob(10);
  book_.Add(MakeGrant(1, 0, 0, 4), 0, NowNs());
  shim_.CompleteSelf(7);
  EXPECT_EQ(Take().upto, 7u);
  ASSERT_EQ(reports_.size(), 1u);
  EXPECT_TRUE(reports_[0].whole);
  EXPECT_EQ(book_.self_completions(), 1u);
}

TEST_F(GrantBookTest, CursorsMakeUpForLostCompletions) {
  shim_.RecordJob(10);
  book_.Add(MakeGrant(1, 0, 0, 4), 0, NowNs());
  book_.Add(MakeGrant(1, 1, 4, sched::kOpen), 0, NowNs());
  shim_.CompleteSilently(6);
  EXPECT_EQ(Take().upto, 0u);
  EXPECT_TRUE(reports_.empty());
  EXPECT_EQ(book_.ReportFromCursors(NowNs(), &reports_).upto, 6u);
  ASSERT_EQ(reports_.size(), 2u);
  EXPECT_TRUE(reports_[0].whole);
  EXPECT_EQ(reports_[1].done, 6u);
  EXPECT_EQ(book_.ReportFromCursors(NowNs(), &reports_).upto, 0u);  // once
}

TEST_F(GrantBookTest, LaterCompletionEndsEarlierGrants) {
  shim_.RecordJob(10);
  book_.Add(MakeGrant(1, 0, 0, 4), 0, NowNs());
  book_.Add(MakeGrant(1, 1, 4, 8), 0, NowNs());
  shim_.TakeGrant();
  const auto second = shim_.TakeGrant();
  shim_.Complete(*second, 8);
  Take();
  ASSERT_EQ(reports_.size(), 2u);
  EXPECT_EQ(reports_[0].stage, 0u);
  EXPECT_TRUE(reports_[0].whole);
  EXPECT_TRUE(reports_[1].whole);
}

TEST_F(GrantBookTest, ImpossibleCompletionsAreErrors) {
  shim_.RecordJob(4);
  book_.Add(MakeGrant(1, 0, 0, 4), 0, NowNs());
  SgprsGrant grant = *shim_.TakeGrant();
  grant.sequence = 9;
  shim_.Complete(grant, 4);
  ASSERT_TRUE(owner_->Observe().ok());
  EXPECT_EQ(book_.TakeCompletions(NowNs(), &reports_).status().code(), ErrorCode::kInvalid);
}

TEST_F(GrantBookTest, CompletionBeyondWhatIsRecordedIsAnError) {
  shim_.RecordJob(4);
  book_.Add(MakeGrant(1, 0, 0, 9), 0, NowNs());
  const SgprsGrant grant = *shim_.TakeGrant();
  shim_.Complete(grant, 9);
  shim_.CompleteSilently(4);  // honest cursors
  ASSERT_TRUE(owner_->Observe().ok());
  EXPECT_EQ(book_.TakeCompletions(NowNs(), &reports_).status().code(), ErrorCode::kInvalid);
}

}  // namespace
}  // namespace sgprs::completion
