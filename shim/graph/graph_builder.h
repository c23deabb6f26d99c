// SPDX-License-Identifier: Apache-2.0
// Makes an executable of a template whose kernels have the SMs of one stream: each kernel is
// captured on it into the new graph; everything else is added by description (facts/cuda.md 2.9).
#ifndef SGPRS_SHIM_GRAPH_GRAPH_BUILDER_H_
#define SGPRS_SHIM_GRAPH_GRAPH_BUILDER_H_

#include <cuda.h>

#include <atomic>
#include <cstdint>

#include "shim/graph/graph_template.h"

namespace sgprs::shim {

class GraphBuilder {
 public:
  // `stop`: gives up when set.
  GraphBuilder(CUstream stream, uint32_t partition, const std::atomic<bool>* stop)
      : stream_(stream), partition_(partition), stop_(stop) {}

  // Relaxed capture mode, the scheduled context current. False: nothing was made. On success the
  // caller owns all three; `nodes` has the template's order (free()).
  bool Build(const GraphTemplate& what, unsigned long long flags, CUgraph* graph,
             CUgraphNode** nodes, CUgraphExec* exec);

 private:
  bool Add(const GraphNode& node, CUgraph graph, CUgraphNode* made);
  bool AddKernel(const GraphNode& node, CUgraph graph, CUgraphNode* made);
  CUresult Launch(const GraphNode& node);

  CUstream stream_;
  uint32_t partition_;
  const std::atomic<bool>* stop_;
  CUgraphNode* after_ = nullptr;  // of the node that is being added
};

}  // namespace sgprs::shim

#endif  // SGPRS_SHIM_GRAPH_GRAPH_BUILDER_H_
