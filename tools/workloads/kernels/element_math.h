// SPDX-License-Identifier: Apache-2.0
// What one element of each kernel is, compiled both into the PTX and into the host bodies. Products
// are rounded before they are added (-ffp-contract=off on both sides), so results are equal to the
// bit, on a real device too.
#ifndef SGPRS_TOOLS_WORKLOADS_KERNELS_ELEMENT_MATH_H_
#define SGPRS_TOOLS_WORKLOADS_KERNELS_ELEMENT_MATH_H_

#ifdef __CUDA__
#define WORKLOADS_BOTH __attribute__((device)) inline
#else
#define WORKLOADS_BOTH inline
#endif

namespace workloads {

WORKLOADS_BOTH float MultiplyAdd(float sum, float a, float b) {
  const float product = a * b;
  return sum + product;
}
WORKLOADS_BOTH float Normalised(float x, float scale, float shift) {
  const float scaled = x * scale;
  return scaled + shift;
}
WORKLOADS_BOTH float Rectified(float x) { return x > 0.0f ? x : 0.0f; }
WORKLOADS_BOTH float Larger(float a, float b) { return a > b ? a : b; }
inline constexpr float kLowest = -3.402823466e+38f;

// One step of the integer kernels of the probes.
WORKLOADS_BOTH unsigned MixStep(unsigned value, unsigned multiplier, unsigned addend) {
  return value * multiplier + addend;
}
// Order matters: a launch lost, repeated or out of order shows.
WORKLOADS_BOTH unsigned long long ChainStep(unsigned long long chain, unsigned long long value) {
  return (chain ^ value) * 0x100000001b3ull;
}

}  // namespace workloads

#endif  // SGPRS_TOOLS_WORKLOADS_KERNELS_ELEMENT_MATH_H_
