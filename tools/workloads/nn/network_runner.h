// SPDX-License-Identifier: Apache-2.0
// A Plan on a driver: loads, uploads, launches.
#ifndef SGPRS_TOOLS_WORKLOADS_NN_NETWORK_RUNNER_H_
#define SGPRS_TOOLS_WORKLOADS_NN_NETWORK_RUNNER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tools/workloads/driver/cuda_api.h"
#include "tools/workloads/nn/frame_source.h"
#include "tools/workloads/nn/plan.h"

namespace workloads {

// One thread, with its context current. Driver errors end the program (Check).
class NetworkRunner {
 public:
  // Loads the kernels, fills the weights from `seed`. `stream` may be null: the NULL stream.
  // `api` and `plan` must outlive it.
  NetworkRunner(const CudaApi& api, const Plan& plan, uint64_t seed, CUstream stream);
  ~NetworkRunner();
  NetworkRunner(const NetworkRunner&) = delete;
  NetworkRunner& operator=(const NetworkRunner&) = delete;

  // The frame in host memory; no driver call.
  void MakeInput(uint64_t frame);
  // Input copy, all launches, output copy; blocks until the output is there.
  void Run();
  void RunFrame(uint64_t frame) {
    MakeInput(frame);
    Run();
  }
  // Of the last frame.
  std::span<const float> output() const { return {output_, plan_.output_count}; }
  uint64_t launches() const { return launches_; }

 private:
  struct Launch {
    CUfunction function;
    const PlannedLaunch* planned;
    std::vector<PlannedArgument> values;  // addresses filled in
    std::vector<void*> pointers;
  };

  void UploadWeights(uint64_t seed);
  void PrepareLaunches();
  void Allocate();

  const CudaApi& api_;
  const Plan& plan_;
  const CUstream stream_;
  CUmodule module_ = nullptr;
  CUdeviceptr weights_ = 0;
  std::vector<CUdeviceptr> buffers_;
  float* input_ = nullptr;   // pinned
  float* output_ = nullptr;  // pinned
  std::optional<FrameSource> source_;
  std::vector<Launch> prepared_;
  uint64_t launches_ = 0;
};

}  // namespace workloads

#endif  // SGPRS_TOOLS_WORKLOADS_NN_NETWORK_RUNNER_H_
