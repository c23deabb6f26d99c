// SPDX-License-Identifier: Apache-2.0
#include "runtime/recorder/job_recorder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "runtime/observe/job_log_reader.h"

namespace sgprs::recorder {
namespace {

constexpr uint64_t kMs = 1'000'000;

class FakeProbes : public kernel::Probes {
 public:
  kernel::ProbeLevel level() const override { return kernel::ProbeLevel::kRoot; }
  const std::string& why() const override { return why_; }
  Status Register(int, uint64_t) override {
    ++registered;
    return Status::Ok();
  }
  void Unregister(int) override { --registered; }
  int ring_fd() const override { return -1; }
  size_t Drain(const std::function<void(const SgprsWakeRecord&)>& handler, size_t) override {
    const std::vector<SgprsWakeRecord> records = std::exchange(ring, {});
    for (const SgprsWakeRecord& record : records) handler(record);
    return records.size();
  }
  kernel::ProbeCounts Counts() const override { return {}; }
  uint64_t RunTimeNs() const override { return 0; }

  std::vector<SgprsWakeRecord> ring;
  int registered = 0;

 private:
  std::string why_;
};

class JobRecorderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "sgprs-recorder-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
    Result<std::unique_ptr<observe::JobLog>> log =
        observe::JobLog::Open({.directory = directory_, .total_bytes = 2 << 20, .files = 2}, {});
    ASSERT_TRUE(log.ok());
    recorder_ = std::make_unique<JobRecorder>(&probes_, std::move(*log));
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  void Add(uint64_t id, SgprsReleaseRule rule = SGPRS_RELEASE_TIMER) {
    JobRecorder::Task task;
    task.client_id = id;
    task.name = "task" + std::to_string(id);
    task.period_ns = 10 * kMs;
    task.rule = rule;
    task.pidfd.reset(dup(0));
    ASSERT_TRUE(recorder_->Add(std::move(task)).ok());
  }
  SgprsWakeRecord Wake(uint64_t id, uint32_t sequence, uint64_t due_ns) {
    SgprsWakeRecord r = {};
    r.client_id = id;
    r.tid = static_cast<uint32_t>(id);
    r.sequence = sequence;
    r.wait = SGPRS_WAIT_TIMER;
    r.flags = SGPRS_WAKE_TIMER;
    r.sleep_ns = due_ns - kMs;
    r.due_ns = due_ns;
    r.expire_ns = due_ns + 60'000;
    r.wakeup_ns = due_ns + 61'000;
    r.on_cpu_ns = due_ns + 90'000;
    r.exit_ns = due_ns + 95'000;
    return r;
  }
  void Stage(uint64_t id, uint64_t job, uint32_t partition, uint64_t granted, uint64_t issued,
             uint64_t complete, uint64_t virtual_deadline = UINT64_MAX) {
    completion::StageRecord stage;
    stage.grant.job = job;
    stage.grant.partition = partition;
    stage.grant.virtual_deadline_ns = virtual_deadline;
    stage.granted_ns = granted;
    stage.first_issue_ns = issued;
    stage.complete_ns = complete;
    stage.gpu_ns = complete - issued;
    recorder_->StageEnded(id, stage);
  }
  void Finish(uint64_t id, uint64_t job, uint64_t release, uint64_t complete,
              uint64_t held_periods = 0) {
    sched::FinishedJob finished;
    finished.job = job;
    finished.release_ns = release;
    finished.deadline_ns = release + 10 * kMs;
    finished.complete_ns = complete;
    finished.on_time = complete <= finished.deadline_ns;
    finished.held_periods = held_periods;
    recorder_->Finished(id, finished, complete);
  }
  std::vector<observe::LoggedJob> Logged() {
    recorder_->log()->Flush();
    std::vector<observe::LoggedJob> jobs;
    Result<std::unique_ptr<observe::JobLogReader>> reader = observe::JobLogReader::Open(directory_);
    if (!reader.ok()) return jobs;
    while (std::optional<observe::LoggedJob> job = *(*reader)->Next()) jobs.push_back(*job);
    return jobs;
  }

