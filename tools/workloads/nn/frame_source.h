// SPDX-License-Identifier: Apache-2.0
// The "camera": frame n is a base picture with some pixels that depend on n, so that a frame costs
// the program next to nothing and yet no two are equal.
#ifndef SGPRS_TOOLS_WORKLOADS_NN_FRAME_SOURCE_H_
#define SGPRS_TOOLS_WORKLOADS_NN_FRAME_SOURCE_H_

#include <cstdint>
#include <span>

#include "tools/workloads/nn/generator.h"

namespace workloads {

// Writes into memory of the caller's, which must outlive it and which nobody else writes.
class FrameSource {
 public:
  FrameSource(uint64_t seed, std::span<float> pixels) : seed_(Hash(~seed)), pixels_(pixels) {
    for (uint64_t i = 0; i < pixels_.size(); ++i) pixels_[i] = Base(i);
  }
  // Makes `pixels` frame `frame`, whatever frame they were.
  void Make(uint64_t frame) {
    for (uint64_t i = 0; i < kChanging; ++i) pixels_[Place(frame_, i)] = Base(Place(frame_, i));
    for (uint64_t i = 0; i < kChanging; ++i) {
      pixels_[Place(frame, i)] = Uniform(seed_ + frame + 1, i, -1.0f, 1.0f);
    }
    frame_ = frame;
  }

 private:
  static constexpr uint64_t kChanging = 64;
  float Base(uint64_t i) const { return Uniform(seed_, i, -1.0f, 1.0f); }
  uint64_t Place(uint64_t frame, uint64_t i) const {
    return (frame * kChanging * 3 + i * 7) % pixels_.size();
  }

  const uint64_t seed_;
  const std::span<float> pixels_;
  uint64_t frame_ = 0;
};

}  // namespace workloads

#endif  // SGPRS_TOOLS_WORKLOADS_NN_FRAME_SOURCE_H_
