// SPDX-License-Identifier: Apache-2.0
// Writes a Plan layer by layer. Tensors are handles; Release() says that nobody reads one any more,
// then a later layer gets its buffer.
#ifndef SGPRS_TOOLS_WORKLOADS_NN_PLAN_BUILDER_H_
#define SGPRS_TOOLS_WORKLOADS_NN_PLAN_BUILDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/workloads/kernels/kernel_types.h"
#include "tools/workloads/nn/plan.h"

namespace workloads {

struct Tensor {
  int channels;
  int height;
  int width;
  uint64_t buffer;
  int plane() const { return height * width; }
  int count() const { return channels * plane(); }
};

// Not thread-safe. Every layer is one launch; shapes are the caller's to keep in line.
class PlanBuilder {
 public:
  explicit PlanBuilder(std::string name) { plan_.name = std::move(name); }

  Tensor Input(int channels, InputSize size);
  Tensor Conv(const Tensor& x, int channels_out, int kernel, int stride, int pad);
  Tensor Depthwise(const Tensor& x, int kernel, int stride, int pad);
  void BatchNorm(const Tensor& x);                    // in place, folded to scale and shift
  void Relu(const Tensor& x);                         // in place
  void AddTo(const Tensor& x, const Tensor& addend);  // x += addend
  Tensor MaxPool(const Tensor& x, int kernel, int stride, int pad);
  Tensor GlobalAveragePool(const Tensor& x);
  Tensor Linear(const Tensor& x, int outputs);
  void Release(const Tensor& x);
  Plan Finish(const Tensor& output);

 private:
  Tensor NewTensor(int channels, int height, int width);
  uint64_t NewWeights(uint64_t count, float low, float high);  // offset in bytes
  static WindowShape Window(const Tensor& x, const Tensor& y, int kernel, int stride, int pad);

  Plan plan_;
  std::vector<bool> free_;  // by buffer
};

}  // namespace workloads

#endif  // SGPRS_TOOLS_WORKLOADS_NN_PLAN_BUILDER_H_
