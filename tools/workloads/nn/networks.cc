// SPDX-License-Identifier: Apache-2.0
// The layer sequences of the networks.
#include "tools/workloads/nn/plan.h"
#include "tools/workloads/nn/plan_builder.h"

namespace workloads {
namespace {

constexpr int kClasses = 1000;

// conv, norm; the caller says what follows. `x` is not needed afterwards unless `keep`.
Tensor ConvNorm(PlanBuilder& net, const Tensor& x, int channels, int kernel, int stride,
                bool keep) {
  const Tensor y = net.Conv(x, channels, kernel, stride, kernel / 2);
  if (!keep) net.Release(x);
  net.BatchNorm(y);
  return y;
}

// Two 3x3 convolutions around a shortcut; the shortcut is a 1x1 convolution where the shape
// changes.
Tensor BasicBlock(PlanBuilder& net, const Tensor& x, int channels, int stride) {
  const Tensor first = ConvNorm(net, x, channels, 3, stride, true);
  net.Relu(first);
  const Tensor second = ConvNorm(net, first, channels, 3, 1, false);
  const bool same = stride == 1 && x.channels == channels;
  const Tensor shortcut = same ? x : ConvNorm(net, x, channels, 1, stride, false);
  net.AddTo(second, shortcut);
  net.Release(shortcut);
  net.Relu(second);
  return second;
}

Tensor Classify(PlanBuilder& net, const Tensor& x) {
  const Tensor mean = net.GlobalAveragePool(x);
  net.Release(x);
  return net.Linear(mean, kClasses);
}

// 3x3 on every channel, then 1x1 across channels.
Tensor SeparableBlock(PlanBuilder& net, const Tensor& x, int channels, int stride) {
  const Tensor depthwise = net.Depthwise(x, 3, stride, 1);
  net.Release(x);
  net.BatchNorm(depthwise);
  net.Relu(depthwise);
  const Tensor pointwise = ConvNorm(net, depthwise, channels, 1, 1, false);
  net.Relu(pointwise);
  return pointwise;
}

}  // namespace

Plan ResNet18(InputSize input, int blocks_per_group) {
  PlanBuilder net("resnet18");
  Tensor x = net.Input(3, input);
  x = ConvNorm(net, x, 64, 7, 2, false);
  net.Relu(x);
  const Tensor pooled = net.MaxPool(x, 3, 2, 1);
  net.Release(x);
  x = pooled;
  for (const int channels : {64, 128, 256, 512}) {
    x = BasicBlock(net, x, channels, channels == 64 ? 1 : 2);
    for (int block = 1; block < blocks_per_group; ++block) x = BasicBlock(net, x, channels, 1);
  }
  return net.Finish(Classify(net, x));
}

Plan MobileNetV1(InputSize input) {
  PlanBuilder net("mobilenet");
  Tensor x = net.Input(3, input);
  x = ConvNorm(net, x, 32, 3, 2, false);
  net.Relu(x);
  struct Block {
    int channels;
    int stride;
  };
  constexpr Block kBlocks[] = {{64, 1},  {128, 2},  {128, 1}, {256, 2}, {256, 1},
                               {512, 2}, {512, 1},  {512, 1}, {512, 1}, {512, 1},
                               {512, 1}, {1024, 2}, {1024, 1}};
  for (const Block& block : kBlocks) x = SeparableBlock(net, x, block.channels, block.stride);
  return net.Finish(Classify(net, x));
}

}  // namespace workloads
