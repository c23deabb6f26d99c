// SPDX-License-Identifier: Apache-2.0
// The kernels of the probe programs.
#include "tools/workloads/kernels/cuda_words.h"
#include "tools/workloads/kernels/element_math.h"

namespace workloads {

// Busy for a time in proportion to `rounds`; one float a thread is kept.
extern "C" __global__ void __launch_bounds__(256) wl_busy(float* kept, int rounds) {
  const unsigned i = GlobalX();
  float value = kept[i];
  for (int r = 0; r < rounds; ++r) value = MultiplyAdd(0.5f, value, 0.5f);
  kept[i] = value;
}

// Eight arguments of many sizes; all go into the chain, one thread does the work.
extern "C" __global__ void wl_eight(unsigned long long* chain, unsigned char a, unsigned short b,
                                    unsigned c, unsigned long long d, float e, double f,
                                    const unsigned* addend) {
  if (GlobalX() != 0) return;
  const unsigned long long sum = static_cast<unsigned long long>(a) + b + c + d +
                                 static_cast<unsigned long long>(e) +
                                 static_cast<unsigned long long>(f) + *addend;
  *chain = ChainStep(*chain, sum);
}

extern "C" __global__ void __launch_bounds__(256)
    wl_mix(unsigned* data, int n, unsigned multiplier, unsigned addend) {
  const int i = static_cast<int>(GlobalX());
  if (i < n) data[i] = MixStep(data[i], multiplier, addend);
}

}  // namespace workloads
