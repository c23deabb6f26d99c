// SPDX-License-Identifier: Apache-2.0
// Properties that hold for every scenario, over random ones of every policy.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "runtime/model/random.h"
#include "runtime/model/virtual_run.h"
#include "runtime/policy/policy.h"

namespace sgprs::model {
namespace {

Scenario RandomScenario(uint64_t seed, std::string_view policy) {
  Random random(seed, 99);
  Scenario s;
  s.policy = policy;
  s.seed = seed;
  s.warmup_ns = 500'000'000;
  s.horizon_ns = 1'000'000'000;
  s.partitions = 1 + static_cast<uint32_t>(random.UpTo(5));
  s.oversubscription = 1 + random.Uniform() * 2;
  s.costs = random.UpTo(1) == 0 ? CostSource::kLearn : CostSource::kProfile;
  s.overload = random.UpTo(1) == 0 ? Overload::kLate : Overload::kHold;
  s.standstill_ns = random.UpTo(3) == 0 ? 100'000'000 : 0;
  s.host.grant_round_trip_ns = random.UpTo(1) * 20'000;
  s.host.switch_ns = random.UpTo(1) * 10'000;
  s.host.launch_ns = random.UpTo(1) * 3'000;
  const uint64_t groups = 1 + random.UpTo(3);
  for (uint64_t i = 0; i < groups; ++i) {
    TaskGroup group;
    group.count = 1 + static_cast<uint32_t>(random.UpTo(11));
    group.task.name = "g" + std::to_string(i);
    group.task.task_class = static_cast<SgprsTaskClass>(random.UpTo(2));
    group.task.period_ns = 10'000'000 + random.UpTo(90'000'000);
    if (random.UpTo(2) == 0) group.task.deadline_ns = group.task.period_ns / 2;
    group.task.jitter_ns = random.UpTo(2'000'000);
    group.task.cost_noise = random.Uniform() * 0.3;
    group.task.network = random.UpTo(1) == 0 ? "resnet18" : "resnet18-upstream";
    s.groups.push_back(group);
  }
  return s;
}

// Stages of a job one after the other, each in one partition, none begun before it was granted and
// ready; together with the jobs of its task in order.
void CheckStages(const SimResult& r) {
  std::map<uint32_t, StageRow> last;  // of each task
  std::vector<StageRow> rows = r.stages;
  std::stable_sort(rows.begin(), rows.end(), [](const StageRow& a, const StageRow& b) {
    return a.task != b.task ? a.task < b.task : a.start_ns < b.start_ns;
  });
  for (const StageRow& row : rows) {
    EXPECT_LT(row.partition, r.partitions.size());
    EXPECT_LE(row.ready_ns, row.end_ns);
    EXPECT_LE(row.granted_ns, row.start_ns);
    EXPECT_LT(row.start_ns, row.end_ns);
    const auto before = last.find(row.task);
    if (before != last.end()) {
      EXPECT_GE(row.start_ns, before->second.end_ns) << "two stages of a task at once";
      EXPECT_GE(row.job, before->second.job);
      if (row.job == before->second.job) {
        EXPECT_EQ(row.stage, before->second.stage + 1);
      }
    }
    last[row.task] = row;
  }
}

TEST(RandomScenariosTest, WhatAlwaysHolds) {
  for (const policy::PolicyRow& policy : policy::PolicyTable()) {
    for (uint64_t seed = 1; seed <= 25; ++seed) {
      SCOPED_TRACE(std::string(policy.name) + ", seed " + std::to_string(seed));
      const Scenario s = RandomScenario(seed, policy.name);
      const Result<SimResult> run = model::Run(s, {.keep_jobs = true, .keep_stages = true});
      ASSERT_TRUE(run.ok()) << run.status().text();
      CheckStages(*run);
      EXPECT_LE(run->completed_fps, run->loss.fluid_bound_fps * 1.1) << "noise is 3 % of it";
      for (const TaskResult& task : run->tasks) {
        EXPECT_LE(task.on_time, task.completed);
        EXPECT_LE(task.completed, task.released);
        EXPECT_LE(task.on_time, task.expected);
        EXPECT_LE(task.released, task.expected + 3) << "a frame more after a hold";
      }
    }
  }
}

// EDF inside a level: of stages that wait for one partition at one level, the one with the earlier
// virtual deadline is granted first.
TEST(RandomScenariosTest, EdfInsideALevel) {
  uint64_t compared = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Scenario s = RandomScenario(seed, "sgprs");
    s.host = {};
    s.overload = Overload::kLate;
    for (TaskGroup& group : s.groups) group.task.task_class = SGPRS_CLASS_LOW;
    const Result<SimResult> run = model::Run(s, {.keep_stages = true});
    ASSERT_TRUE(run.ok());
    for (uint32_t partition = 0; partition < run->partitions.size(); ++partition) {
      std::vector<StageRow> rows;
      for (const StageRow& row : run->stages) {
        // Ranges of jobs that are being learnt are placed and moved by other rules.
        if (row.partition == partition && row.ready_ns > s.warmup_ns) rows.push_back(row);
      }
      std::sort(rows.begin(), rows.end(),
                [](const StageRow& a, const StageRow& b) { return a.granted_ns < b.granted_ns; });
      for (size_t i = 1; i < rows.size(); ++i) {
        const StageRow& first = rows[i - 1];
        const StageRow& second = rows[i];
        if (first.level != second.level || second.ready_ns >= first.granted_ns ||
            first.granted_ns == second.granted_ns) {
          continue;
        }
        ++compared;
        EXPECT_LE(first.virtual_deadline_ns, second.virtual_deadline_ns)
            << "seed " << seed << " at " << first.granted_ns;
      }
    }
  }
  EXPECT_GT(compared, 1000u);
}

// No policy starves a set that fits with room to spare, and every frame is on time.
TEST(RandomScenariosTest, AFeasibleSetIsOnTime) {
  for (const policy::PolicyRow& policy : policy::PolicyTable()) {
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      Scenario s;
      s.policy = policy.name;
      s.seed = seed;
      s.horizon_ns = 2'000'000'000;
      TaskGroup group;
      group.count = 8;
      group.task.jitter_ns = 300'000;
      group.task.cost_noise = 0.1;
      s.groups = {group};
      const Result<SimResult> run = model::Run(s);
      ASSERT_TRUE(run.ok()) << run.status().text();
      EXPECT_EQ(run->on_time, run->expected) << policy.name << " seed " << seed;
      EXPECT_EQ(run->expected, 8u * 60) << policy.name;
    }
  }
}

