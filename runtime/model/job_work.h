// SPDX-License-Identifier: Apache-2.0
// The launches of a task's jobs as work for the fluid model, a range at a time. One object a task
// (networks share their costs through a NetworkCosts). Not thread-safe.
#ifndef SGPRS_RUNTIME_MODEL_JOB_WORK_H_
#define SGPRS_RUNTIME_MODEL_JOB_WORK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "runtime/model/device_description.h"
#include "runtime/model/kernel_cost.h"
#include "runtime/model/networks.h"
#include "runtime/model/scenario.h"

namespace sgprs::model {

// Launches [from, upto) as one fluid job.
struct WorkPiece {
  std::shared_ptr<const KernelCost> cost;
  double work = 1;  // times the cost's
  uint64_t upto = 0;
};

// Costs of a network's kernels, and of its ranges as far as they were asked for.
class NetworkCosts {
 public:
  NetworkCosts(const DeviceDescription& device, const Network& network);
  uint64_t length() const { return kernels_.size(); }
  const std::shared_ptr<const KernelCost>& Range(uint64_t from, uint64_t upto);
  std::span<const std::shared_ptr<const KernelCost>> kernels() const { return kernels_; }
  const std::vector<uint32_t>& stage_ends() const { return stage_ends_; }
  // One number a launch, as the scheduler knows them.
  const std::vector<uint64_t>& identities() const { return identities_; }

 private:
  std::vector<std::shared_ptr<const KernelCost>> kernels_;
  std::vector<uint32_t> stage_ends_;
  std::vector<uint64_t> identities_;
  std::map<std::pair<uint64_t, uint64_t>, std::shared_ptr<const KernelCost>> ranges_;
};

class JobWork {
 public:
  virtual ~JobWork() = default;
  // Goes to the next job; `noise` multiplies its work. False: there is none.
  virtual bool NextJob(double noise) = 0;
  // Of the present job.
  virtual std::span<const uint64_t> identities() const = 0;
  uint64_t length() const { return identities().size(); }
  // Of a job of ordinary work, for the bound.
  virtual std::span<const std::shared_ptr<const KernelCost>> kernels() const = 0;
  // What of [from, upto) goes to the device at once; from < upto <= length().
  virtual WorkPiece Piece(uint64_t from, uint64_t upto) = 0;
};

// `costs` outlives it.
std::unique_ptr<JobWork> MakeNetworkWork(NetworkCosts* costs, Detail detail);
// `jobs` outlives it. Other partition sizes by the curve that the scheduler uses for what it never
// measured (runtime/sched/cost_model.h).
std::unique_ptr<JobWork> MakeRecordedWork(const DeviceDescription& device,
                                          const std::vector<RecordedJob>* jobs);

}  // namespace sgprs::model

#endif  // SGPRS_RUNTIME_MODEL_JOB_WORK_H_
