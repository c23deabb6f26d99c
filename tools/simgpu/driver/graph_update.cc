// SPDX-License-Identifier: Apache-2.0
// Executables change: whole updates, nodes switched on and off. Also attributes of kernel nodes.
#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "tools/simgpu/driver/graph_api.h"
#include "tools/simgpu/driver/graph_content.h"
#include "tools/simgpu/driver/launch_attributes.h"

namespace sgprs::simgpu::driver {
namespace {

CUgraphExecUpdateResult CheckPair(const GraphNode& now, const GraphNode& next) {
  if (now.content.type != next.content.type) return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
  if (now.content.memory != nullptr && now.content.memory != next.content.memory) {
    return CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
  }
  const bool kernel = now.content.type == CU_GRAPH_NODE_TYPE_KERNEL;
  if (kernel && now.content.view->root != next.content.view->root) {
    return CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
  }
  return CheckReplacement(now.content, next.content) == CUDA_SUCCESS
             ? CU_GRAPH_EXEC_UPDATE_SUCCESS
             : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
}

using Pairs = std::vector<std::pair<GraphNode*, GraphNode*>>;

// Pairs nodes by their order; checks edges, types and what may change, children too.
CUgraphExecUpdateResult Match(const Graph& now, const Graph& next, Pairs* pairs,
                              GraphNode** bad_node, GraphNode** bad_from) {
  std::vector<GraphNode*> ours;
  std::vector<GraphNode*> theirs;
  if (!TopologicalOrder(now, &ours) || !TopologicalOrder(next, &theirs) ||
      ours.size() != theirs.size()) {
    return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  }
  std::unordered_map<const GraphNode*, GraphNode*> partner;
  for (size_t i = 0; i < ours.size(); ++i) partner[theirs[i]] = ours[i];
  for (size_t i = 0; i < ours.size(); ++i) {
    *bad_node = theirs[i];
    if (ours[i]->dependencies.size() != theirs[i]->dependencies.size()) {
      return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    }
    for (const GraphEdge& edge : theirs[i]->dependencies) {
      const GraphNode* from = partner[edge.from];
      const bool known = std::any_of(ours[i]->dependencies.begin(), ours[i]->dependencies.end(),
                                     [&](const GraphEdge& mine) { return mine.from == from; });
      if (known) continue;
      *bad_from = edge.from;
      return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    }
    const CUgraphExecUpdateResult result = CheckPair(*ours[i], *theirs[i]);
    if (result != CU_GRAPH_EXEC_UPDATE_SUCCESS) return result;
    if (ours[i]->content.child == nullptr) {
      pairs->push_back({ours[i], theirs[i]});
      continue;
    }
    const CUgraphExecUpdateResult inner =
        Match(*ours[i]->content.child, *theirs[i]->content.child, pairs, bad_node, bad_from);
    if (inner != CU_GRAPH_EXEC_UPDATE_SUCCESS) return inner;
  }
  *bad_node = nullptr;
  return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

}  // namespace

CUgraphExecUpdateResult UpdateGraph(Graph* now, const Graph& next, GraphNode** bad_node,
                                    GraphNode** bad_from) {
  *bad_node = nullptr;
  *bad_from = nullptr;
  Pairs pairs;
  const CUgraphExecUpdateResult result = Match(*now, next, &pairs, bad_node, bad_from);
  if (result != CU_GRAPH_EXEC_UPDATE_SUCCESS) return result;
  std::vector<NodeContent> fresh(pairs.size());
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (CloneContent(pairs[i].second->content, true, &fresh[i]) == CUDA_SUCCESS) continue;
    for (NodeContent& content : fresh) DropContent(&content);
    return CU_GRAPH_EXEC_UPDATE_ERROR;
  }
  for (size_t i = 0; i < pairs.size(); ++i) {
    DropContent(&pairs[i].first->content);
    pairs[i].first->content = std::move(fresh[i]);
  }
  return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

}  // namespace sgprs::simgpu::driver

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

SIM_API CUresult cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph,
                                      CUgraphExecUpdateResultInfo* resultInfo) {
  GraphExec* exec;
  if (CUresult bad = EnterWithExec(hGraphExec, &exec)) return bad;
  Graph* graph;
  if (CUresult bad = EnterWithGraph(hGraph, &graph)) return bad;
  if (resultInfo == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard<std::mutex> lock(exec->mutex);
  GraphNode* node;
  GraphNode* from;
  resultInfo->result = UpdateGraph(exec->graph, *graph, &node, &from);
  resultInfo->errorNode = reinterpret_cast<CUgraphNode>(node);
  resultInfo->errorFromNode = reinterpret_cast<CUgraphNode>(from);
  return resultInfo->result == CU_GRAPH_EXEC_UPDATE_SUCCESS ? CUDA_SUCCESS
                                                            : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}
SIM_API CUresult cuGraphExecUpdate(CUgraphExec hGraphExec, CUgraph hGraph,
                                   CUgraphNode* hErrorNode_out,
                                   CUgraphExecUpdateResult* updateResult_out) {
  CUgraphExecUpdateResultInfo info{};
  const CUresult result = cuGraphExecUpdate_v2(hGraphExec, hGraph, &info);
  if (hErrorNode_out != nullptr) *hErrorNode_out = info.errorNode;
  if (updateResult_out != nullptr) *updateResult_out = info.result;
  return result;
}

namespace {

bool CanBeDisabled(CUgraphNodeType type) {
  return type == CU_GRAPH_NODE_TYPE_KERNEL || type == CU_GRAPH_NODE_TYPE_MEMSET ||
         type == CU_GRAPH_NODE_TYPE_MEMCPY;
}

CUresult EnterWithKernelNode(CUgraphNode handle, GraphNode** node) {
  if (CUresult bad = EnterWithNode(handle, node)) return bad;
  return (*node)->content.type == CU_GRAPH_NODE_TYPE_KERNEL ? CUDA_SUCCESS
                                                            : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

SIM_API CUresult cuGraphNodeSetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode,
                                       unsigned int isEnabled) {
  GraphExec* exec;
  GraphNode* node;
  if (CUresult bad = EnterWithExecNode(hGraphExec, hNode, &exec, &node)) return bad;
  if (!CanBeDisabled(node->content.type)) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard<std::mutex> lock(exec->mutex);
  node->enabled = isEnabled != 0;
  return CUDA_SUCCESS;
}
SIM_API CUresult cuGraphNodeGetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode,
                                       unsigned int* isEnabled) {
  GraphExec* exec;
  GraphNode* node;
  if (CUresult bad = EnterWithExecNode(hGraphExec, hNode, &exec, &node)) return bad;
  if (isEnabled == nullptr || !CanBeDisabled(node->content.type)) return CUDA_ERROR_INVALID_VALUE;
  *isEnabled = node->enabled ? 1 : 0;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuGraphKernelNodeSetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                               const CUkernelNodeAttrValue* value) {
  GraphNode* node;
  if (CUresult bad = EnterWithKernelNode(hNode, &node)) return bad;
  if (value == nullptr || !IsKernelAttribute(attr)) return CUDA_ERROR_INVALID_VALUE;
  std::vector<CUlaunchAttribute> attributes = node->content.attributes;
  std::erase_if(attributes, [&](const CUlaunchAttribute& known) { return known.id == attr; });
  CUlaunchAttribute fresh{};
  fresh.id = attr;
  fresh.value = *value;
  attributes.push_back(fresh);
  return SetKernelAttributes(node, attributes);
}
SIM_API CUresult cuGraphKernelNodeGetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                               CUkernelNodeAttrValue* value_out) {
  GraphNode* node;
  if (CUresult bad = EnterWithKernelNode(hNode, &node)) return bad;
  if (value_out == nullptr || !IsKernelAttribute(attr)) return CUDA_ERROR_INVALID_VALUE;
  memset(value_out, 0, sizeof(*value_out));
  if (attr == CU_LAUNCH_ATTRIBUTE_PRIORITY) value_out->priority = node->content.priority;
  if (attr == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
    value_out->cooperative = static_cast<int>(node->content.bodies[0]->command.cooperative);
  }
  for (const CUlaunchAttribute& known : node->content.attributes) {
    if (known.id == attr) *value_out = known.value;
  }
  return CUDA_SUCCESS;
}
SIM_API CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src) {
  GraphNode* to;
  GraphNode* from;
  if (CUresult bad = EnterWithKernelNode(dst, &to)) return bad;
  if (CUresult bad = EnterWithKernelNode(src, &from)) return bad;
  return SetKernelAttributes(to, from->content.attributes);
}
