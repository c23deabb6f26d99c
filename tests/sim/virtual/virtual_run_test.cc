// SPDX-License-Identifier: Apache-2.0
// What a virtual-time run must give whatever the numbers: the same bytes for the same seed, no more
// than the bound, the same with stages as with kernels, and the shape of the paper.
#include "runtime/model/virtual_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "runtime/model/networks.h"

namespace sgprs::model {
namespace {

Scenario Upstream(uint32_t n, const char* policy = "sgprs") {
  Scenario s;
  s.policy = policy;
  s.n = n;
  s.warmup_ns = 1'000'000'000;
  s.horizon_ns = 2'000'000'000;
  TaskGroup group;
  group.count_is_n = true;
  group.task.network = "resnet18-upstream";
  group.task.jitter_ns = 500'000;
  group.task.cost_noise = 0.1;
  s.groups = {group};
  return s;
}

SimResult RunOrDie(const Scenario& scenario, const RunOptions& options = {}) {
  Result<SimResult> result = model::Run(scenario, options);
  EXPECT_TRUE(result.ok()) << result.status().text();
  return result.ok() ? std::move(result).value() : SimResult();
}

// Everything that a result says, as text.
std::string Bytes(const SimResult& r) {
  std::ostringstream text;
  text << r.completed_fps << ' ' << r.on_time_fps << ' ' << r.switches << ' ' << r.events << ' '
       << r.utilisation << ' ' << r.loss.contention_fps << '\n';
  for (const TaskResult& t : r.tasks) {
    text << t.name << ' ' << t.expected << ' ' << t.released << ' ' << t.completed << ' '
         << t.on_time << ' ' << t.held << ' ' << t.mk_worst << ' ' << t.response.p50_ns << ' '
         << t.response.p99_ns << ' ' << t.response.max_ns << ' ' << t.utilisation << '\n';
  }
  for (const JobRow& j : r.jobs) {
    text << j.task << ' ' << j.job << ' ' << j.release_ns << ' ' << j.complete_ns << ' '
         << j.deadline_ns << ' ' << j.first_launch_ns << ' ' << j.first_grant_ns << ' ' << j.held
         << ' ' << j.on_time << '\n';
  }
  for (const StageRow& s : r.stages) {
    text << s.task << ' ' << s.job << ' ' << s.stage << ' ' << s.partition << ' ' << s.start_ns
         << ' ' << s.end_ns << ' ' << s.level << ' ' << s.switched << ' ' << s.ready_ns << ' '
         << s.granted_ns << ' ' << s.virtual_deadline_ns << ' ' << s.from_launch << ' '
         << s.upto_launch << '\n';
  }
  return text.str();
}

TEST(VirtualRunTest, TheSameSeedGivesTheSameBytes) {
  const RunOptions all{.keep_jobs = true, .keep_stages = true};
  for (const char* policy : {"sgprs", "naive", "daris"}) {
    for (const Overload overload : {Overload::kLate, Overload::kHold}) {
      Scenario s = Upstream(31, policy);
      s.overload = overload;
      const std::string once = Bytes(RunOrDie(s, all));
      EXPECT_EQ(Bytes(RunOrDie(s, all)), once) << policy;
      s.seed = 2;
      EXPECT_NE(Bytes(RunOrDie(s, all)), once) << policy;
    }
  }
}

// The proof of README.md, "Detail": one fluid job a stage gives what the kernels give one by one.
TEST(VirtualRunTest, StagesAreTheirKernels) {
  for (const char* policy : {"sgprs", "naive"}) {
    for (const uint32_t n : {20u, 27u, 34u}) {
      Scenario s = Upstream(n, policy);
      const SimResult stages = RunOrDie(s);
      s.detail = Detail::kKernel;
      const SimResult kernels = RunOrDie(s);
      EXPECT_NEAR(stages.completed_fps / kernels.completed_fps, 1, 0.02) << policy << ' ' << n;
      EXPECT_NEAR(stages.miss_percent, kernels.miss_percent, 6) << policy << ' ' << n;
      EXPECT_GT(kernels.events, 5 * stages.events);
    }
  }
}

TEST(VirtualRunTest, AloneAJobTakesItsKernelsTimes) {
  Scenario s = Upstream(1);
  s.groups[0].task.cost_noise = 0;
  s.partitions = 1;
  s.oversubscription = 1;
  double alone_ns = 0;
  const NetworkRow* network = FindNetwork("resnet18-upstream");
  const DeviceDescription& device = *FindDevice(s.device);
  for (const KernelGeometry& kernel : network->make().kernels) {
    alone_ns += KernelCost(device, kernel).TimeNs(device.sm_count);
  }
  for (const Detail detail : {Detail::kStage, Detail::kKernel}) {
    s.detail = detail;
    s.groups[0].task.jitter_ns = 0;
    s.host = {};
    const uint64_t p50_ns = RunOrDie(s).tasks[0].response.p50_ns;
    EXPECT_NEAR(static_cast<double>(p50_ns), alone_ns, 1000);
    // The host's costs come on top, one by one: five borders of stages, no switch.
    s.host = {.prepare_ns = 100'000, .grant_round_trip_ns = 30'000, .switch_ns = 1'000'000};
    const SimResult slow = RunOrDie(s);
    EXPECT_NEAR(static_cast<double>(slow.tasks[0].response.p50_ns - p50_ns), 100'000 + 6 * 30'000,
                2000);
    EXPECT_EQ(slow.switches, 0u);
  }
}

TEST(VirtualRunTest, AHostThatLaunchesSlowlySetsThePace) {
  Scenario s = Upstream(1);
  s.host.launch_ns = 100'000;
  const double launches = 121;
  for (const Detail detail : {Detail::kStage, Detail::kKernel}) {
    s.detail = detail;
    const SimResult result = RunOrDie(s);
    EXPECT_GT(result.tasks[0].response.p50_ns, (launches - 1) * 100'000);
    EXPECT_LT(result.tasks[0].response.p50_ns, (launches - 1) * 100'000 + 1'500'000);
  }
}

TEST(VirtualRunTest, ThePapersShapeIsPredicted) {
  const auto run = [](const char* policy, uint32_t n) {
    Scenario s = Upstream(n, policy);
    s.standstill_ns = 66'666'666;
    return RunOrDie(s);
  };
  // After a standstill sgprs works its backlog off where naive does not any more.
  EXPECT_EQ(run("naive", 22).miss_percent, 0);
  EXPECT_GT(run("naive", 27).miss_percent, 50);
  EXPECT_EQ(run("sgprs", 26).miss_percent, 0);
  // Beyond the pivot naive loses a fifth of the best, sgprs next to nothing.
  const double peak = run("sgprs", 28).completed_fps;
  EXPECT_GT(run("sgprs", 40).completed_fps, 0.97 * peak);
  EXPECT_LT(run("naive", 40).completed_fps, 0.85 * peak);
  EXPECT_GT(run("sgprs", 40).miss_percent, 80) << "late, as published";
}

TEST(VirtualRunTest, HoldKeepsOnTimeFrames) {
  double best = 0;
  std::map<uint32_t, SimResult> results;
  for (const uint32_t n : {20u, 28u, 30u, 45u, 60u}) {
    Scenario s = Upstream(n - 10);
    TaskGroup high = s.groups[0];
    high.count_is_n = false;
    high.count = 10;
    high.task.task_class = SGPRS_CLASS_HIGH;
    s.groups.insert(s.groups.begin(), high);
    s.overload = Overload::kHold;
    results[n] = RunOrDie(s);
    best = std::max(best, results[n].on_time_fps);
    EXPECT_EQ(results[n].high_misses, 0u) << n;
  }
  for (const uint32_t n : {30u, 60u}) {
    EXPECT_GE(results[n].on_time_fps, 0.97 * best) << n;
    for (const TaskResult& task : results[n].tasks) {
      EXPECT_GE(task.mk_worst, 1u) << n << ' ' << task.name << " starves";
    }
  }
}

// Late is counted for what it is: a frame completed after its deadline is not on time, skipped
// periods are missed, and what is missing is missing.
TEST(VirtualRunTest, TheBooksBalance) {
  const SimResult r = RunOrDie(Upstream(40), {.keep_jobs = true});
  uint64_t jobs_on_time = 0;
  for (const JobRow& job : r.jobs) {
    EXPECT_EQ(job.on_time, job.complete_ns <= job.deadline_ns);
    const bool counted =
        job.release_ns >= r.warmup_ns && job.release_ns < r.warmup_ns + r.horizon_ns;
    jobs_on_time += counted && job.on_time;
  }
  EXPECT_EQ(r.on_time, jobs_on_time);
  EXPECT_EQ(r.expected, 40u * 60);
  for (const TaskResult& task : r.tasks) {
    EXPECT_LE(task.on_time, task.completed);
    EXPECT_LE(task.completed, task.released);
    EXPECT_EQ(task.released + task.skipped, task.expected);
  }
  const LossTable& l = r.loss;
  EXPECT_NEAR(r.utilisation, l.offered_fps / l.fluid_bound_fps, 1e-9);
  EXPECT_EQ(r.high_utilisation, 0);
  EXPECT_NEAR(l.fluid_bound_fps,
              l.completed_fps + l.not_offered_fps + l.contention_fps + l.switch_fps + l.idle_fps,
              1e-6);
}

TEST(VirtualRunTest, AdmissionKeepsWhatFits) {
  Scenario s = Upstream(60);
  const SimResult off = RunOrDie(s);
  EXPECT_TRUE(off.warnings.empty());
  s.admission = AdmissionMode::kWarn;
  const SimResult warned = RunOrDie(s);
  EXPECT_FALSE(warned.warnings.empty());
  EXPECT_EQ(warned.on_time, off.on_time);
  s.admission = AdmissionMode::kReject;
  const SimResult kept = RunOrDie(s);
  EXPECT_EQ(kept.warnings.size(), warned.warnings.size());
  const auto admitted = std::count_if(kept.tasks.begin(), kept.tasks.end(),
                                      [](const TaskResult& task) { return task.admitted; });
  EXPECT_EQ(60u - admitted, kept.warnings.size());
  EXPECT_EQ(kept.expected, static_cast<uint64_t>(admitted) * 60);
  s.n = 20;
  EXPECT_TRUE(RunOrDie(s).warnings.empty());
}

// What is admitted is on time, and little more would be: in every pool of the paper.
TEST(VirtualRunTest, AdmissionFindsThePivot) {
  for (const uint32_t partitions : {2u, 3u}) {
    for (const double oversubscription : {1.0, 1.5, 2.0}) {
      SCOPED_TRACE(testing::Message() << partitions << " x " << oversubscription);
      Scenario s = Upstream(60);
      s.partitions = partitions;
      s.oversubscription = oversubscription;
      s.admission = AdmissionMode::kReject;
      const SimResult kept = RunOrDie(s);
      EXPECT_EQ(kept.on_time, kept.expected);
      const auto admitted = std::count_if(kept.tasks.begin(), kept.tasks.end(),
                                          [](const TaskResult& task) { return task.admitted; });
      s.admission = AdmissionMode::kOff;
      s.n = static_cast<uint32_t>(admitted) + 2;
      EXPECT_GT(RunOrDie(s).miss_percent, 0.5) << "feasible tasks were rejected";
    }
  }
}

// A recorded trace under another policy: explicit jobs, no network.
TEST(VirtualRunTest, RecordedJobsRun) {
  Scenario s;
  s.warmup_ns = 0;
  s.horizon_ns = 1'000'000'000;
  s.costs = CostSource::kLearn;
  TaskGroup group;
  group.task.period_ns = 50'000'000;
  for (uint64_t i = 0; i < 20; ++i) {
    group.task.jobs.push_back({i * 50'000'000, {{2'000'000, 34, 20}, {1'000'000, 34, 10}}});
  }
  s.groups = {group};
  const SimResult r = RunOrDie(s);
  EXPECT_EQ(r.expected, 20u);
  EXPECT_EQ(r.completed, 20u);
  EXPECT_EQ(r.on_time, 20u);
  EXPECT_NEAR(static_cast<double>(r.tasks[0].response.p50_ns), 3e6, 1e4);  // as recorded, 34 SMs
}

TEST(VirtualRunTest, WrongNamesAreErrors) {
  Scenario s = Upstream(1);
  s.device = "rtx9";
  EXPECT_EQ(model::Run(s).status().code(), ErrorCode::kNotFound);
  s = Upstream(1, "best");
  EXPECT_EQ(model::Run(s).status().code(), ErrorCode::kNotFound);
  s = Upstream(1);
  s.groups[0].task.network = "vgg";
  EXPECT_NE(model::Run(s).status().text().find("resnet18"), std::string::npos);
  s = Upstream(1);
  s.policy_options = {{"high_stages", "x"}};
  EXPECT_EQ(model::Run(s).status().code(), ErrorCode::kInvalid);
  s.groups.clear();
  EXPECT_EQ(model::Run(s).status().code(), ErrorCode::kInvalid);
}

}  // namespace
}  // namespace sgprs::model
