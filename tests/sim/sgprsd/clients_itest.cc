// SPDX-License-Identifier: Apache-2.0
// Clients that behave: registration, jobs, learning, cursors, many at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "tests/sim/sgprsd/sgprsd_process.h"
#include "tests/support/fake_shim.h"

namespace sgprs::testing {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kPeriodNs = 5 * kNsPerMs;

TEST(SgprsdClients, JobsFlowAndCursorsMeet) {
  SgprsdProcess daemon({"--policy", "sgprs"});
  ASSERT_TRUE(daemon.ready()) << daemon.stderr_text();
  FakeShim shim;
  const Status registered = shim.Register(daemon.socket(), MakeHello("one", kPeriodNs));
  ASSERT_TRUE(registered.ok()) << registered.text();
  EXPECT_EQ(shim.welcome().partition_count, 3u);
  EXPECT_EQ(shim.welcome().partitions[0].sm_count, 34u);
  EXPECT_EQ(shim.welcome().backend_wanted, static_cast<uint32_t>(SGPRS_BACKEND_GREEN));

  FakeLane* lane = shim.lane();
  for (int i = 0; i < 8; ++i) lane->InternKernel("kernel" + std::to_string(i));
  constexpr int kJobs = 12;
  for (int job = 0; job < kJobs; ++job) {
    lane->RecordJob(60);
    ASSERT_TRUE(lane->RunUntilComplete()) << "job " << job;
    usleep(2000);
  }
  FakeTool tool;
  ASSERT_TRUE(tool.Connect(daemon.socket()).ok());
  const auto row = tool.WaitForTask("one", SGPRS_TASK_SCHEDULED);
  ASSERT_TRUE(row.has_value()) << daemon.stderr_text();
  EXPECT_EQ(row->pid, static_cast<uint32_t>(getpid()));
  EXPECT_EQ(row->job_launches, 60u);
  EXPECT_EQ(row->counters.jobs_released, static_cast<uint64_t>(kJobs));
  EXPECT_EQ(lane->header()->settings.job_launches, 60u);

  shim.Close();
  const auto gone = tool.WaitForTask("one", SGPRS_TASK_GONE);
  ASSERT_TRUE(gone.has_value());
  EXPECT_EQ(gone->counters.recorded, static_cast<uint64_t>(kJobs) * 60);
  EXPECT_EQ(gone->counters.granted, gone->counters.recorded);
  EXPECT_EQ(gone->counters.issued, gone->counters.recorded);
  EXPECT_EQ(gone->counters.completed, gone->counters.recorded);
  EXPECT_EQ(gone->counters.jobs_completed, static_cast<uint64_t>(kJobs));
  EXPECT_EQ(gone->counters.jobs_on_time + gone->counters.jobs_missed,
            gone->counters.jobs_completed);
  EXPECT_EQ(tool.Header()->clients, 0u);
}

TEST(SgprsdClients, GrantsAreContiguousInProgramOrder) {
  SgprsdProcess daemon;
  FakeShim shim;
  ASSERT_TRUE(shim.Register(daemon.socket(), MakeHello("order", kPeriodNs)).ok());
  FakeLane* lane = shim.lane();
  for (int job = 0; job < 10; ++job) {
    lane->RecordJob(40);
    ASSERT_TRUE(lane->RunUntilComplete());
  }
  ASSERT_FALSE(lane->grants().empty());
  EXPECT_EQ(lane->grants().front().from, 0u);
  for (size_t i = 1; i < lane->grants().size(); ++i) {
    const SgprsGrant& before = lane->grants()[i - 1];
    const SgprsGrant& grant = lane->grants()[i];
    EXPECT_EQ(grant.sequence, before.sequence + 1);
    EXPECT_LT(grant.partition, shim.welcome().partition_count);
    const bool next_job = grant.job == before.job + 1;
    EXPECT_EQ(grant.from, next_job ? uint64_t{grant.job - 1} * 40 : before.upto) << i;
  }
}

// The border of a job is a round trip; work recorded far ahead must still flow to its end.
TEST(SgprsdClients, JobsRecordedAheadAllComplete) {
  SgprsdProcess daemon;
  FakeShim shim;
  ASSERT_TRUE(shim.Register(daemon.socket(), MakeHello("ahead")).ok());
  FakeLane* lane = shim.lane();
  for (int job = 0; job < 50; ++job) lane->RecordJob(20);
  ASSERT_TRUE(lane->RunUntilComplete());
  FakeTool tool;
  ASSERT_TRUE(tool.Connect(daemon.socket()).ok());
  shim.Close();
  const auto gone = tool.WaitForTask("ahead", SGPRS_TASK_GONE);
  ASSERT_TRUE(gone.has_value());
  EXPECT_EQ(gone->counters.granted, 1000u);
  EXPECT_EQ(gone->counters.jobs_completed, 50u);
}

// The ring is lapped while the runtime is not woken: one endless job under open grants.
TEST(SgprsdClients, EndlessJobOutrunsTheRing) {
  SgprsdProcess daemon;
  FakeShim shim;
  ASSERT_TRUE(shim.Register(daemon.socket(), MakeHello("endless")).ok());
  FakeLane* lane = shim.lane();
  lane->RecordJob(1000);
  ASSERT_TRUE(lane->RunUntilComplete());
  for (int i = 0; i < 30; ++i) {
    for (int j = 0; j < 1000; ++j) lane->Record({});
    ASSERT_TRUE(lane->RunUntilComplete()) << i;
  }
  FakeTool tool;
  ASSERT_TRUE(tool.Connect(daemon.socket()).ok());
  shim.Close();
  const auto gone = tool.WaitForTask("endless", SGPRS_TASK_GONE);
  ASSERT_TRUE(gone.has_value());
  EXPECT_EQ(gone->counters.completed, 31'000u);
  EXPECT_EQ(gone->counters.granted, 31'000u);
}

// Work done without grants, and completions without entries, are made up for from the cursors.
TEST(SgprsdClients, LostCompletionsAreMadeUpFor) {
  SgprsdProcess daemon;
  FakeShim shim;
  ASSERT_TRUE(shim.Register(daemon.socket(), MakeHello("lost")).ok());
  FakeLane* lane = shim.lane();
  lane->RecordJob(12);
  const uint64_t limit_ns = NowNs() + 20 * kNsPerSecond;
  uint64_t completed = 0;
  while (completed < 12 && NowNs() < limit_ns) {
    const auto grant = lane->TakeGrant();
    if (!grant) {
      usleep(1000);
      continue;
    }
    completed = std::min<uint64_t>(grant->upto, 12);
    lane->CompleteSilently(completed);
  }
  EXPECT_EQ(completed, 12u);
  lane->RecordJob(12);
  lane->CompleteSelf(24);
  lane->RecordJob(12);  // granted as if nothing had been
  EXPECT_TRUE(lane->RunUntilComplete());
}

TEST(SgprsdClients, HeartbeatGoesOn) {
  SgprsdProcess daemon;
  FakeShim shim;
  ASSERT_TRUE(shim.Register(daemon.socket(), MakeHello("alive")).ok());
  const uint64_t first = shim.lane()->header()->settings.alive_ns;
  EXPECT_NE(first, 0u);
  const uint64_t limit_ns = NowNs() + 10 * kNsPerSecond;
  while (shim.lane()->header()->settings.alive_ns == first && NowNs() < limit_ns) usleep(10000);
  EXPECT_GT(shim.lane()->header()->settings.alive_ns, first);
}

TEST(SgprsdClients, B35ManyAtOnce) {
  constexpr size_t kClients = 256;
  SgprsdProcess daemon;
  std::vector<FakeShim> shims(kClients);
  const uint64_t begin_ns = NowNs();
  for (size_t i = 0; i < kClients; ++i) {
    ASSERT_TRUE(shims[i].Connect(daemon.socket()).ok()) << i;
    ASSERT_TRUE(shims[i].Send(MakeHello("many" + std::to_string(i))));
  }
  for (FakeShim& shim : shims) {
    const Status welcome = shim.ReceiveWelcome();
    ASSERT_TRUE(welcome.ok()) << welcome.text();
    ASSERT_TRUE(shim.SendReady());
  }
  RecordProperty("registered_us", static_cast<int>((NowNs() - begin_ns) / 1000));
  for (FakeShim& shim : shims) shim.lane()->RecordJob(5);
  // Any of them may be granted first, and keeps its slot until it has run.
  size_t complete = 0;
  for (const uint64_t limit_ns = NowNs() + 20 * kNsPerSecond; complete < kClients;) {
    complete = 0;
    for (FakeShim& shim : shims) complete += shim.lane()->RunUntilComplete(0) ? 1 : 0;
    ASSERT_LT(NowNs(), limit_ns) << complete;
  }
  FakeTool tool;
  ASSERT_TRUE(tool.Connect(daemon.socket()).ok());
  EXPECT_EQ(tool.Header()->clients, kClients);
}

TEST(SgprsdClients, RefusedWhenFull) {
  SgprsdProcess daemon({"--check"});  // only for its directory
  const std::string config = daemon.directory() + "/sgprsd.toml";
  FILE* file = fopen(config.c_str(), "w");
  fputs("[limits]\nmax_clients = 1\n", file);
  fclose(file);
  daemon.WaitForEnd();
  daemon.Start({"--config", config});
  ASSERT_TRUE(daemon.ready()) << daemon.stderr_text();
  FakeShim first;
  ASSERT_TRUE(first.Register(daemon.socket(), MakeHello("first")).ok());
  FakeShim second;
  const Status refused = second.Register(daemon.socket(), MakeHello("second"));
  EXPECT_EQ(refused.code(), ErrorCode::kRefused);
  EXPECT_THAT(refused.text(), HasSubstr("max_clients"));
  first.Close();
  FakeTool tool;
  ASSERT_TRUE(tool.Connect(daemon.socket()).ok());
  ASSERT_TRUE(tool.WaitForTask("first", SGPRS_TASK_GONE).has_value());
  FakeShim third;
  EXPECT_TRUE(third.Register(daemon.socket(), MakeHello("third")).ok());
}

TEST(SgprsdClients, OtherDeviceIsRefusedWhileOneIsInUse) {
  SgprsdProcess daemon;
  FakeShim first;
  ASSERT_TRUE(first.Register(daemon.socket(), MakeHello("first")).ok());
  SgprsHello hello = MakeHello("other");
  hello.sm_count = 132;
  FakeShim second;
  const Status refused = second.Register(daemon.socket(), hello);
  EXPECT_EQ(refused.code(), ErrorCode::kRefused);
  EXPECT_THAT(refused.text(), HasSubstr("68 SMs"));
  first.Close();
  FakeTool tool;
  ASSERT_TRUE(tool.Connect(daemon.socket()).ok());
  ASSERT_TRUE(tool.WaitForTask("first", SGPRS_TASK_GONE).has_value());
  FakeShim third;
  ASSERT_TRUE(third.Register(daemon.socket(), hello).ok());
  EXPECT_EQ(third.welcome().partitions[0].sm_count, 66u);
}

}  // namespace
}  // namespace sgprs::testing
