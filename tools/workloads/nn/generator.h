// SPDX-License-Identifier: Apache-2.0
// Deterministic numbers: weights and inputs are a function of seed and position only.
#ifndef SGPRS_TOOLS_WORKLOADS_NN_GENERATOR_H_
#define SGPRS_TOOLS_WORKLOADS_NN_GENERATOR_H_

#include <cstdint>
#include <cstring>
#include <span>

namespace workloads {

// SplitMix64 (Steele, Lea, Flood 2014) of one counter value.
inline uint64_t Hash(uint64_t value) {
  value += 0x9e3779b97f4a7c15ull;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
  return value ^ (value >> 31);
}

// Uniform in [low, high), of 24 random bits.
inline float Uniform(uint64_t seed, uint64_t index, float low, float high) {
  const auto bits = static_cast<float>(Hash(seed + index * 0xd1342543de82ef95ull) >> 40);
  const float unit = bits * (1.0f / 16777216.0f);
  const float scaled = unit * (high - low);
  return low + scaled;
}

// FNV-1a over bytes, to be continued from `hash`.
inline constexpr uint64_t kChecksumStart = 0xcbf29ce484222325ull;
inline uint64_t Checksum(uint64_t hash, std::span<const float> values) {
  for (const float value : values) {
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    for (int shift = 0; shift < 32; shift += 8) {
      hash = (hash ^ ((bits >> shift) & 0xff)) * 0x100000001b3ull;
    }
  }
  return hash;
}

}  // namespace workloads

#endif  // SGPRS_TOOLS_WORKLOADS_NN_GENERATOR_H_
