// SPDX-License-Identifier: Apache-2.0
// cuGraph*: dependencies.
#include <algorithm>
#include <cstring>

#include "tools/simgpu/driver/graph_api.h"

namespace sgprs::simgpu::driver {
namespace {

bool KnownData(const CUgraphEdgeData& data) {
  for (unsigned char byte : data.reserved) {
    if (byte != 0) return false;
  }
  return data.from_port <= CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER && data.to_port == 0 &&
         data.type <= CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
}

bool SameData(const CUgraphEdgeData& a, const CUgraphEdgeData& b) {
  return memcmp(&a, &b, sizeof(a)) == 0;
}

}  // namespace

CUresult ReadEdges(const Graph* graph, const CUgraphNode* nodes, const CUgraphEdgeData* data,
                   size_t count, std::vector<GraphEdge>* edges) {
  if (nodes == nullptr && count > 0) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) {
    GraphNode* node = nodes[i] != nullptr ? Nodes().Find(nodes[i]) : nullptr;
    if (node == nullptr || node->graph != graph) return CUDA_ERROR_INVALID_VALUE;
    const CUgraphEdgeData plain{};
    const CUgraphEdgeData& how = data != nullptr ? data[i] : plain;
    if (!KnownData(how)) return CUDA_ERROR_INVALID_VALUE;
    for (const GraphEdge& edge : *edges) {
      if (edge.from == node) return CUDA_ERROR_INVALID_VALUE;
    }
    edges->push_back({node, how});
  }
  return CUDA_SUCCESS;
}

}  // namespace sgprs::simgpu::driver

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

