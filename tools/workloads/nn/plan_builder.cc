// SPDX-License-Identifier: Apache-2.0
#include "tools/workloads/nn/plan_builder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace workloads {
namespace {

constexpr uint64_t kWeightAlign = 256;

uint32_t Blocks(int count, int per_block) {
  return static_cast<uint32_t>((count + per_block - 1) / per_block);
}

PlannedArgument Buffer(const Tensor& tensor) {
  return {PlannedArgument::Kind::kBuffer, tensor.buffer, {}};
}
PlannedArgument Weights(uint64_t offset_bytes) {
  return {PlannedArgument::Kind::kWeights, offset_bytes, {}};
}
template <typename T>
PlannedArgument Value(const T& value) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(PlannedArgument::value));
  PlannedArgument argument{PlannedArgument::Kind::kValue, 0, {}};
  std::memcpy(argument.value.data(), &value, sizeof(T));
  return argument;
}

// Uniform with the variance that keeps the size of activations through a ReLU (He et al. 2015).
float HeBound(int fan_in) { return std::sqrt(6.0f / static_cast<float>(fan_in)); }

}  // namespace

Tensor PlanBuilder::NewTensor(int channels, int height, int width) {
  const auto bytes = static_cast<uint64_t>(channels) * static_cast<uint64_t>(height) *
                     static_cast<uint64_t>(width) * sizeof(float);
  uint64_t buffer = 0;
  while (buffer < free_.size() && !free_[buffer]) ++buffer;
  if (buffer == free_.size()) {
    free_.push_back(false);
    plan_.buffer_bytes.push_back(0);
  }
  free_[buffer] = false;
  plan_.buffer_bytes[buffer] = std::max(plan_.buffer_bytes[buffer], bytes);
  return {channels, height, width, buffer};
}

uint64_t PlanBuilder::NewWeights(uint64_t count, float low, float high) {
  const uint64_t offset = plan_.weight_bytes;
  plan_.weights.push_back({offset, count, low, high});
  const uint64_t end = offset + count * sizeof(float);
  plan_.weight_bytes = (end + kWeightAlign - 1) / kWeightAlign * kWeightAlign;
  return offset;
}

WindowShape PlanBuilder::Window(const Tensor& x, const Tensor& y, int kernel, int stride, int pad) {
  return {x.channels, x.height, x.width, y.channels, y.height, y.width, kernel, stride, pad};
}

Tensor PlanBuilder::Input(int channels, InputSize size) {
  const Tensor x = NewTensor(channels, size.height, size.width);
  plan_.input_buffer = x.buffer;
  plan_.input_count = static_cast<uint64_t>(x.count());
  return x;
}

Tensor PlanBuilder::Conv(const Tensor& x, int channels_out, int kernel, int stride, int pad) {
  const Tensor y = NewTensor(channels_out, (x.height + 2 * pad - kernel) / stride + 1,
                             (x.width + 2 * pad - kernel) / stride + 1);
  const int fan_in = x.channels * kernel * kernel;
  const float bound = HeBound(fan_in);
  const uint64_t weights = NewWeights(
      static_cast<uint64_t>(fan_in) * static_cast<uint64_t>(channels_out), -bound, bound);
  plan_.launches.push_back(
      {"wl_conv2d",
       {Blocks(y.plane(), kConvTile), Blocks(channels_out, kConvTile)},
       {kConvThreads, kConvThreads},
       {Buffer(x), Weights(weights), Buffer(y), Value(Window(x, y, kernel, stride, pad))}});
  return y;
}

Tensor PlanBuilder::Depthwise(const Tensor& x, int kernel, int stride, int pad) {
  const Tensor y = NewTensor(x.channels, (x.height + 2 * pad - kernel) / stride + 1,
                             (x.width + 2 * pad - kernel) / stride + 1);
  const float bound = HeBound(kernel * kernel);
  const uint64_t weights =
      NewWeights(static_cast<uint64_t>(x.channels) * kernel * kernel, -bound, bound);
  plan_.launches.push_back(
      {"wl_depthwise",
       {Blocks(y.plane(), kFlatThreads), static_cast<uint32_t>(y.channels)},
       {kFlatThreads, 1},
       {Buffer(x), Weights(weights), Buffer(y), Value(Window(x, y, kernel, stride, pad))}});
  return y;
}

void PlanBuilder::BatchNorm(const Tensor& x) {
  const auto channels = static_cast<uint64_t>(x.channels);
  const uint64_t scale = NewWeights(channels, 0.7f, 1.1f);
  const uint64_t shift = NewWeights(channels, -0.1f, 0.1f);
  plan_.launches.push_back({"wl_batch_norm",
                            {Blocks(x.count(), kFlatThreads), 1},
                            {kFlatThreads, 1},
                            {Buffer(x), Weights(scale), Weights(shift), Buffer(x),
                             Value(x.channels), Value(x.plane())}});
}

void PlanBuilder::Relu(const Tensor& x) {
  plan_.launches.push_back({"wl_relu",
                            {Blocks(x.count(), kFlatThreads), 1},
                            {kFlatThreads, 1},
                            {Buffer(x), Buffer(x), Value(x.count())}});
}

void PlanBuilder::AddTo(const Tensor& x, const Tensor& addend) {
  plan_.launches.push_back({"wl_add",
                            {Blocks(x.count(), kFlatThreads), 1},
                            {kFlatThreads, 1},
                            {Buffer(x), Buffer(addend), Buffer(x), Value(x.count())}});
}

Tensor PlanBuilder::MaxPool(const Tensor& x, int kernel, int stride, int pad) {
  const Tensor y = NewTensor(x.channels, (x.height + 2 * pad - kernel) / stride + 1,
                             (x.width + 2 * pad - kernel) / stride + 1);
  plan_.launches.push_back({"wl_max_pool",
                            {Blocks(y.plane(), kFlatThreads), static_cast<uint32_t>(y.channels)},
                            {kFlatThreads, 1},
                            {Buffer(x), Buffer(y), Value(Window(x, y, kernel, stride, pad))}});
  return y;
}

Tensor PlanBuilder::GlobalAveragePool(const Tensor& x) {
  const Tensor y = NewTensor(x.channels, 1, 1);
  plan_.launches.push_back({"wl_average_pool",
                            {static_cast<uint32_t>(x.channels), 1},
                            {kAverageThreads, 1},
                            {Buffer(x), Buffer(y), Value(x.plane())}});
  return y;
}

Tensor PlanBuilder::Linear(const Tensor& x, int outputs) {
  const Tensor y = NewTensor(outputs, 1, 1);
  const float bound = 1.0f / std::sqrt(static_cast<float>(x.count()));
  const uint64_t weights =
      NewWeights(static_cast<uint64_t>(x.count()) * static_cast<uint64_t>(outputs), -bound, bound);
  const uint64_t bias = NewWeights(static_cast<uint64_t>(outputs), -bound, bound);
  plan_.launches.push_back(
      {"wl_linear",
       {Blocks(outputs, kLinearThreads), 1},
       {kLinearThreads, 1},
       {Buffer(x), Weights(weights), Weights(bias), Buffer(y), Value(x.count()), Value(outputs)}});
  return y;
}

void PlanBuilder::Release(const Tensor& x) { free_[x.buffer] = true; }

Plan PlanBuilder::Finish(const Tensor& output) {
  plan_.output_buffer = output.buffer;
  plan_.output_count = static_cast<uint64_t>(output.count());
  return std::move(plan_);
}

}  // namespace workloads