  FakeProbes probes_;
  std::string directory_;
  std::unique_ptr<JobRecorder> recorder_;
};

TEST_F(JobRecorderTest, AJobFromItsTimerToItsDeadline) {
  Add(1);
  probes_.ring = {Wake(1, 1, 100 * kMs)};
  const JobRecorder::Release release = recorder_->Released(1, 1, 103 * kMs);
  EXPECT_EQ(release.release_ns, 100 * kMs);
  EXPECT_TRUE(release.exact);
  Stage(1, 1, 2, 103 * kMs + 1000, 103 * kMs + 5000, 104 * kMs, 105 * kMs);
  Stage(1, 1, 3, 104 * kMs, 104 * kMs + 2000, 106 * kMs, 105 * kMs);
  Finish(1, 1, 100 * kMs, 106 * kMs);
  EXPECT_TRUE(Logged().empty());  // waits for what its thread did
  SgprsWakeRecord next = Wake(1, 2, 110 * kMs);
  next.run_ns = 2 * kMs;
  next.stopped_ns = kMs;
  next.preempt_ns = 300'000;
  next.preempt_tid = 99;
  std::strcpy(next.preempt_comm, "hog");
  probes_.ring = {next};
  recorder_->Tick(111 * kMs);
  const std::vector<observe::LoggedJob> jobs = Logged();
  ASSERT_EQ(jobs.size(), 1u);
  const SgprsLogJob& job = jobs[0].job;
  EXPECT_EQ(job.due_ns, 100 * kMs);
  EXPECT_EQ(job.wait_exit_ns, 100 * kMs + 95'000);
  EXPECT_EQ(job.first_launch_ns, 103 * kMs);
  EXPECT_EQ(job.first_grant_ns, 103 * kMs + 1000);
  EXPECT_EQ(job.first_issue_ns, 103 * kMs + 5000);
  EXPECT_EQ(job.release_rule, SGPRS_RELEASE_TIMER);
  EXPECT_EQ(job.flags, SGPRS_LOG_STAMPS | SGPRS_LOG_ACTIVITY | SGPRS_LOG_PREEMPTED);
  EXPECT_EQ(job.stopped_ns, kMs);
  EXPECT_STREQ(job.culprit_comm, "hog");
  EXPECT_EQ(job.culprit_tid, 99u);
  EXPECT_EQ(job.held_by, SGPRS_HELD_NOTHING);
  ASSERT_EQ(jobs[0].stages.size(), 2u);
  EXPECT_EQ(jobs[0].stages[0].flags, SGPRS_LOG_STAGE_VIRTUAL_MET);
  EXPECT_EQ(jobs[0].stages[1].flags, 0);
  EXPECT_EQ(jobs[0].stages[1].gpu_start_ns, 104 * kMs + 2000);
  EXPECT_EQ(recorder_->Phases(1)->of(observe::JobPhase::k_user).count(), 1u);
}

TEST_F(JobRecorderTest, PatienceEndsSoThatNoRecordIsLost) {
  Add(1);
  probes_.ring = {Wake(1, 1, 100 * kMs)};
  recorder_->Released(1, 1, 103 * kMs);
  Finish(1, 1, 100 * kMs, 106 * kMs);
  recorder_->Tick(200 * kMs);
  EXPECT_TRUE(Logged().empty());
  recorder_->Tick(106 * kMs + JobRecorder::kPatienceNs);
  const std::vector<observe::LoggedJob> jobs = Logged();
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].job.flags & SGPRS_LOG_ACTIVITY, 0);
}

TEST_F(JobRecorderTest, WithoutStampsARecordIsWrittenAtOnce) {
  Add(1, SGPRS_RELEASE_FIRST_LAUNCH);
  EXPECT_EQ(recorder_->Released(1, 1, 103 * kMs).release_ns, 103 * kMs);
  Finish(1, 1, 103 * kMs, 106 * kMs);
  const std::vector<observe::LoggedJob> jobs = Logged();
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].job.flags, 0);
  EXPECT_EQ(jobs[0].job.due_ns, 0u);
}

TEST_F(JobRecorderTest, AnExactReleaseIsOneThatWasAskedForAndFound) {
  Add(1, SGPRS_RELEASE_TIMER);
  Add(2, SGPRS_RELEASE_FIRST_LAUNCH);
  Add(3, SGPRS_RELEASE_GRID);
  for (uint64_t id = 1; id <= 3; ++id) {
    const JobRecorder::Release release = recorder_->Released(id, 1, 103 * kMs);
    EXPECT_EQ(release.release_ns, 103 * kMs);
    EXPECT_EQ(release.exact, id == 2) << id;  // the timer was not seen; the grid is not ours
  }
}

TEST_F(JobRecorderTest, WhoWasInThePartitionIsNamed) {
  Add(1, SGPRS_RELEASE_FIRST_LAUNCH);
  Add(2, SGPRS_RELEASE_FIRST_LAUNCH);
  Add(3, SGPRS_RELEASE_FIRST_LAUNCH);
  recorder_->Released(1, 1, 100 * kMs);
  Stage(2, 1, 0, 95 * kMs, 95 * kMs, 104 * kMs);  // in the way for 4 ms
  Stage(3, 1, 0, 99 * kMs, 99 * kMs, 101 * kMs);  // for 1
  Stage(3, 2, 1, 90 * kMs, 90 * kMs, 120 * kMs);  // in another partition
  Stage(1, 1, 0, 104 * kMs, 104 * kMs, 105 * kMs);
  Finish(1, 1, 100 * kMs, 105 * kMs);
  const std::vector<observe::LoggedJob> jobs = Logged();
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].job.held_by, SGPRS_HELD_PARTITION);
  EXPECT_EQ(jobs[0].job.held_ns, 4 * kMs);
  EXPECT_EQ(jobs[0].job.held_client, 2u);
  EXPECT_EQ(jobs[0].stages[0].occupant_id, 2u);
}

