// SPDX-License-Identifier: Apache-2.0
// A profile by signature: the scheduler takes it at the first job that has it, and no other.
#include <gtest/gtest.h>

#include "runtime/sched/learner.h"

namespace sgprs::sched {
namespace {

class LearnerBook : public testing::Test {
 protected:
  LearnerBook() {
    const TaskProfile profile = {.launches = known_,
                                 .stages = {{2, {{34, 500}, {68, 300}}}, {4, {{68, 700}}}}};
    book_[SignatureOf(known_)] = profile;
  }
  bool Close(Learner* learner, const std::vector<uint64_t>& launches) {
    return learner->JobClosed({.kind = learner->Plan(true), .generation = learner->generation()},
                              launches);
  }

  const std::vector<uint64_t> known_ = {3, 1, 4, 1};
  const std::vector<uint64_t> warm_up_ = {9, 9};
  const std::vector<uint32_t> sms_ = {34, 68};
  const SizeClasses sizes_{sms_};
  ProfileBook book_;
};

TEST_F(LearnerBook, OneJobIsEnough) {
  Learner learner({}, &sizes_, &book_);
  EXPECT_FALSE(Close(&learner, known_));
  EXPECT_EQ(learner.phase(), Learner::Phase::kScheduled);
  EXPECT_TRUE(learner.profiled());
  EXPECT_EQ(learner.signature(), SignatureOf(known_));
  EXPECT_EQ(learner.Ends(PlanKind::kStages).size(), 2u);
  const CostModel& costs = learner.costs(PlanKind::kStages);
  EXPECT_EQ(costs.MeasuredCost(0, 0), 500u);
  EXPECT_EQ(costs.MeasuredCost(1, 1), 700u);
  EXPECT_FALSE(costs.Measured(1, 0));
}

TEST_F(LearnerBook, FoundAfterAWarmUpThatIsAnother) {
  Learner learner({}, &sizes_, &book_);
  Close(&learner, warm_up_);
  EXPECT_EQ(learner.phase(), Learner::Phase::kChunks);
  EXPECT_TRUE(Close(&learner, known_)) << "it left the sequence of the warm-up";
  EXPECT_TRUE(learner.profiled());
}

TEST_F(LearnerBook, OtherSignaturesAreLearnt) {
  Learner learner({}, &sizes_, &book_);
  for (int i = 0; i < 3; ++i) Close(&learner, {3, 1, 4, 2});
  EXPECT_FALSE(learner.profiled());
  EXPECT_NE(learner.signature(), SignatureOf(known_));
}

TEST_F(LearnerBook, LeftForGoodIsLearntAnew) {
  Learner learner({.relearn_after = 2}, &sizes_, &book_);
  Close(&learner, known_);
  Close(&learner, warm_up_);
  Close(&learner, warm_up_);
  EXPECT_EQ(learner.phase(), Learner::Phase::kSequence);
  EXPECT_FALSE(learner.profiled());
  Close(&learner, known_);
  EXPECT_TRUE(learner.profiled());
}

TEST_F(LearnerBook, WhatWasLearntIsAProfile) {
  Learner learner({}, &sizes_, &book_);
  EXPECT_FALSE(learner.Learnt().has_value());
  Close(&learner, known_);
  const std::optional<TaskProfile> learnt = learner.Learnt();
  ASSERT_TRUE(learnt.has_value());
  ASSERT_EQ(learnt->stages.size(), 2u);
  EXPECT_EQ(learnt->stages[0].costs.size(), 2u);
  EXPECT_EQ(learnt->stages[1].end, 4u);
}

}  // namespace
}  // namespace sgprs::sched
