// SPDX-License-Identifier: Apache-2.0
// One copy engine: copies one after the other, in the order in which they became ready, at the
// bus's bandwidth. Time is the caller's. Not thread-safe.
#ifndef SGPRS_TOOLS_SIMGPU_DEVICE_COPY_ENGINE_H_
#define SGPRS_TOOLS_SIMGPU_DEVICE_COPY_ENGINE_H_

#include <cstdint>
#include <deque>
#include <vector>

namespace sgprs::simgpu {

struct CopyEnd {
  uint64_t tag;
  uint64_t start_ns;
  uint64_t end_ns;
};

class CopyEngine {
 public:
  CopyEngine(double bytes_per_ns, double latency_ns)
      : bytes_per_ns_(bytes_per_ns), latency_ns_(latency_ns) {}

  // Ready at `now_ns`.
  void Add(uint64_t tag, uint64_t bytes, uint64_t now_ns);
  // The copy vanishes; the engine goes on with the next one at `now_ns`.
  void Remove(uint64_t tag, uint64_t now_ns);
  // UINT64_MAX: idle.
  uint64_t NextEndNs() const;
  // Appends the copies that end at or before `to_ns`.
  void Advance(uint64_t to_ns, std::vector<CopyEnd>* ended);

 private:
  struct Copy {
    uint64_t tag;
    uint64_t bytes;
  };
  void StartFront(uint64_t now_ns);

  double bytes_per_ns_;
  double latency_ns_;
  std::deque<Copy> queue_;  // front: running
  uint64_t start_ns_ = 0;   // of the front
  uint64_t end_ns_ = 0;
};

}  // namespace sgprs::simgpu

#endif  // SGPRS_TOOLS_SIMGPU_DEVICE_COPY_ENGINE_H_
