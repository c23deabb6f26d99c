// SPDX-License-Identifier: Apache-2.0
// What the files of cuGraph* share.
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_GRAPH_API_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_GRAPH_API_H_

#include <algorithm>
#include <vector>

#include "tools/simgpu/driver/graph_exec.h"
#include "tools/simgpu/driver/process.h"

namespace sgprs::simgpu::driver {

// Enter(), then what is behind the handle; INVALID_VALUE: nothing.
inline CUresult EnterWithGraph(CUgraph handle, Graph** graph) {
  if (CUresult status = Enter()) return status;
  *graph = handle != nullptr ? Graphs().Find(handle) : nullptr;
  return *graph != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
inline CUresult EnterWithNode(CUgraphNode handle, GraphNode** node) {
  if (CUresult status = Enter()) return status;
  *node = handle != nullptr ? Nodes().Find(handle) : nullptr;
  return *node != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
inline CUresult EnterWithExec(CUgraphExec handle, GraphExec** exec) {
  if (CUresult status = Enter()) return status;
  *exec = handle != nullptr ? Execs().Find(handle) : nullptr;
  return *exec != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
// The executable's node for one of the graph that it was made of.
inline CUresult EnterWithExecNode(CUgraphExec exec_handle, CUgraphNode node_handle,
                                  GraphExec** exec, GraphNode** node) {
  if (CUresult bad = EnterWithExec(exec_handle, exec)) return bad;
  GraphNode* original;
  if (CUresult bad = EnterWithNode(node_handle, &original)) return bad;
  const auto found = (*exec)->by_origin.find(original);
  if (found == (*exec)->by_origin.end()) return CUDA_ERROR_INVALID_VALUE;
  *node = found->second;
  return CUDA_SUCCESS;
}

// The API's way to return lists: NULL asks for the count; what is left over becomes NULL.
inline CUresult PutNodes(const std::vector<GraphNode*>& nodes, CUgraphNode* out, size_t* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (out == nullptr) {
    *count = nodes.size();
    return CUDA_SUCCESS;
  }
  for (size_t i = 0; i < *count; ++i) {
    out[i] = i < nodes.size() ? reinterpret_cast<CUgraphNode>(nodes[i]) : nullptr;
  }
  *count = std::min(*count, nodes.size());
  return CUDA_SUCCESS;
}

// Gives `now` (of an executable) the contents of `next`, which must look the same.
CUgraphExecUpdateResult UpdateGraph(Graph* now, const Graph& next, GraphNode** bad_node,
                                    GraphNode** bad_from);

// Edges to nodes of `graph`; `data` may be nullptr. INVALID_VALUE: of another graph, or twice.
CUresult ReadEdges(const Graph* graph, const CUgraphNode* nodes, const CUgraphEdgeData* data,
                   size_t count, std::vector<GraphEdge>* edges);

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_GRAPH_API_H_
