// SPDX-License-Identifier: Apache-2.0
// One scenario twice: in virtual time, and by the real sgprsd with fake shims that complete in the
// order in which virtual time does. The grants must be the same, from the first learning job on.
//
// Two tasks, six jobs of 48 equal launches each, the second a moment behind the first; deadlines
// far away, so that no decision depends on how fast this machine is.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/model/virtual_run.h"
#include "tests/sim/sgprsd/sgprsd_process.h"
#include "tests/support/fake_shim.h"

namespace sgprs::model {
namespace {

using testing::FakeLane;
using testing::FakeShim;

constexpr uint64_t kJobs = 6;
constexpr uint64_t kLaunches = 48;
constexpr uint64_t kPeriodNs = 60 * kNsPerSecond;
constexpr uint64_t kGiveUpNs = 20 * kNsPerSecond;

// A grant of one task, times aside.
std::string Text(uint64_t job, uint32_t stage, uint64_t from, uint64_t upto, uint32_t partition,
                 uint32_t level) {
  return "job " + std::to_string(job) + " stage " + std::to_string(stage) + " [" +
         std::to_string(from) + ", " + (upto == UINT64_MAX ? "open" : std::to_string(upto)) +
         ") partition " + std::to_string(partition) + " level " + std::to_string(level);
}

using Grants = std::array<std::vector<std::string>, 2>;

// Order of completions: which task's stage ends next.
struct VirtualHistory {
  Grants grants;
  std::vector<std::vector<uint32_t>> order;  // per job
};

VirtualHistory RunVirtually(const char* policy) {
  Scenario s;
  s.policy = policy;
  s.costs = CostSource::kLearn;
  s.min_stage_ns = 1;
  s.warmup_ns = 0;
  s.horizon_ns = kJobs * kPeriodNs;
  for (const uint64_t behind_ns : {0, 60}) {
    TaskGroup group;
    group.task.period_ns = kPeriodNs;
    for (uint64_t job = 0; job < kJobs; ++job) {
      group.task.jobs.push_back({job * kPeriodNs + behind_ns, {{kLaunches * 125, 34, kLaunches}}});
    }
    s.groups.push_back(group);
  }
  const Result<SimResult> run = model::Run(s, {.keep_stages = true});
  EXPECT_TRUE(run.ok()) << run.status().text();
  VirtualHistory history;
  history.order.resize(kJobs);
  for (const StageRow& row : run->stages) {
    history.grants[row.task].push_back(
        Text(row.job, row.stage, row.from_launch, row.upto_launch, row.partition, row.level));
    history.order[row.job - 1].push_back(row.task);
  }
  return history;
}

// The two shims, in lock step.
class Real {
 public:
  explicit Real(const char* policy) : daemon_({"--check"}) {  // only for its directory
    const std::string config = daemon_.directory() + "/sgprsd.toml";
    FILE* file = fopen(config.c_str(), "w");
    fprintf(file, "policy = \"%s\"\n[stages]\nleast = \"1ns\"\n[limits]\nstall_least = \"60s\"\n",
            policy);
    fclose(file);
    daemon_.WaitForEnd();
    daemon_.Start({"--config", config});
  }
  ::testing::AssertionResult Register() {
    if (!daemon_.ready()) return ::testing::AssertionFailure() << daemon_.stderr_text();
    for (int i = 0; i < 2; ++i) {
      const Status status = shims_[i].Register(
          daemon_.socket(), testing::MakeHello("t" + std::to_string(i), kPeriodNs));
      if (!status.ok()) return ::testing::AssertionFailure() << status.text();
      shims_[i].lane()->InternKernel("kernel");
    }
    return ::testing::AssertionSuccess();
  }
  // Both record job `job` (from 0) one after the other, then stages complete as `order` says.
  ::testing::AssertionResult RunJob(uint64_t job, const std::vector<uint32_t>& order) {
    for (uint32_t task = 0; task < 2; ++task) {
      done_[task] = 0;
      shims_[task].lane()->RecordJob(kLaunches);
      if (!WaitForGrant(task, job)) {
        return ::testing::AssertionFailure() << "task " << task << ": no grant for job " << job;
      }
    }
    for (const uint32_t task : order) {
      if (done_[task] >= kLaunches) {
        return ::testing::AssertionFailure() << "task " << task << " is already done";
      }
      done_[task] = std::min(kLaunches, grant_[task].upto - job * kLaunches);
      shims_[task].lane()->Complete(grant_[task], job * kLaunches + done_[task]);
      if (done_[task] < kLaunches && !WaitForGrant(task, job)) {
        return ::testing::AssertionFailure()
               << "task " << task << ": no grant after " << done_[task];
      }
    }
    // What waits for launches that do not come gives its slot back meanwhile.
    usleep(50'000);
    return ::testing::AssertionSuccess();
  }
  const Grants& grants() const { return grants_; }

 private:
  // The next grant that covers launches of `job` not done yet.
  bool WaitForGrant(uint32_t task, uint64_t job) {
    const uint64_t first = job * kLaunches;
    const uint64_t limit_ns = NowNs() + kGiveUpNs;
    while (NowNs() < limit_ns) {
      const std::optional<SgprsGrant> grant = shims_[task].lane()->TakeGrant();
      if (!grant) {
        usleep(100);
        continue;
      }
      // Beyond the end of a job of unknown length.
      if (grant->from < first + done_[task] || grant->from >= first + kLaunches) continue;
      grant_[task] = *grant;
      const uint64_t upto = grant->upto == SGPRS_GRANT_OPEN ? UINT64_MAX : grant->upto - first;
      grants_[task].push_back(
          Text(job + 1, grant->stage, grant->from - first, upto, grant->partition, grant->level));
      return true;
    }
    return false;
  }

  testing::SgprsdProcess daemon_;
  std::array<FakeShim, 2> shims_;
  std::array<SgprsGrant, 2> grant_ = {};
  std::array<uint64_t, 2> done_ = {};
  Grants grants_;
};

class AgreementTest : public ::testing::TestWithParam<const char*> {};

TEST_P(AgreementTest, SgprsdGrantsWhatVirtualTimeGrants) {
  const VirtualHistory expected = RunVirtually(GetParam());
  ASSERT_GE(expected.grants[0].size(), kJobs);
  Real real(GetParam());
  ASSERT_TRUE(real.Register());
  for (uint64_t job = 0; job < kJobs; ++job) {
    ASSERT_TRUE(real.RunJob(job, expected.order[job])) << "job " << job;
  }
  EXPECT_EQ(real.grants()[0], expected.grants[0]);
  EXPECT_EQ(real.grants()[1], expected.grants[1]);
}

INSTANTIATE_TEST_SUITE_P(Policies, AgreementTest,
                         ::testing::Values("sgprs", "naive", "fifo", "edf", "static", "rm",
                                           "daris"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace sgprs::model
