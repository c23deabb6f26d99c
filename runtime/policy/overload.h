// SPDX-License-Identifier: Apache-2.0
// What happens to a job when there is more work than the device can do (design.md 6). An unmodified
// job can not be dropped, but it can be held at its first launch until its task's next release:
// that skips one frame of the task, the launches then run as the next release's job, and everyone
// else stays on time.
//
// A JobGate answers, from a snapshot: may this job start, in which order do those that wait get
// their turn, and until when is it worth waiting. Pure; the scheduler core keeps the waiting jobs.
#ifndef SGPRS_RUNTIME_POLICY_OVERLOAD_H_
#define SGPRS_RUNTIME_POLICY_OVERLOAD_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "sgprs/abi/abi.h"

namespace sgprs::policy {

enum class OverloadMode : uint8_t {
  kLate,  // every job starts; too much work makes jobs late (as published)
  kHold,  // a job starts only if it is expected to be on time, else it waits for its next release
};
std::string_view OverloadName(OverloadMode mode);
std::optional<OverloadMode> FindOverload(std::string_view name);
inline constexpr std::string_view kOverloadNames = "late, hold";

// A job at its first launch.
struct JobView {
  uint32_t task = 0;
  SgprsTaskClass task_class = SGPRS_CLASS_LOW;
  uint64_t period_ns = 0;      // > 0: only periodic jobs are asked about
  uint64_t release_ns = 0;     // absolute, of the present slot
  uint64_t deadline_ns = 0;    // absolute
  uint64_t response_ns = 0;    // expected from admission to completion; 0 = unknown
  uint64_t busy_ns = 0;        // of that, time in its stages; 0 = unknown
  double utilisation = 0;      // of its task, in partitions' worth of one stage (PartitionLoad)
  uint32_t home = UINT32_MAX;  // partition that its task is bound to; none
  uint64_t waited_ns = 0;      // since it was first held
  // How far its task is behind the others in admitted frames, as time: frames held * period, less
  // what everybody was held. 0 = none; negative: ahead.
  int64_t lag_ns = 0;
  // The same against those of its class that were admitted last.
  int64_t behind_ns = 0;
};

// Sums over the tasks bound to a partition (Policy::Home). Utilisations are sums of (cost of a job
// in its home partition / period); a task with no known cost counts 0. papers.md 2.2: divided by
// the partition's stages at once.
struct PartitionLoad {
  uint32_t capacity = 1;
  uint32_t tasks = 0;    // bound here
  uint32_t running = 0;  // of them: their job is admitted and wants a slot
  double high = 0;       // high class
  double active = 0;     // high class, and low class whose job runs
  double overall = 0;    // all
};

struct GateSnapshot {
  uint64_t now_ns = 0;
  uint32_t slots = 1;  // stages at once in the whole pool
  uint32_t partitions = 1;
  uint32_t running_jobs = 0;    // admitted and not complete, best effort aside
  uint32_t running_high = 0;    // of them, high class
  double high_utilisation = 0;  // of the high class: share of the pool's slots that it needs
  std::span<const PartitionLoad> load;
};

enum class GateAnswer : uint8_t {
  kStart,  // admitted
  kWait,   // not now; asked again when a job completes, until LatestStartNs()
  kHold,   // waits for its next release
};

struct GateDecision {
  GateAnswer answer = GateAnswer::kStart;
  uint32_t home = UINT32_MAX;  // with kStart: bind the task to this partition from now on
};

class JobGate {
 public:
  virtual ~JobGate() = default;
  virtual GateDecision Ask(const JobView& job, const GateSnapshot& snapshot) const = 0;
  // Who waits is asked in the order of this key, smaller first; fixed when the job begins to wait.
  struct Key {
    uint64_t high = 0;
    int64_t low = 0;
  };
  virtual Key Order(const JobView& job) const = 0;
  // After this a job that waits is held: it could not be on time any more.
  virtual uint64_t LatestStartNs(const JobView& job) const = 0;
};

// The gate of `kHold`.
std::unique_ptr<JobGate> MakeHoldGate();

}  // namespace sgprs::policy

#endif  // SGPRS_RUNTIME_POLICY_OVERLOAD_H_
