// SPDX-License-Identifier: Apache-2.0
#include "tools/workloads/nn/network_runner.h"

#include <algorithm>
#include <cstring>

#include "tools/workloads/kernels/ptx.h"

namespace workloads {

NetworkRunner::NetworkRunner(const CudaApi& api, const Plan& plan, uint64_t seed, CUstream stream)
    : api_(api), plan_(plan), stream_(stream) {
  Check(api_, api_.cuModuleLoadData(&module_, workload_network_ptx), "load the kernels");
  Allocate();
  UploadWeights(seed);
  source_.emplace(seed, std::span<float>(input_, plan_.input_count));
  PrepareLaunches();
}

NetworkRunner::~NetworkRunner() {
  for (const CUdeviceptr buffer : buffers_) api_.cuMemFree(buffer);
  api_.cuMemFree(weights_);
  api_.cuMemFreeHost(input_);
  api_.cuMemFreeHost(output_);
  api_.cuModuleUnload(module_);
}

void NetworkRunner::Allocate() {
  for (const uint64_t bytes : plan_.buffer_bytes) {
    CUdeviceptr buffer = 0;
    Check(api_, api_.cuMemAlloc(&buffer, bytes), "allocate activations");
    buffers_.push_back(buffer);
  }
  Check(api_, api_.cuMemAlloc(&weights_, plan_.weight_bytes), "allocate weights");
  const auto pinned = [&](uint64_t count) {
    void* memory = nullptr;
    Check(api_, api_.cuMemHostAlloc(&memory, count * sizeof(float), 0), "allocate pinned memory");
    return static_cast<float*>(memory);
  };
  input_ = pinned(plan_.input_count);
  output_ = pinned(plan_.output_count);
}

void NetworkRunner::UploadWeights(uint64_t seed) {
  std::vector<float> values;
  uint64_t tensor_seed = Hash(seed);
  for (const WeightTensor& tensor : plan_.weights) {
    values.resize(tensor.count);
    for (uint64_t i = 0; i < tensor.count; ++i) {
      values[i] = Uniform(tensor_seed, i, tensor.low, tensor.high);
    }
    Check(api_,
          api_.cuMemcpyHtoD(weights_ + tensor.offset_bytes, values.data(),
                            tensor.count * sizeof(float)),
          "upload weights");
    tensor_seed = Hash(tensor_seed);
  }
}

void NetworkRunner::PrepareLaunches() {
  prepared_.reserve(plan_.launches.size());
  for (const PlannedLaunch& planned : plan_.launches) {
    Launch launch{nullptr, &planned, planned.arguments, {}};
    Check(api_, api_.cuModuleGetFunction(&launch.function, module_, planned.kernel),
          planned.kernel);
    for (PlannedArgument& argument : launch.values) {
      if (argument.kind != PlannedArgument::Kind::kValue) {
        const CUdeviceptr address = argument.kind == PlannedArgument::Kind::kBuffer
                                        ? buffers_[argument.index]
                                        : weights_ + argument.index;
        std::memcpy(argument.value.data(), &address, sizeof(address));
      }
      launch.pointers.push_back(argument.value.data());
    }
    // A moved vector keeps its elements where they are, so the pointers stay good.
    prepared_.push_back(std::move(launch));
  }
}

void NetworkRunner::MakeInput(uint64_t frame) { source_->Make(frame); }

void NetworkRunner::Run() {
  Check(api_,
        api_.cuMemcpyHtoDAsync(buffers_[plan_.input_buffer], input_,
                               plan_.input_count * sizeof(float), stream_),
        "copy the input");
  for (Launch& launch : prepared_) {
    const PlannedLaunch& p = *launch.planned;
    Check(api_,
          api_.cuLaunchKernel(launch.function, p.grid[0], p.grid[1], 1, p.block[0], p.block[1], 1,
                              0, stream_, launch.pointers.data(), nullptr),
          p.kernel);
    ++launches_;
  }
  Check(api_,
        api_.cuMemcpyDtoHAsync(output_, buffers_[plan_.output_buffer],
                               plan_.output_count * sizeof(float), stream_),
        "copy the output");
  Check(api_, api_.cuStreamSynchronize(stream_), "wait for the frame");
}

}  // namespace workloads