// Work is conserved: a partition with a free slot is not idle while a stage waits for it.
TEST(RandomScenariosTest, NoSlotIdlesWhileAStageWaitsForIt) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    Scenario s = RandomScenario(seed, "sgprs");
    s.host = {};
    s.overload = Overload::kLate;
    for (TaskGroup& group : s.groups) group.task.task_class = SGPRS_CLASS_LOW;
    const Result<SimResult> run = model::Run(s, {.keep_stages = true});
    ASSERT_TRUE(run.ok());
    for (uint32_t partition = 0; partition < run->partitions.size(); ++partition) {
      // At every grant of a stage that had waited, all other slots were taken until then.
      std::vector<std::pair<uint64_t, int>> changes;  // time, slots taken or given back
      std::vector<const StageRow*> waited;
      for (const StageRow& row : run->stages) {
        if (row.partition != partition) continue;
        changes.push_back({row.granted_ns, 1});
        changes.push_back({row.end_ns, -1});
        if (row.granted_ns > row.ready_ns) waited.push_back(&row);
      }
      std::sort(changes.begin(), changes.end());
      for (const StageRow* row : waited) {
        int taken = 0;
        for (const auto& [at_ns, change] : changes) {
          if (at_ns >= row->granted_ns) break;
          taken += change;
        }
        EXPECT_GE(taken, static_cast<int>(run->partitions[partition].capacity))
            << "seed " << seed << " at " << row->granted_ns;
      }
    }
  }
}

}  // namespace
}  // namespace sgprs::model
