// SPDX-License-Identifier: Apache-2.0
#include "runtime/policy/overload.h"

#include <algorithm>

namespace sgprs::policy {
namespace {

// High-class jobs are never held while their class needs less than this share of the pool.
constexpr double kHighShare = 0.8;
// So many periods behind the others, a task is tried as if nothing would keep its job waiting.
constexpr double kPeriodsOfDoubt = 3;

// Jobs that may be in progress at once: one a slot, and one a partition that waits at a stage
// border, so that no slot runs dry. With so few, a job that is admitted is served almost without a
// break, so its response time is nearly constant and what is measured of it predicts it well.
bool HasRoom(const JobView& job, const GateSnapshot& snapshot) {
  if (job.home < snapshot.load.size()) {
    const PartitionLoad& home = snapshot.load[job.home];
    return home.running < home.capacity + 1;
  }
  const uint32_t most = snapshot.slots + snapshot.partitions;
  if (snapshot.running_jobs >= most) return false;
  if (job.task_class == SGPRS_CLASS_HIGH) return true;
  // Of low jobs only as many as fit into what the high class leaves on average: whichever has begun
  // is then not starved by the next burst of high jobs.
  return snapshot.running_jobs - snapshot.running_high < most * (1 - snapshot.high_utilisation);
}

class HoldGate : public JobGate {
 public:
  GateDecision Ask(const JobView& job, const GateSnapshot& snapshot) const override {
    if (job.task_class == SGPRS_CLASS_BEST_EFFORT) return {GateAnswer::kStart};
    if (job.task_class == SGPRS_CLASS_HIGH && snapshot.high_utilisation < kHighShare) {
      return {GateAnswer::kStart};
    }
    if (snapshot.now_ns > LatestStartNs(job)) return {GateAnswer::kHold};
    return {HasRoom(job, snapshot) ? GateAnswer::kStart : GateAnswer::kWait};
  }

  // By class, then by deadline less lag: earliest deadline first while nobody is held, and an equal
  // part of its frames for everybody when not all fit.
  Key Order(const JobView& job) const override {
    return {static_cast<uint64_t>(job.task_class),
            static_cast<int64_t>(job.deadline_ns) - job.lag_ns};
  }

  // Whoever is believed to need more than most of its deadline is tried all the same: a wrong
  // belief would never be corrected otherwise.
  uint64_t LatestStartNs(const JobView& job) const override {
    const uint64_t relative = job.deadline_ns - job.release_ns;
    const uint64_t needed = std::min(job.response_ns, relative - relative / 5);
    if (job.busy_ns >= needed) return job.deadline_ns - needed;
    const auto waiting_ns = static_cast<double>(needed - job.busy_ns);
    return job.deadline_ns - job.busy_ns - static_cast<uint64_t>(waiting_ns * Trust(job));
  }

 private:
  // How much of the expected waiting counts. A response is learnt from jobs that began early in
  // their period; where a burst of high jobs stands there each time, whoever was released with the
  // burst would be held for ever, though there is room behind it.
  static double Trust(const JobView& job) {
    if (job.behind_ns <= 0 || job.period_ns == 0) return 1;
    const double periods = static_cast<double>(job.behind_ns) / static_cast<double>(job.period_ns);
    return std::max(0.0, 1 - periods / kPeriodsOfDoubt);
  }
};

}  // namespace

std::string_view OverloadName(OverloadMode mode) {
  return mode == OverloadMode::kHold ? "hold" : "late";
}

std::optional<OverloadMode> FindOverload(std::string_view name) {
  if (name == "late") return OverloadMode::kLate;
  if (name == "hold") return OverloadMode::kHold;
  return std::nullopt;
}

std::unique_ptr<JobGate> MakeHoldGate() { return std::make_unique<HoldGate>(); }

}  // namespace sgprs::policy
