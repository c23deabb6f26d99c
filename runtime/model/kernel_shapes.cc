// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/kernel_shapes.h"

#include <cmath>
#include <cstdint>

namespace sgprs::model {
namespace {

constexpr uint32_t kThreads = 256;
constexpr double kGemmTile = 64;         // rows and columns of C per block
constexpr double kGemmWideTile = 128;    // rows, where there are as many
constexpr double kLeastGemmBlocks = 32;  // below, the K loop is split over blocks

}  // namespace

KernelGeometry Elementwise(double elements, double bytes) {
  KernelGeometry kernel;
  kernel.blocks = static_cast<uint64_t>(std::ceil(elements / kThreads));
  kernel.threads = kThreads;
  kernel.flops = elements;
  kernel.dram_bytes = bytes;
  return kernel;
}

KernelGeometry Gemm(double m, double n, double k) {
  const double rows = m >= kGemmWideTile && n >= 1024 ? kGemmWideTile : kGemmTile;
  double blocks = std::ceil(m / rows) * std::ceil(n / kGemmTile);
  if (blocks < kLeastGemmBlocks) blocks *= std::ceil(kLeastGemmBlocks / blocks);
  KernelGeometry kernel;
  kernel.blocks = static_cast<uint64_t>(blocks);
  kernel.threads = kThreads;
  kernel.flops = 2 * m * n * k;
  kernel.dram_bytes = kFloatBytes * (m * k + k * n + m * n);
  return kernel;
}

void Convolution(double in, double out, double size, double filter, Kernels* kernels) {
  const double pixels = size * size;
  const double columns = in * filter * filter * pixels;
  if (filter > 1) {
    kernels->push_back(Elementwise(in * pixels, kFloatBytes * (in * pixels + columns)));
  }
  kernels->push_back(Gemm(out, pixels, in * filter * filter));
}

KernelGeometry FullyConnected(double in, double out) {
  KernelGeometry kernel = Elementwise(out * 64, kFloatBytes * in * out);
  kernel.flops = 2 * in * out;
  return kernel;
}

}  // namespace sgprs::model
