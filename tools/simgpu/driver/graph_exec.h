// SPDX-License-Identifier: Apache-2.0
// What can be launched of a graph: a copy of it, laid out over streams of its own.
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_GRAPH_EXEC_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_GRAPH_EXEC_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "tools/simgpu/driver/graph.h"

namespace sgprs::simgpu::driver {

// A CUgraphExec.
struct GraphExec {
  // A node, or the begin or end of a child graph (`node` is nullptr then).
  struct Step {
    GraphNode* node = nullptr;  // of `graph` or of a child in it
    Context* view = nullptr;    // nullptr: any
    std::vector<uint32_t> dependencies;
    uint32_t lane = 0;
    bool leaf = true;
  };
  std::mutex mutex;         // one launch at a time is sent; changes of the parameters too
  Graph* source = nullptr;  // only to count; it may be gone
  Graph* graph = nullptr;   // our copy
  std::unordered_map<const GraphNode*, GraphNode*> by_origin;  // nodes of the copy, children's too
  unsigned long long flags = 0;
  std::vector<Step> steps;
  std::vector<Stream*>
      lanes;  // made at the first launch: SMs are the nodes', priority the launch's
  int lane_priority = 0;
  bool chain = true;             // one node after the other, all of one view
  std::vector<uint64_t> leaves;  // last commands of the newest launch
};

using ExecArena = Arena<GraphExec, 16384>;
ExecArena& Execs();

// INVALID_VALUE: a cycle (*bad_node is one of it), or memory nodes that another executable has.
CUresult Instantiate(Graph* graph, unsigned long long flags, GraphExec** exec,
                     GraphNode** bad_node);
CUresult LaunchExec(GraphExec* exec, Stream* stream);
void DropExec(GraphExec* exec);

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_GRAPH_EXEC_H_
