// SPDX-License-Identifier: Apache-2.0
// Seeded draws whose values do not depend on a library: xoshiro256** seeded by splitmix64.
#ifndef SGPRS_RUNTIME_MODEL_RANDOM_H_
#define SGPRS_RUNTIME_MODEL_RANDOM_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace sgprs::model {

class Random {
 public:
  // Different streams of one seed are independent.
  Random(uint64_t seed, uint64_t stream) {
    uint64_t mix = seed * 0x9e3779b97f4a7c15 + stream * 0xd1b54a32d192ed03 + 1;
    for (uint64_t& word : state_) {
      mix += 0x9e3779b97f4a7c15;
      uint64_t z = mix;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
      z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
      word = z ^ (z >> 31);
    }
  }

  uint64_t Next() {
    const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }
  // [0, 1)
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }
  // [0, most], even but for 2^-64.
  uint64_t UpTo(uint64_t most) {
    if (most == UINT64_MAX) return Next();
    return static_cast<uint64_t>((static_cast<unsigned __int128>(Next()) * (most + 1)) >> 64);
  }
  // Log-normal of mean 1: sigma of the logarithm.
  double LogNormal(double sigma) {
    if (sigma <= 0) return 1;
    const double radius = std::sqrt(-2 * std::log(1 - Uniform()));
    const double normal = radius * std::cos(2 * std::numbers::pi * Uniform());
    return std::exp(sigma * normal - sigma * sigma / 2);
  }

 private:
  uint64_t state_[4];
};

}  // namespace sgprs::model

#endif  // SGPRS_RUNTIME_MODEL_RANDOM_H_