namespace {

struct Pair {
  GraphNode* from;
  GraphNode* to;
  CUgraphEdgeData data;
};

// Lists of edges, or of one end of them. `lossy`: the caller has no room for the edges' kind.
CUresult PutEdges(const std::vector<Pair>& pairs, CUgraphNode* from, CUgraphNode* to,
                  CUgraphEdgeData* data, bool lossy, size_t* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const bool ask = from == nullptr && to == nullptr;
  if (ask) {
    *count = pairs.size();
    return CUDA_SUCCESS;
  }
  const size_t room = *count;
  for (size_t i = 0; i < room; ++i) {
    const bool there = i < pairs.size();
    if (there && data == nullptr && lossy && !SameData(pairs[i].data, CUgraphEdgeData{})) {
      return CUDA_ERROR_LOSSY_QUERY;
    }
    if (from != nullptr) from[i] = there ? reinterpret_cast<CUgraphNode>(pairs[i].from) : nullptr;
    if (to != nullptr) to[i] = there ? reinterpret_cast<CUgraphNode>(pairs[i].to) : nullptr;
    if (data != nullptr) data[i] = there ? pairs[i].data : CUgraphEdgeData{};
  }
  *count = std::min(room, pairs.size());
  return CUDA_SUCCESS;
}

std::vector<Pair> EdgesOf(const Graph& graph) {
  std::vector<Pair> pairs;
  for (GraphNode* node : graph.nodes) {
    for (const GraphEdge& edge : node->dependencies) pairs.push_back({edge.from, node, edge.data});
  }
  return pairs;
}

std::vector<GraphEdge>::iterator FindEdge(GraphNode* from, GraphNode* to) {
  return std::find_if(to->dependencies.begin(), to->dependencies.end(),
                      [&](const GraphEdge& edge) { return edge.from == from; });
}

// Checks all before it changes any.
CUresult Change(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to,
                const CUgraphEdgeData* data, size_t count, bool add) {
  Graph* graph;
  if (CUresult bad = EnterWithGraph(handle, &graph)) return bad;
  if (count > 0 && (from == nullptr || to == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  if (!add && HasMemoryNodes(*graph)) return CUDA_ERROR_NOT_SUPPORTED;
  std::vector<Pair> pairs;
  for (size_t i = 0; i < count; ++i) {
    std::vector<GraphEdge> begin;
    std::vector<GraphEdge> end;
    const CUgraphEdgeData* how = data != nullptr ? &data[i] : nullptr;
    if (CUresult bad = ReadEdges(graph, &from[i], how, 1, &begin)) return bad;
    if (CUresult bad = ReadEdges(graph, &to[i], nullptr, 1, &end)) return bad;
    const Pair pair{begin[0].from, end[0].from, begin[0].data};
    const auto known = FindEdge(pair.from, pair.to);
    const bool there = known != pair.to->dependencies.end();
    if (pair.from == pair.to || there == add) return CUDA_ERROR_INVALID_VALUE;
    if (there && !SameData(known->data, pair.data)) return CUDA_ERROR_INVALID_VALUE;
    for (const Pair& other : pairs) {
      if (other.from == pair.from && other.to == pair.to) return CUDA_ERROR_INVALID_VALUE;
    }
    pairs.push_back(pair);
  }
  for (const Pair& pair : pairs) {
    if (add) {
      pair.to->dependencies.push_back({pair.from, pair.data});
    } else {
      pair.to->dependencies.erase(FindEdge(pair.from, pair.to));
    }
  }
  return CUDA_SUCCESS;
}

CUresult GetEdges(CUgraph handle, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data,
                  size_t* count) {
  Graph* graph;
  if (CUresult bad = EnterWithGraph(handle, &graph)) return bad;
  if ((from == nullptr) != (to == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  return PutEdges(EdgesOf(*graph), from, to, data, true, count);
}

CUresult GetDependencies(CUgraphNode handle, CUgraphNode* nodes, CUgraphEdgeData* data,
                         size_t* count) {
  GraphNode* node;
  if (CUresult bad = EnterWithNode(handle, &node)) return bad;
  std::vector<Pair> pairs;
  for (const GraphEdge& edge : node->dependencies) pairs.push_back({edge.from, node, edge.data});
  return PutEdges(pairs, nodes, nullptr, data, true, count);
}

CUresult GetDependents(CUgraphNode handle, CUgraphNode* nodes, CUgraphEdgeData* data,
                       size_t* count) {
  GraphNode* node;
  if (CUresult bad = EnterWithNode(handle, &node)) return bad;
  std::vector<Pair> pairs = EdgesOf(*node->graph);
  std::erase_if(pairs, [&](const Pair& pair) { return pair.from != node; });
  return PutEdges(pairs, nullptr, nodes, data, true, count);
}

}  // namespace

SIM_API CUresult cuGraphAddDependencies(CUgraph hGraph, const CUgraphNode* from,
                                        const CUgraphNode* to, size_t numDependencies) {
  return Change(hGraph, from, to, nullptr, numDependencies, true);
}
SIM_API CUresult cuGraphAddDependencies_v2(CUgraph hGraph, const CUgraphNode* from,
                                           const CUgraphNode* to, const CUgraphEdgeData* edgeData,
                                           size_t numDependencies) {
  return Change(hGraph, from, to, edgeData, numDependencies, true);
}
SIM_API CUresult cuGraphRemoveDependencies(CUgraph hGraph, const CUgraphNode* from,
                                           const CUgraphNode* to, size_t numDependencies) {
  return Change(hGraph, from, to, nullptr, numDependencies, false);
}
SIM_API CUresult cuGraphRemoveDependencies_v2(CUgraph hGraph, const CUgraphNode* from,
                                              const CUgraphNode* to,
                                              const CUgraphEdgeData* edgeData,
                                              size_t numDependencies) {
  return Change(hGraph, from, to, edgeData, numDependencies, false);
}

SIM_API CUresult cuGraphGetEdges(CUgraph hGraph, CUgraphNode* from, CUgraphNode* to,
                                 size_t* numEdges) {
  return GetEdges(hGraph, from, to, nullptr, numEdges);
}
SIM_API CUresult cuGraphGetEdges_v2(CUgraph hGraph, CUgraphNode* from, CUgraphNode* to,
                                    CUgraphEdgeData* edgeData, size_t* numEdges) {
  return GetEdges(hGraph, from, to, edgeData, numEdges);
}

SIM_API CUresult cuGraphNodeGetDependencies(CUgraphNode hNode, CUgraphNode* dependencies,
                                            size_t* numDependencies) {
  return GetDependencies(hNode, dependencies, nullptr, numDependencies);
}
SIM_API CUresult cuGraphNodeGetDependencies_v2(CUgraphNode hNode, CUgraphNode* dependencies,
                                               CUgraphEdgeData* edgeData, size_t* numDependencies) {
  return GetDependencies(hNode, dependencies, edgeData, numDependencies);
}
SIM_API CUresult cuGraphNodeGetDependentNodes(CUgraphNode hNode, CUgraphNode* dependentNodes,
                                              size_t* numDependentNodes) {
  return GetDependents(hNode, dependentNodes, nullptr, numDependentNodes);
}
SIM_API CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode hNode, CUgraphNode* dependentNodes,
                                                 CUgraphEdgeData* edgeData,
                                                 size_t* numDependentNodes) {
  return GetDependents(hNode, dependentNodes, edgeData, numDependentNodes);
}