TEST_F(JobRecorderTest, WhatHeldAJobIsTheLongestWait) {
  Add(1, SGPRS_RELEASE_FIRST_LAUNCH);
  recorder_->Released(1, 1, 100 * kMs);
  Stage(1, 1, 0, 100 * kMs, 100 * kMs, 115 * kMs);
  Finish(1, 1, 100 * kMs, 115 * kMs);
  recorder_->Released(1, 2, 110 * kMs);  // while job 1 runs
  Stage(1, 2, 0, 116 * kMs, 116 * kMs, 117 * kMs);
  Finish(1, 2, 110 * kMs, 117 * kMs);
  recorder_->Released(1, 3, 120 * kMs);
  Stage(1, 3, 0, 130 * kMs, 130 * kMs, 131 * kMs);
  Finish(1, 3, 130 * kMs, 131 * kMs, 1);  // the gate made it the next period's
  recorder_->Released(1, 4, 140 * kMs);
  Stage(1, 4, 0, 140 * kMs, 143 * kMs, 144 * kMs);
  Finish(1, 4, 140 * kMs, 144 * kMs);
  recorder_->Released(1, 5, 150 * kMs);
  Stage(1, 5, 0, 152 * kMs, 152 * kMs, 153 * kMs);  // nobody was in its partition
  Finish(1, 5, 150 * kMs, 153 * kMs);
  const std::vector<observe::LoggedJob> jobs = Logged();
  ASSERT_EQ(jobs.size(), 5u);
  EXPECT_EQ(jobs[4].job.held_by, SGPRS_HELD_RUNTIME);
  EXPECT_EQ(jobs[4].job.held_ns, 2 * kMs);
  EXPECT_EQ(jobs[0].job.held_by, SGPRS_HELD_NOTHING);
  EXPECT_EQ(jobs[0].job.flags & SGPRS_LOG_MISSED, SGPRS_LOG_MISSED);
  EXPECT_EQ(jobs[1].job.held_by, SGPRS_HELD_OWN_JOB);
  EXPECT_EQ(jobs[1].job.held_ns, 5 * kMs);
  EXPECT_EQ(jobs[2].job.held_by, SGPRS_HELD_GATE);
  EXPECT_EQ(jobs[2].job.held_ns, 10 * kMs);
  EXPECT_EQ(jobs[3].job.held_by, SGPRS_HELD_ISSUER);
  EXPECT_EQ(jobs[3].job.held_ns, 3 * kMs);
}

TEST_F(JobRecorderTest, WhatWaitsIsWrittenWhenItsClientGoes) {
  Add(1);
  EXPECT_EQ(probes_.registered, 1);
  probes_.ring = {Wake(1, 1, 100 * kMs)};
  recorder_->Released(1, 1, 103 * kMs);
  Finish(1, 1, 100 * kMs, 106 * kMs);
  recorder_->Remove(1, 107 * kMs);
  EXPECT_EQ(Logged().size(), 1u);
  EXPECT_EQ(probes_.registered, 0);
  EXPECT_EQ(recorder_->Phases(1), nullptr);
  EXPECT_EQ(recorder_->WakeTotals().complete, 1u);
  // Late words about it do no harm.
  probes_.ring = {Wake(1, 2, 110 * kMs)};
  recorder_->Tick(111 * kMs);
  Stage(1, 1, 0, 1, 2, 3);
  Finish(1, 2, 1, 2);
  EXPECT_EQ(recorder_->Released(1, 3, 7).release_ns, 7u);
}

// A client may release jobs without end that never finish.
TEST_F(JobRecorderTest, JobsThatNeverFinishTakeNoMemory) {
  Add(1);
  for (uint64_t job = 1; job <= 5000; ++job) {
    recorder_->Released(1, job, job * kMs);
    Stage(1, job, 0, job * kMs, job * kMs, job * kMs + 1);
  }
  Finish(1, 5000, 5000 * kMs, 5001 * kMs);
  recorder_->Tick(5001 * kMs + JobRecorder::kPatienceNs);
  ASSERT_EQ(Logged().size(), 1u);
  EXPECT_EQ(Logged()[0].stages.size(), 1u);
}

}  // namespace
}  // namespace sgprs::recorder
