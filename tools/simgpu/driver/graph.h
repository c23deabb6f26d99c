// SPDX-License-Identifier: Apache-2.0
// Graphs as captures make them, and what can be launched of them.
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_GRAPH_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_GRAPH_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "tools/simgpu/driver/api.h"
#include "tools/simgpu/driver/arena.h"
#include "tools/simgpu/driver/objects.h"
#include "tools/simgpu/driver/op.h"
#include "tools/simgpu/driver/queue.h"

namespace sgprs::simgpu::driver {

struct Graph;

// A command as it will be sent at every launch. Owns the large parameters of its op.
struct NodeBody {
  NodeBody() = default;
  ~NodeBody();
  NodeBody(const NodeBody&) = delete;
  NodeBody& operator=(const NodeBody&) = delete;
  std::unique_ptr<NodeBody> Clone() const;

  CommandKind kind = CommandKind::kNone;
  Op op;
  Command command{};
};

// A CUgraphNode.
struct GraphNode {
  Graph* graph = nullptr;
  uint32_t index = 0;  // in the graph; dependencies come before
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  std::unique_ptr<NodeBody> body;
  Context* view = nullptr;  // whose SMs it runs on: of the stream that it was captured from
  int priority = 0;
  std::vector<GraphNode*> dependencies;
  std::vector<void*> params;  // cuGraphKernelNodeGetParams
};

// A CUgraph. Not thread-safe, as the API says.
struct Graph {
  std::vector<GraphNode*> nodes;
};

// A CUgraphExec.
struct GraphExec {
  struct Step {
    std::unique_ptr<NodeBody> body;
    Context* view = nullptr;
    std::vector<uint32_t> dependencies;
    uint32_t lane = 0;
    bool leaf = true;
  };
  std::mutex mutex;  // one launch at a time is sent
  std::vector<Step> steps;
  std::vector<Stream*> lanes;    // the exec's own streams: SMs are the nodes', not the launch's
  bool chain = true;             // one node after the other, all of one view
  std::vector<uint64_t> leaves;  // last commands of the newest launch
};

using GraphArena = Arena<Graph, 16384>;
using NodeArena = Arena<GraphNode, 1 << 17>;
using ExecArena = Arena<GraphExec, 16384>;
GraphArena& Graphs();
NodeArena& Nodes();
ExecArena& Execs();

CUresult NewGraph(Graph** graph);
CUresult AddNode(Graph* graph, const std::vector<GraphNode*>& dependencies, GraphNode** node);
void DropGraph(Graph* graph);
CUresult Instantiate(const Graph& graph, GraphExec** exec);
CUresult LaunchExec(GraphExec* exec, Stream* stream);
void DropExec(GraphExec* exec);

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_GRAPH_H_
