// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/profile.h"

#include <algorithm>
#include <vector>

#include "runtime/model/fluid_model.h"

namespace sgprs::model {
namespace {

constexpr uint32_t kWarmUp = 10;
constexpr uint32_t kRepeats = 25;
constexpr uint32_t kMostDummies = 4;

// One network in partition `subject` beside its dummies, each a loop of stages.
class ProfileRun {
 public:
  ProfileRun(const DeviceDescription& device, NetworkCosts* costs,
             std::span<const uint32_t> sm_counts)
      : costs_(*costs), sm_counts_(sm_counts), fluid_(device) {}

  void Add(uint32_t partition) { loops_.push_back({partition, 0, 0}); }

  // Mean time of each stage of the first loop.
  std::vector<uint64_t> Run() {
    const std::vector<uint32_t>& ends = costs_.stage_ends();
    std::vector<uint64_t> sum(ends.size(), 0);
    for (uint32_t i = 0; i < loops_.size(); ++i) Launch(i, 0);
    std::vector<KernelEnd> ended;
    uint64_t stages = 0;
    while (stages < (kWarmUp + kRepeats) * ends.size()) {
      ended.clear();
      fluid_.Advance(fluid_.NextEventNs(), &ended);
      for (const KernelEnd& end : ended) {
        Loop& loop = loops_[end.tag];
        if (end.tag == 0 && ++stages > kWarmUp * ends.size()) {
          sum[loop.stage] += end.end_ns - loop.start_ns;
        }
        loop.stage = (loop.stage + 1) % ends.size();
        Launch(static_cast<uint32_t>(end.tag), end.end_ns);
      }
    }
    for (uint64_t& ns : sum) ns /= kRepeats;
    return sum;
  }

 private:
  struct Loop {
    uint32_t partition;
    size_t stage;
    uint64_t start_ns;
  };
  void Launch(uint32_t index, uint64_t at_ns) {
    Loop& loop = loops_[index];
    const std::vector<uint32_t>& ends = costs_.stage_ends();
    loop.start_ns = at_ns;
    KernelLaunch launch;
    launch.cost = costs_.Range(loop.stage == 0 ? 0 : ends[loop.stage - 1], ends[loop.stage]);
    launch.tag = index;
    launch.context = loop.partition;
    launch.sm_limit = sm_counts_[loop.partition];
    launch.context_limit = launch.sm_limit;
    fluid_.AddKernel(launch, at_ns);
  }

  NetworkCosts& costs_;
  const std::span<const uint32_t> sm_counts_;
  FluidModel fluid_;
  std::vector<Loop> loops_;
};

}  // namespace

uint32_t ProfiledAtOnce(uint32_t slots) { return 1 + std::min(kMostDummies, slots - 1); }

sched::TaskProfile ProfileNetwork(const DeviceDescription& device, NetworkCosts* costs,
                                  std::span<const uint32_t> sm_counts, uint32_t capacity) {
  sched::TaskProfile profile;
  profile.launches = costs->identities();
  for (const uint32_t end : costs->stage_ends()) profile.stages.push_back({end, {}});
  const auto partitions = static_cast<uint32_t>(sm_counts.size());
  const uint32_t dummies = ProfiledAtOnce(partitions * capacity) - 1;
  for (uint32_t subject = 0; subject < partitions; ++subject) {
    const uint32_t sms = sm_counts[subject];
    if (std::find(sm_counts.begin(), sm_counts.begin() + subject, sms) !=
        sm_counts.begin() + subject) {
      continue;  // measured in an earlier partition of this size
    }
    ProfileRun run(device, costs, sm_counts);
    run.Add(subject);
    for (uint32_t i = 0; i < dummies; ++i) {
      run.Add(partitions == 1 ? 0 : (subject + 1 + i % (partitions - 1)) % partitions);
    }
    const std::vector<uint64_t> stage_ns = run.Run();
    for (size_t stage = 0; stage < stage_ns.size(); ++stage) {
      profile.stages[stage].costs.push_back({sms, stage_ns[stage]});
    }
  }
  return profile;
}

}  // namespace sgprs::model
