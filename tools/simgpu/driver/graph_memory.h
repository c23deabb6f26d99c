// SPDX-License-Identifier: Apache-2.0
// What a memory allocation node allocates. The address is there from the node's creation on and
// stays the same; the memory lives as long as a graph or executable refers to it, and beyond if
// the program launched the graph and has not freed it yet.
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_GRAPH_MEMORY_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_GRAPH_MEMORY_H_

#include <atomic>
#include <memory>

#include "tools/simgpu/driver/api.h"

namespace sgprs::simgpu::driver {

struct MemoryPool;

class GraphMemory {
 public:
  static CUresult Make(const CUDA_MEM_ALLOC_NODE_PARAMS_v2& params,
                       std::shared_ptr<GraphMemory>* memory);
  ~GraphMemory();
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;

  const CUDA_MEM_ALLOC_NODE_PARAMS_v2& params() const { return params_; }
  CUdeviceptr address() const { return params_.dptr; }
  // Allocated by a launch, and not freed since.
  bool live() const { return live_; }
  void set_live(bool live) { live_ = live; }

 private:
  GraphMemory() = default;
  CUDA_MEM_ALLOC_NODE_PARAMS_v2 params_{};
  std::atomic<bool> live_{false};
};

// The allocation node's memory at that address, or nullptr.
std::shared_ptr<GraphMemory> FindGraphMemory(CUdeviceptr address);
// What cuDeviceGetGraphMemAttribute counts.
MemoryPool* GraphPool(int device);

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_GRAPH_MEMORY_H_
