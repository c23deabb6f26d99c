// SPDX-License-Identifier: Apache-2.0
// What a minute of 30 tasks costs in virtual time. One iteration is one run of 60 simulated
// seconds: real_time is to be under 1 s. `--benchmark_format=json` for machines.
#include <benchmark/benchmark.h>

#include "runtime/model/virtual_run.h"

namespace sgprs::model {
namespace {

void Minute(benchmark::State& state, const char* policy, Overload overload, Detail detail) {
  Scenario s;
  s.policy = policy;
  s.overload = overload;
  s.detail = detail;
  s.warmup_ns = 0;
  s.horizon_ns = 60'000'000'000;
  TaskGroup group;
  group.count = 30;
  group.task.network = "resnet18-upstream";
  group.task.jitter_ns = 500'000;
  group.task.cost_noise = 0.1;
  s.groups = {group};
  uint64_t grants = 0;
  uint64_t jobs = 0;
  for (auto _ : state) {
    const Result<SimResult> result = Run(s);
    if (!result.ok()) return state.SkipWithError(result.status().text().c_str());
    grants += result->grants;
    jobs += result->completed;
  }
  state.counters["jobs"] =
      benchmark::Counter(static_cast<double>(jobs), benchmark::Counter::kAvgIterations);
  state.counters["grants"] =
      benchmark::Counter(static_cast<double>(grants), benchmark::Counter::kAvgIterations);
  state.counters["grants/s"] =
      benchmark::Counter(static_cast<double>(grants), benchmark::Counter::kIsRate);
}

BENCHMARK_CAPTURE(Minute, sgprs, "sgprs", Overload::kLate, Detail::kStage)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Minute, sgprs_hold, "sgprs", Overload::kHold, Detail::kStage)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Minute, naive, "naive", Overload::kLate, Detail::kStage)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Minute, sgprs_by_kernels, "sgprs", Overload::kLate, Detail::kKernel)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sgprs::model
