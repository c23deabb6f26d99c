// SPDX-License-Identifier: Apache-2.0
// cuGraphDebugDotPrint.
#include <cstdio>

#include "tools/simgpu/driver/graph_api.h"
#include "tools/simgpu/driver/module.h"

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

namespace {

const char* NameOf(CUgraphNodeType type) {
  switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return "KERNEL";
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return "MEMCPY";
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return "MEMSET";
    case CU_GRAPH_NODE_TYPE_HOST:
      return "HOST";
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return "GRAPH";
    case CU_GRAPH_NODE_TYPE_EMPTY:
      return "EMPTY";
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return "EVENT_WAIT";
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return "EVENT_RECORD";
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return "MEM_ALLOC";
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return "MEM_FREE";
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return "BATCH_MEM_OP";
    default:
      return "OTHER";
  }
}

void PrintNode(std::FILE* file, const GraphNode& node, bool details) {
  const NodeContent& content = node.content;
  std::fprintf(file, "\"%p\"[shape=\"box\" label=\"%llu %s", static_cast<const void*>(&node),
               static_cast<unsigned long long>(node.number), NameOf(content.type));
  if (content.type == CU_GRAPH_NODE_TYPE_KERNEL) {
    const KernelOp& kernel = content.bodies[0]->op.kernel;
    std::fprintf(file, "\\n%s", kernel.info->image.name.c_str());
    if (details) {
      std::fprintf(file, "\\n<<<(%u,%u,%u),(%u,%u,%u),%u>>>", kernel.grid[0], kernel.grid[1],
                   kernel.grid[2], kernel.block[0], kernel.block[1], kernel.block[2],
                   kernel.shared_bytes);
    }
  }
  if (details && content.type == CU_GRAPH_NODE_TYPE_MEMCPY && !content.bodies.empty()) {
    std::fprintf(file, "\\n%llu bytes",
                 static_cast<unsigned long long>(content.bodies[0]->command.bytes));
  }
  std::fprintf(file, "\"];\n");
}

void PrintGraph(std::FILE* file, const Graph& graph, bool details) {
  std::fprintf(file, "subgraph \"cluster_%p\" {\n", static_cast<const void*>(&graph));
  for (const GraphNode* node : graph.nodes) PrintNode(file, *node, details);
  for (const GraphNode* node : graph.nodes) {
    for (const GraphEdge& edge : node->dependencies) {
      std::fprintf(file, "\"%p\" -> \"%p\";\n", static_cast<const void*>(edge.from),
                   static_cast<const void*>(node));
    }
  }
  std::fprintf(file, "}\n");
  for (const GraphNode* node : graph.nodes) {
    if (node->content.child != nullptr) PrintGraph(file, *node->content.child, details);
  }
}

}  // namespace

SIM_API CUresult cuGraphDebugDotPrint(CUgraph hGraph, const char* path, unsigned int flags) {
  Graph* graph;
  if (CUresult bad = EnterWithGraph(hGraph, &graph)) return bad;
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::FILE* file = std::fopen(path, "we");
  if (file == nullptr) return CUDA_ERROR_OPERATING_SYSTEM;
  std::fprintf(file, "digraph dot {\n");
  PrintGraph(file, *graph, flags != 0);
  std::fprintf(file, "}\n");
  return std::fclose(file) == 0 ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}
