// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/learner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sgprs::sched {
namespace {

using ::testing::ElementsAre;

class LearnerTest : public ::testing::Test {
 protected:
  static std::vector<uint64_t> Sequence(uint64_t length, uint64_t kind) {
    std::vector<uint64_t> launches(length);
    for (uint64_t i = 0; i < length; ++i) launches[i] = kind * 1000 + i;
    return launches;
  }
  // A job as the scheduler would run it now; every stage takes `ns`.
  bool Run(const std::vector<uint64_t>& launches, uint64_t ns = 1000) {
    JobRecord record{.kind = learner_.Plan(true), .generation = learner_.generation()};
    for (uint32_t i = 0; i < learner_.Ends(record.kind).size(); ++i) {
      record.samples.push_back({i, 0, ns});
    }
    return learner_.JobClosed(record, launches);
  }

  const uint32_t sm_counts_[2] = {34, 68};
  const SizeClasses sizes_{sm_counts_};
  Learner learner_{{.stages = 3, .learning_jobs = 2, .learning_chunks = 6, .relearn_after = 3},
                   &sizes_};
};

TEST_F(LearnerTest, SequenceThenChunksThenStages) {
  const std::vector<uint64_t> job = Sequence(12, 1);
  EXPECT_EQ(learner_.Plan(true), PlanKind::kOpen);
  EXPECT_EQ(learner_.length(), 0u);
  EXPECT_FALSE(Run(job));
  EXPECT_EQ(learner_.Plan(true), PlanKind::kChunks);
  EXPECT_EQ(learner_.Plan(false), PlanKind::kWhole);
  EXPECT_THAT(learner_.Ends(PlanKind::kChunks), ElementsAre(2u, 4u, 6u, 8u, 10u, 12u));
  EXPECT_FALSE(Run(job));
  EXPECT_EQ(learner_.Plan(true), PlanKind::kChunks);
  EXPECT_FALSE(Run(job));
  EXPECT_EQ(learner_.Plan(true), PlanKind::kStages);
  EXPECT_THAT(learner_.Ends(PlanKind::kStages), ElementsAre(4u, 8u, 12u));
  EXPECT_NEAR(static_cast<double>(learner_.costs(PlanKind::kStages).Costs(0)[0]), 2000, 2)
      << "two chunks of 1000";
}

TEST_F(LearnerTest, ShortJobsGetFewerStages) {
  Learner learner({.stages = 3, .learning_jobs = 1, .learning_chunks = 6, .min_stage_ns = 2500},
                  &sizes_);
  const std::vector<uint64_t> job = Sequence(12, 1);
  learner.JobClosed({}, job);
  JobRecord record{.kind = PlanKind::kChunks, .generation = learner.generation()};
  for (uint32_t i = 0; i < 6; ++i) record.samples.push_back({i, 1, 1000});
  learner.JobClosed(record, job);
  EXPECT_THAT(learner.Ends(PlanKind::kStages), ElementsAre(6u, 12u));
}

TEST_F(LearnerTest, AnUnevenStartIsForgotten) {
  EXPECT_FALSE(Run(Sequence(40, 9)));  // a first job that warms up
  EXPECT_TRUE(Run(Sequence(12, 1)));
  EXPECT_EQ(learner_.length(), 12u);
  Run(Sequence(12, 1));
  Run(Sequence(12, 1));
  EXPECT_EQ(learner_.phase(), Learner::Phase::kScheduled);
}

TEST_F(LearnerTest, LearnsAnewAfterJobsInARowOffTheSequence) {
  for (int i = 0; i < 3; ++i) Run(Sequence(12, 1));
  EXPECT_TRUE(Run(Sequence(12, 2)));
  EXPECT_TRUE(Run(Sequence(13, 1)));
  EXPECT_FALSE(Run(Sequence(12, 1)));  // breaks the row
  EXPECT_TRUE(Run(Sequence(12, 2)));
  EXPECT_TRUE(Run(Sequence(12, 2)));
  EXPECT_EQ(learner_.phase(), Learner::Phase::kScheduled);
  EXPECT_TRUE(Run(Sequence(12, 2)));
  EXPECT_EQ(learner_.phase(), Learner::Phase::kSequence);
}

TEST_F(LearnerTest, UnsteadyTaskStaysOpenUntilTwoJobsAgree) {
  for (uint64_t i = 0; i < 30; ++i) Run(Sequence(10 + i % 7, i));
  EXPECT_EQ(learner_.Plan(true), PlanKind::kOpen);
  Run(Sequence(12, 1));
  EXPECT_EQ(learner_.Plan(true), PlanKind::kOpen);
  Run(Sequence(12, 1));
  EXPECT_EQ(learner_.Plan(true), PlanKind::kChunks);
}

TEST_F(LearnerTest, LostSequencesTeachNothing) {
  EXPECT_FALSE(learner_.JobClosed({}, {}));
  EXPECT_EQ(learner_.phase(), Learner::Phase::kSequence);
  for (int i = 0; i < 3; ++i) Run(Sequence(12, 1));
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(Run({}));
  EXPECT_EQ(learner_.phase(), Learner::Phase::kScheduled);
}

TEST_F(LearnerTest, MeasurementsOfAnOlderPlanAreNotUsed) {
  for (int i = 0; i < 3; ++i) Run(Sequence(12, 1));
  const JobRecord stale{.kind = PlanKind::kStages,
                        .generation = learner_.generation() - 1,
                        .samples = {{0, 0, 99'000'000}}};
  EXPECT_FALSE(learner_.JobClosed(stale, Sequence(12, 1)));
  EXPECT_LT(learner_.costs(PlanKind::kStages).Costs(0)[0], 99'000'000u);
  EXPECT_TRUE(Run(Sequence(5, 1), 99'000'000));
  EXPECT_LT(learner_.costs(PlanKind::kStages).Costs(0)[0], 99'000'000u) << "off the sequence";
}

}  // namespace
}  // namespace sgprs::sched
