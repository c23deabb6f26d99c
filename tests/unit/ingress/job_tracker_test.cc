// SPDX-License-Identifier: Apache-2.0
#include "runtime/ingress/job_tracker.h"

#include <gtest/gtest.h>

#include "tests/support/fake_shim.h"

namespace sgprs::ingress {
namespace {

constexpr uint8_t kUuid[SGPRS_UUID_BYTES] = {};

class JobTrackerTest : public ::testing::Test {
 protected:
  JobTrackerTest()
      : owner_(lane::LaneOwner::Create(1, kUuid).value()),
        shim_(owner_->header()),
        tracker_(owner_.get()) {}

  Status Read(uint64_t now_ns = 1'000'000) {
    released_.clear();
    if (auto seen = owner_->Observe(); !seen.ok()) return seen.status();
    return tracker_.ReadSlots(now_ns, &released_);
  }

  std::unique_ptr<lane::LaneOwner> owner_;
  sgprs::testing::FakeLane shim_;
  JobTracker tracker_;
  std::vector<JobTracker::Release> released_;
};

TEST_F(JobTrackerTest, FindsJobsTheirEndsAndIdentities) {
  const uint32_t a = shim_.InternKernel("a");
  const uint32_t b = shim_.InternKernel("b");
  for (uint64_t job = 0; job < 2; ++job) {
    shim_.Record({.kernel = a, .job_first = true, .time_ns = 100 + job * 500});
    shim_.Record({.kernel = b, .time_ns = 200});
    shim_.Record({.kernel = a, .stream = 1, .time_ns = 300});
    shim_.Record({.kind = SGPRS_SLOT_COPY, .time_ns = 300});
  }
  ASSERT_TRUE(Read().ok());
  ASSERT_EQ(released_.size(), 2u);
  EXPECT_EQ(released_[0].job, 1u);
  EXPECT_EQ(released_[0].first_launch_ns, 100u);
  EXPECT_EQ(released_[1].first_launch_ns, 600u);
  EXPECT_EQ(tracker_.Find(1)->end, 4u);
  EXPECT_EQ(tracker_.Find(2)->first, 4u);
  EXPECT_EQ(tracker_.Find(2)->end, JobTracker::kUnknownEnd);

  EXPECT_FALSE(tracker_.TakeOver().has_value());  // not complete
  tracker_.NoteComplete(3, 800);
  EXPECT_FALSE(tracker_.TakeOver().has_value());
  tracker_.NoteComplete(5, 900);
  EXPECT_FALSE(tracker_.TakeOver(/*before=*/1).has_value());
  const auto job = tracker_.TakeOver();
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ(job->last_complete_ns, 900u);
  ASSERT_EQ(job->identities.size(), 4u);
  EXPECT_NE(job->identities[0], job->identities[1]);  // other kernel
  EXPECT_NE(job->identities[0], job->identities[2]);  // other stream
  EXPECT_EQ(tracker_.Find(1), nullptr);

  EXPECT_FALSE(tracker_.TakeLast().has_value());
  tracker_.NoteComplete(8, 950);
  const auto last = tracker_.TakeLast();
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(last->identities, job->identities);  // the same launches again
}

TEST_F(JobTrackerTest, TimesAreNeitherFutureNorBackwards) {
  shim_.Record({.job_first = true, .time_ns = UINT64_MAX});
  shim_.Record({.job_first = true, .time_ns = 1});
  ASSERT_TRUE(Read(5000).ok());
  EXPECT_EQ(released_[0].first_launch_ns, 5000u);
  EXPECT_EQ(released_[1].first_launch_ns, 5000u);
}

TEST_F(JobTrackerTest, LappedJobTeachesNothing) {
  shim_.Record({.job_first = true});
  ASSERT_TRUE(Read().ok());
  for (uint64_t i = 0; i < SGPRS_LANE_SLOTS + 100; ++i) {
    shim_.Record({});
    shim_.Issue(shim_.recorded());
  }
  ASSERT_TRUE(Read().ok());
  shim_.Record({.job_first = true});
  ASSERT_TRUE(Read().ok());
  ASSERT_EQ(released_.size(), 1u);
  const uint64_t end = SGPRS_LANE_SLOTS + 101;
  EXPECT_EQ(tracker_.Find(2)->first, end);
  tracker_.NoteComplete(end, 10);
  const auto job = tracker_.TakeOver();
  ASSERT_TRUE(job.has_value());
  EXPECT_TRUE(job->lost);
  EXPECT_TRUE(job->identities.empty());
}

TEST_F(JobTrackerTest, IdentitiesOfAnEndlessJobAreBounded) {
  shim_.Record({.job_first = true});
  for (uint64_t i = 0; i < JobTracker::kMostIdentities + 10; ++i) {
    shim_.Record({});
    shim_.Issue(shim_.recorded());
    if (i % 1000 == 0) {
      ASSERT_TRUE(Read().ok());
    }
  }
  ASSERT_TRUE(Read().ok());
  EXPECT_TRUE(tracker_.Find(1)->lost);
  EXPECT_EQ(tracker_.Find(1)->identities.size(), JobTracker::kMostIdentities);
}

TEST_F(JobTrackerTest, IdentitiesOfAllOpenJobsAreBounded) {
  constexpr uint64_t kLaunches = 4096;
  constexpr uint64_t kMost = 4 * JobTracker::kMostIdentities;
  const uint64_t fits = kMost / kLaunches;
  for (uint64_t job = 0; job < fits + 8; ++job) {  // issued, never complete
    shim_.RecordJob(kLaunches);
    shim_.Issue(shim_.recorded());
    ASSERT_TRUE(Read().ok());
  }
  size_t kept = 0;
  for (uint64_t job = 1; job <= fits + 8; ++job) {
    kept += tracker_.Find(job)->identities.size();
    EXPECT_EQ(tracker_.Find(job)->lost, job > fits) << job;
  }
  EXPECT_EQ(kept, kMost);
  // Room comes back with the jobs that are over.
  shim_.CompleteSilently(shim_.recorded());
  tracker_.NoteComplete(shim_.recorded(), 900);
  while (tracker_.TakeOver()) continue;
  shim_.RecordJob(kLaunches);
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(tracker_.Find(fits + 9)->identities.size(), kLaunches);
}

TEST_F(JobTrackerTest, JobWithoutItsFirstSlotBeginsWhereItIsSeen) {
  shim_.Record({.job = 41});
  shim_.Record({.job = 42});
  ASSERT_TRUE(Read().ok());
  ASSERT_EQ(released_.size(), 2u);
  EXPECT_EQ(released_[1].job, 42u);
}

TEST_F(JobTrackerTest, MalformedSlotsAreErrors) {
  const std::vector<sgprs::testing::FakeLane::Launch> bad = {
      {.kind = SGPRS_SLOT_KIND_COUNT, .job_first = true},
      {.kind = SGPRS_SLOT_NONE, .job_first = true},
      {.kernel = 5, .job_first = true},  // nothing is interned
      {.job_first = false},              // job 0
  };
  for (const auto& launch : bad) {
    auto owner = lane::LaneOwner::Create(1, kUuid).value();
    sgprs::testing::FakeLane shim(owner->header());
    JobTracker tracker(owner.get());
    shim.Record(launch);
    ASSERT_TRUE(owner->Observe().ok());
    const Status read = tracker.ReadSlots(1, &released_);
    EXPECT_EQ(read.code(), ErrorCode::kInvalid);
  }
  shim_.Record({.job_first = true, .job = 9});
  shim_.Record({.job = 8});
  EXPECT_EQ(Read().code(), ErrorCode::kInvalid);
}

TEST_F(JobTrackerTest, JobThatBeginsTwiceIsAnError) {
  shim_.Record({.job_first = true, .job = 9});
  shim_.Record({.job_first = true, .job = 9});
  EXPECT_EQ(Read().code(), ErrorCode::kInvalid);
}

}  // namespace
}  // namespace sgprs::ingress
