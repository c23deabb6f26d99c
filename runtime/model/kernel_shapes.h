// SPDX-License-Identifier: Apache-2.0
// How layers become kernels: convolution = im2col + GEMM, batch normalisation and ReLU one pass
// each. Our reading of a library built without cuDNN (facts/papers.md 1.9). Sizes are counts.
#ifndef SGPRS_RUNTIME_MODEL_KERNEL_SHAPES_H_
#define SGPRS_RUNTIME_MODEL_KERNEL_SHAPES_H_

#include <vector>

#include "runtime/model/kernel_cost.h"

namespace sgprs::model {

using Kernels = std::vector<KernelGeometry>;

inline constexpr double kFloatBytes = 4;

// One pass over `elements`, moving `bytes`.
KernelGeometry Elementwise(double elements, double bytes);
// C[m x n] += A[m x k] B[k x n].
KernelGeometry Gemm(double m, double n, double k);
// Appends a convolution whose output is size x size.
void Convolution(double in, double out, double size, double filter, Kernels* kernels);
// A fully connected layer, batch 1.
KernelGeometry FullyConnected(double in, double out);

}  // namespace sgprs::model

#endif  // SGPRS_RUNTIME_MODEL_KERNEL_SHAPES_H_
