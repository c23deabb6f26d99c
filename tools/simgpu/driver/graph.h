// SPDX-License-Identifier: Apache-2.0
// Graphs and their nodes. Not thread-safe for one graph, as the API says.
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_GRAPH_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_GRAPH_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "tools/simgpu/driver/api.h"
#include "tools/simgpu/driver/arena.h"
#include "tools/simgpu/driver/graph_memory.h"
#include "tools/simgpu/driver/objects.h"
#include "tools/simgpu/driver/op.h"
#include "tools/simgpu/driver/queue.h"
#include "tools/simgpu/driver/user_object.h"

namespace sgprs::simgpu::driver {

struct Graph;
struct GraphNode;

// A command as it will be sent at every launch. Owns the large parameters of its op.
struct NodeBody {
  NodeBody() = default;
  ~NodeBody();
  NodeBody(const NodeBody&) = delete;
  NodeBody& operator=(const NodeBody&) = delete;
  // nullptr: out of memory.
  std::unique_ptr<NodeBody> Clone() const;

  CommandKind kind = CommandKind::kNone;
  Op op;
  Command command{};
};
using NodeBodies = std::vector<std::unique_ptr<NodeBody>>;

// What an op does, without its place in the table; large parameters are copied. False: no memory.
bool CopyOpPayload(const Op& from, Op* to);

struct GraphEdge {
  GraphNode* from;
  CUgraphEdgeData data;
};

// What a node does. All of it changes at once (SetParams, updates).
struct NodeContent {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  NodeBodies bodies;        // sent in order; none: empty, child and memory nodes
  Context* view = nullptr;  // whose SMs it runs on; nullptr where there is nothing to run
  bool has_priority = false;
  int priority = 0;
  std::vector<CUlaunchAttribute> attributes;      // kernels
  std::vector<CUstreamBatchMemOpParams> mem_ops;  // as given
  CUDA_MEMSET_NODE_PARAMS_v2 fill{};              // as given
  CUDA_MEMCPY3D copy{};                           // as given, or as captured
  Event* event = nullptr;                         // record and wait nodes
  Graph* child = nullptr;                         // ours
  std::shared_ptr<GraphMemory> memory;            // allocation and free nodes
};

// A CUgraphNode.
struct GraphNode {
  Graph* graph = nullptr;
  uint64_t number = 0;  // in order of creation within the graph
  NodeContent content;
  std::vector<GraphEdge> dependencies;
  GraphNode* origin = nullptr;  // that it was cloned from; only a key, it may be gone
  bool enabled = true;          // in executables
  std::vector<void*> params;    // what cuGraphKernelNodeGetParams points to
};

// A CUgraph.
struct Graph {
  std::vector<GraphNode*> nodes;
  uint64_t next_number = 0;
  bool internal = false;  // of an executable or a node: not the program's to destroy
  int executables = 0;    // made of it; matters with memory nodes
  std::map<UserObject*, unsigned int> user_objects;  // references held
};

using GraphArena = Arena<Graph, 16384>;
using NodeArena = Arena<GraphNode, 1 << 17>;
GraphArena& Graphs();
NodeArena& Nodes();

CUresult NewGraph(Graph** graph);
// The dependencies are nodes of the graph, none twice.
CUresult AddNode(Graph* graph, const std::vector<GraphEdge>& dependencies, GraphNode** node);
void DropNode(GraphNode* node);
void DropGraph(Graph* graph);
// Nodes with `origin` set to those of `graph`, children too. `memory`: memory nodes are allowed
// (they share the memory). NOT_SUPPORTED: they are not, and there are some.
CUresult CloneGraph(const Graph& graph, bool memory, Graph** clone);
CUresult CloneContent(const NodeContent& from, bool memory, NodeContent* to);
void DropContent(NodeContent* content);
bool HasMemoryNodes(const Graph& graph);
// Every node after what it depends on; among those that could be next, the oldest first. False:
// there is a cycle.
bool TopologicalOrder(const Graph& graph, std::vector<GraphNode*>* order);

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_GRAPH_H_
