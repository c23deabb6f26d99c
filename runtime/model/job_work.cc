// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/job_work.h"

#include <algorithm>

namespace sgprs::model {
namespace {

class NetworkWork : public JobWork {
 public:
  NetworkWork(NetworkCosts* costs, Detail detail) : costs_(*costs), detail_(detail) {}
  bool NextJob(double noise) override {
    noise_ = noise;
    return true;
  }
  std::span<const uint64_t> identities() const override { return costs_.identities(); }
  std::span<const std::shared_ptr<const KernelCost>> kernels() const override {
    return costs_.kernels();
  }
  WorkPiece Piece(uint64_t from, uint64_t upto) override {
    if (detail_ == Detail::kKernel) return {costs_.kernels()[from], noise_, from + 1};
    return {costs_.Range(from, upto), noise_, upto};
  }

 private:
  NetworkCosts& costs_;
  const Detail detail_;
  double noise_ = 1;
};

constexpr double kParallelFraction = 0.97;  // as runtime/sched/cost_model.cc

double RelativeTime(uint32_t sms) {
  return 1 - kParallelFraction + kParallelFraction / std::max(1u, sms);
}

class RecordedWork : public JobWork {
 public:
  RecordedWork(const DeviceDescription& device, const std::vector<RecordedJob>* jobs)
      : jobs_(*jobs), unit_(std::make_shared<const KernelCost>(device.sm_count, [](uint32_t sms) {
          return RelativeTime(sms);
        })) {}
  bool NextJob(double noise) override {
    if (next_ >= jobs_.size()) return false;
    work_.clear();
    identities_.clear();
    for (const MeasuredStage& stage : jobs_[next_].stages) {
      const uint32_t launches = std::max(1u, stage.launches);
      for (uint32_t i = 0; i < launches; ++i) {
        // Position only: a recorded stage does not say which kernels it was.
        identities_.push_back(identities_.size() + 1);
        work_.push_back(noise * static_cast<double>(stage.time_ns) / launches /
                        RelativeTime(stage.sm_count));
      }
    }
    ++next_;
    return true;
  }
  std::span<const uint64_t> identities() const override { return identities_; }
  std::span<const std::shared_ptr<const KernelCost>> kernels() const override { return {}; }
  WorkPiece Piece(uint64_t from, uint64_t upto) override {
    double work = 0;
    for (uint64_t i = from; i < upto; ++i) work += work_[i];
    return {unit_, work, upto};
  }

 private:
  const std::vector<RecordedJob>& jobs_;
  const std::shared_ptr<const KernelCost> unit_;  // one ns on one SM
  size_t next_ = 0;
  std::vector<double> work_;  // per launch
  std::vector<uint64_t> identities_;
};

}  // namespace

NetworkCosts::NetworkCosts(const DeviceDescription& device, const Network& network)
    : stage_ends_(network.stage_ends) {
  CostTable table(device);
  for (const KernelGeometry& kernel : network.kernels) {
    kernels_.push_back(table.Get(kernel));
    const auto shape = static_cast<uint64_t>(kernel.flops + kernel.dram_bytes * 3);
    identities_.push_back(shape * 0x9e3779b97f4a7c15 + kernel.blocks);
  }
}

const std::shared_ptr<const KernelCost>& NetworkCosts::Range(uint64_t from, uint64_t upto) {
  std::shared_ptr<const KernelCost>& range = ranges_[{from, upto}];
  if (range == nullptr) {
    range = std::make_shared<const KernelCost>(kernels().subspan(from, upto - from));
  }
  return range;
}

std::unique_ptr<JobWork> MakeNetworkWork(NetworkCosts* costs, Detail detail) {
  return std::make_unique<NetworkWork>(costs, detail);
}

std::unique_ptr<JobWork> MakeRecordedWork(const DeviceDescription& device,
                                          const std::vector<RecordedJob>* jobs) {
  return std::make_unique<RecordedWork>(device, jobs);
}

}  // namespace sgprs::model
