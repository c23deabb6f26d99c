// SPDX-License-Identifier: Apache-2.0
// What a graph does, read from the driver when the application instantiates it, so that it can be
// made again with the SMs of another partition: a kernel node's SMs are those of the context that
// it was made in, whatever stream the graph is launched on (facts/cuda.md 2.9).
//
// Child graphs are read into their parent, empty nodes into their edges. What can not be made again
// leaves the graph fixed: memory nodes, conditionals, semaphores, memory operations, edges with
// data, kernels that the device updates or whose parameters are unknown.
#ifndef SGPRS_SHIM_GRAPH_GRAPH_TEMPLATE_H_
#define SGPRS_SHIM_GRAPH_GRAPH_TEMPLATE_H_

#include <cuda.h>

#include <cstdint>

#include "shim/record/kernel_table.h"

namespace sgprs::shim {

inline constexpr uint32_t kGraphAttributes = 12;

struct GraphNode {
  CUgraphNode origin = nullptr;  // the application's
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  bool enabled = true;
  uint32_t* dependencies = nullptr;  // indices of earlier nodes
  uint32_t dependency_count = 0;
  union {
    struct {
      CUfunction function;
      const KernelInfo* info;
      uint32_t grid[3];
      uint32_t block[3];
      uint32_t shared_bytes;
      unsigned char* params;  // info->param_bytes
    } kernel;
    CUDA_MEMCPY3D copy;
    CUDA_MEMSET_NODE_PARAMS fill;
    CUDA_HOST_NODE_PARAMS host;
    CUevent event;
  };
  CUlaunchAttribute attributes[kGraphAttributes];
  uint32_t attribute_count = 0;
  GraphNode() : copy() {}
};

class GraphTemplate {
 public:
  GraphTemplate() = default;
  ~GraphTemplate();
  GraphTemplate(const GraphTemplate&) = delete;
  GraphTemplate& operator=(const GraphTemplate&) = delete;

  // Reads `graph`. Application thread. False: it stays fixed, `why` says for what (a literal); the
  // counts and events below are right all the same as far as they were read.
  bool Read(CUgraph graph, const char** why);

  // Takes over new parameters of the application's node. False: not known, or not possible.
  bool SetKernel(CUgraphNode origin, const CUDA_KERNEL_NODE_PARAMS& params);
  // The node that `origin` became, or nullptr.
  GraphNode* Find(CUgraphNode origin);

  const GraphNode* nodes() const { return nodes_; }
  uint32_t size() const { return count_; }
  uint32_t kernels() const { return kernels_; }
  // Of names and geometry, not of addresses: the same in every run of the program.
  uint64_t Identity() const;

 private:
  struct List;
  class Level;
  bool ReadInto(CUgraph graph, const List& before, uint32_t depth, List* tails, const char** why);
  bool ReadOne(CUgraphNode node, const List& after, uint32_t depth, List* ends, const char** why);
  bool ReadNode(CUgraphNode origin, CUgraphNodeType type, const List& after, uint32_t* index,
                const char** why);
  void ReadKernel(GraphNode* node, const char** why);
  bool CopyKernel(GraphNode* node, const CUDA_KERNEL_NODE_PARAMS& params);

  GraphNode* nodes_ = nullptr;
  uint32_t count_ = 0;
  uint32_t room_ = 0;
  uint32_t kernels_ = 0;
};

}  // namespace sgprs::shim

#endif  // SGPRS_SHIM_GRAPH_GRAPH_TEMPLATE_H_
