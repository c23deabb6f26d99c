// SPDX-License-Identifier: Apache-2.0
// cuGraphAdd*Node, cuGraph*NodeSetParams, cuGraphExec*NodeSetParams: the calls for one type fill
// the general form and share its way.
#include <cstring>

#include "tools/simgpu/driver/graph_api.h"
#include "tools/simgpu/driver/graph_content.h"

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

namespace {

CUresult Add(CUgraphNode* out, CUgraph handle, const CUgraphNode* dependencies,
             const CUgraphEdgeData* data, size_t count, CUgraphNodeParams* params) {
  Graph* graph;
  if (CUresult bad = EnterWithGraph(handle, &graph)) return bad;
  if (out == nullptr || params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<GraphEdge> edges;
  if (CUresult bad = ReadEdges(graph, dependencies, data, count, &edges)) return bad;
  NodeContent content;
  if (CUresult bad = MakeContent(params, {}, &content)) return bad;
  GraphNode* node;
  if (CUresult result = AddNode(graph, edges, &node)) {
    DropContent(&content);
    return result;
  }
  node->content = std::move(content);
  *out = reinterpret_cast<CUgraphNode>(node);
  return CUDA_SUCCESS;
}

bool Settable(CUgraphNodeType type) {
  return type != CU_GRAPH_NODE_TYPE_EMPTY && type != CU_GRAPH_NODE_TYPE_MEM_ALLOC &&
         type != CU_GRAPH_NODE_TYPE_MEM_FREE;
}

CUresult Set(CUgraphNode handle, CUgraphNodeParams* params) {
  GraphNode* node;
  if (CUresult bad = EnterWithNode(handle, &node)) return bad;
  if (params == nullptr || params->type != node->content.type || !Settable(params->type)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (params->type == CU_GRAPH_NODE_TYPE_GRAPH) return CUDA_ERROR_INVALID_VALUE;
  NodeContent content;
  if (CUresult bad = MakeContent(params, node->content.attributes, &content)) return bad;
  DropContent(&node->content);
  node->content = std::move(content);
  return CUDA_SUCCESS;
}

CUresult SetChild(GraphExec* exec, GraphNode* node, const CUgraphNodeParams& params);

CUresult SetInExec(CUgraphExec exec_handle, CUgraphNode node_handle, CUgraphNodeParams* params) {
  GraphExec* exec;
  GraphNode* node;
  if (CUresult bad = EnterWithExecNode(exec_handle, node_handle, &exec, &node)) return bad;
  if (params == nullptr || params->type != node->content.type || !Settable(params->type)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::lock_guard<std::mutex> lock(exec->mutex);
  if (params->type == CU_GRAPH_NODE_TYPE_GRAPH) return SetChild(exec, node, *params);
  NodeContent content;
  if (CUresult bad = MakeContent(params, node->content.attributes, &content)) return bad;
  if (CUresult bad = CheckReplacement(node->content, content)) {
    DropContent(&content);
    return bad;
  }
  DropContent(&node->content);
  node->content = std::move(content);
  return CUDA_SUCCESS;
}

CUresult SetChild(GraphExec*, GraphNode* node, const CUgraphNodeParams& params) {
  Graph* graph = params.graph.graph != nullptr ? Graphs().Find(params.graph.graph) : nullptr;
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  GraphNode* bad_node;
  GraphNode* bad_from;
  const CUgraphExecUpdateResult result =
      UpdateGraph(node->content.child, *graph, &bad_node, &bad_from);
  return result == CU_GRAPH_EXEC_UPDATE_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult Get(CUgraphNode handle, CUgraphNodeType type, void* out, CUgraphNodeParams* params) {
  GraphNode* node;
  if (CUresult bad = EnterWithNode(handle, &node)) return bad;
  if (out == nullptr || node->content.type != type) return CUDA_ERROR_INVALID_VALUE;
  return DescribeContent(node, params);
}

// A general form of one type, with `member` set; the older structures begin like the newest.
template <typename Params>
CUgraphNodeParams Form(CUgraphNodeType type, const Params& params) {
  CUgraphNodeParams form;
  memset(&form, 0, sizeof(form));
  constexpr size_t kBytes = sizeof(Params);  // NOLINT(bugprone-sizeof-expression): a handle, too
  static_assert(kBytes <= sizeof(form.reserved1));
  form.type = type;
  memcpy(&form.kernel, &params, kBytes);
  return form;
}

CUgraphNodeParams CopyForm(const CUDA_MEMCPY3D& copy, CUcontext context) {
  CUDA_MEMCPY_NODE_PARAMS params{};
  params.copyParams = copy;
  params.copyCtx = context;
  return Form(CU_GRAPH_NODE_TYPE_MEMCPY, params);
}

CUgraphNodeParams FillForm(const CUDA_MEMSET_NODE_PARAMS& fill, CUcontext context) {
  CUDA_MEMSET_NODE_PARAMS_v2 params{};
  memcpy(&params, &fill, sizeof(fill));
  params.ctx = context;
  return Form(CU_GRAPH_NODE_TYPE_MEMSET, params);
}

// The context that a node has already: calls without one keep it.
CUcontext ViewOf(CUgraphNode handle) {
  const GraphNode* node = handle != nullptr ? Nodes().Find(handle) : nullptr;
  return node != nullptr ? reinterpret_cast<CUcontext>(node->content.view) : nullptr;
}

}  // namespace

SIM_API CUresult cuGraphAddNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                                const CUgraphNode* dependencies, size_t numDependencies,
                                CUgraphNodeParams* nodeParams) {
  return Add(phGraphNode, hGraph, dependencies, nullptr, numDependencies, nodeParams);
}
SIM_API CUresult cuGraphAddNode_v2(CUgraphNode* phGraphNode, CUgraph hGraph,
                                   const CUgraphNode* dependencies,
                                   const CUgraphEdgeData* dependencyData, size_t numDependencies,
                                   CUgraphNodeParams* nodeParams) {
  return Add(phGraphNode, hGraph, dependencies, dependencyData, numDependencies, nodeParams);
}
SIM_API CUresult cuGraphNodeSetParams(CUgraphNode hNode, CUgraphNodeParams* nodeParams) {
  return Set(hNode, nodeParams);
}
SIM_API CUresult cuGraphExecNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                          CUgraphNodeParams* nodeParams) {
  return SetInExec(hGraphExec, hNode, nodeParams);
}

// One family of calls: SUFFIX of the name, TYPE of node, PARAMS structure. Add, Set, Exec set.
#define GRAPH_NODE_CALLS(ADD, SET, EXEC_SET, TYPE, PARAMS)                                         \
  SIM_API CUresult ADD(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,  \
                       size_t numDependencies, const PARAMS* nodeParams) {                         \
    if (CUresult status = Enter()) return status;                                                  \
    if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;                                    \
    CUgraphNodeParams form = Form(TYPE, *nodeParams);                                              \
    return Add(phGraphNode, hGraph, dependencies, nullptr, numDependencies, &form);                \
  }                                                                                                \
  SIM_API CUresult SET(CUgraphNode hNode, const PARAMS* nodeParams) {                              \
    if (CUresult status = Enter()) return status;                                                  \
    if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;                                    \
    CUgraphNodeParams form = Form(TYPE, *nodeParams);                                              \
    return Set(hNode, &form);                                                                      \
  }                                                                                                \
  SIM_API CUresult EXEC_SET(CUgraphExec hGraphExec, CUgraphNode hNode, const PARAMS* nodeParams) { \
    if (CUresult status = Enter()) return status;                                                  \
    if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;                                    \
    CUgraphNodeParams form = Form(TYPE, *nodeParams);                                              \
    return SetInExec(hGraphExec, hNode, &form);                                                    \
  }

// Names that generate.py looks for.
GRAPH_NODE_CALLS(cuGraphAddKernelNode, cuGraphKernelNodeSetParams, cuGraphExecKernelNodeSetParams,
                 CU_GRAPH_NODE_TYPE_KERNEL, CUDA_KERNEL_NODE_PARAMS_v1)
GRAPH_NODE_CALLS(cuGraphAddKernelNode_v2, cuGraphKernelNodeSetParams_v2,
                 cuGraphExecKernelNodeSetParams_v2, CU_GRAPH_NODE_TYPE_KERNEL,
                 CUDA_KERNEL_NODE_PARAMS)
GRAPH_NODE_CALLS(cuGraphAddHostNode, cuGraphHostNodeSetParams, cuGraphExecHostNodeSetParams,
                 CU_GRAPH_NODE_TYPE_HOST, CUDA_HOST_NODE_PARAMS)
GRAPH_NODE_CALLS(cuGraphAddBatchMemOpNode, cuGraphBatchMemOpNodeSetParams,
                 cuGraphExecBatchMemOpNodeSetParams, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
                 CUDA_BATCH_MEM_OP_NODE_PARAMS)

SIM_API CUresult cuGraphKernelNodeGetParams(CUgraphNode hNode,
                                            CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
  CUgraphNodeParams form;
  if (CUresult bad = Get(hNode, CU_GRAPH_NODE_TYPE_KERNEL, nodeParams, &form)) return bad;
  memcpy(nodeParams, &form.kernel, sizeof(*nodeParams));
  return CUDA_SUCCESS;
}
SIM_API CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode hNode,
                                               CUDA_KERNEL_NODE_PARAMS* nodeParams) {
  CUgraphNodeParams form;
  if (CUresult bad = Get(hNode, CU_GRAPH_NODE_TYPE_KERNEL, nodeParams, &form)) return bad;
  memcpy(nodeParams, &form.kernel, sizeof(*nodeParams));
  return CUDA_SUCCESS;
}

SIM_API CUresult cuGraphAddMemcpyNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                                      const CUgraphNode* dependencies, size_t numDependencies,
                                      const CUDA_MEMCPY3D* copyParams, CUcontext ctx) {
  if (CUresult status = Enter()) return status;
  if (copyParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUgraphNodeParams form = CopyForm(*copyParams, ctx);
  return Add(phGraphNode, hGraph, dependencies, nullptr, numDependencies, &form);
}
SIM_API CUresult cuGraphMemcpyNodeGetParams(CUgraphNode hNode, CUDA_MEMCPY3D* nodeParams) {
  CUgraphNodeParams form;
  if (CUresult bad = Get(hNode, CU_GRAPH_NODE_TYPE_MEMCPY, nodeParams, &form)) return bad;
  *nodeParams = form.memcpy.copyParams;
  return CUDA_SUCCESS;
}
SIM_API CUresult cuGraphMemcpyNodeSetParams(CUgraphNode hNode, const CUDA_MEMCPY3D* nodeParams) {
  if (CUresult status = Enter()) return status;
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUgraphNodeParams form = CopyForm(*nodeParams, ViewOf(hNode));
  return Set(hNode, &form);
}
SIM_API CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                const CUDA_MEMCPY3D* copyParams, CUcontext ctx) {
  if (CUresult status = Enter()) return status;
  if (copyParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUgraphNodeParams form = CopyForm(*copyParams, ctx);
  return SetInExec(hGraphExec, hNode, &form);
}

SIM_API CUresult cuGraphAddMemsetNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                                      const CUgraphNode* dependencies, size_t numDependencies,
                                      const CUDA_MEMSET_NODE_PARAMS* memsetParams, CUcontext ctx) {
  if (CUresult status = Enter()) return status;
  if (memsetParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUgraphNodeParams form = FillForm(*memsetParams, ctx);
  return Add(phGraphNode, hGraph, dependencies, nullptr, numDependencies, &form);
}
SIM_API CUresult cuGraphMemsetNodeGetParams(CUgraphNode hNode,
                                            CUDA_MEMSET_NODE_PARAMS* nodeParams) {
  CUgraphNodeParams form;
  if (CUresult bad = Get(hNode, CU_GRAPH_NODE_TYPE_MEMSET, nodeParams, &form)) return bad;
  memcpy(nodeParams, &form.memset, sizeof(*nodeParams));
  return CUDA_SUCCESS;
}
SIM_API CUresult cuGraphMemsetNodeSetParams(CUgraphNode hNode,
                                            const CUDA_MEMSET_NODE_PARAMS* nodeParams) {
  if (CUresult status = Enter()) return status;
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUgraphNodeParams form = FillForm(*nodeParams, ViewOf(hNode));
  return Set(hNode, &form);
}
SIM_API CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                const CUDA_MEMSET_NODE_PARAMS* memsetParams,
                                                CUcontext ctx) {
  if (CUresult status = Enter()) return status;
  if (memsetParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUgraphNodeParams form = FillForm(*memsetParams, ctx);
  return SetInExec(hGraphExec, hNode, &form);
}

SIM_API CUresult cuGraphHostNodeGetParams(CUgraphNode hNode, CUDA_HOST_NODE_PARAMS* nodeParams) {
  CUgraphNodeParams form;
  if (CUresult bad = Get(hNode, CU_GRAPH_NODE_TYPE_HOST, nodeParams, &form)) return bad;
  memcpy(nodeParams, &form.host, sizeof(*nodeParams));
  return CUDA_SUCCESS;
}
SIM_API CUresult cuGraphBatchMemOpNodeGetParams(CUgraphNode hNode,
                                                CUDA_BATCH_MEM_OP_NODE_PARAMS* nodeParams_out) {
  CUgraphNodeParams form;
  if (CUresult bad = Get(hNode, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, nodeParams_out, &form)) return bad;
  memcpy(nodeParams_out, &form.memOp, sizeof(*nodeParams_out));
  return CUDA_SUCCESS;
}

SIM_API CUresult cuGraphAddEmptyNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                                     const CUgraphNode* dependencies, size_t numDependencies) {
  CUgraphNodeParams form = Form(CU_GRAPH_NODE_TYPE_EMPTY, 0);
  return Add(phGraphNode, hGraph, dependencies, nullptr, numDependencies, &form);
}

SIM_API CUresult cuGraphAddChildGraphNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                                          const CUgraphNode* dependencies, size_t numDependencies,
                                          CUgraph childGraph) {
  CUgraphNodeParams form = Form(CU_GRAPH_NODE_TYPE_GRAPH, childGraph);
  return Add(phGraphNode, hGraph, dependencies, nullptr, numDependencies, &form);
}
SIM_API CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode hNode, CUgraph* phGraph) {
  CUgraphNodeParams form;
  if (CUresult bad = Get(hNode, CU_GRAPH_NODE_TYPE_GRAPH, phGraph, &form)) return bad;
  *phGraph = form.graph.graph;
  return CUDA_SUCCESS;
}
SIM_API CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                    CUgraph childGraph) {
  CUgraphNodeParams form = Form(CU_GRAPH_NODE_TYPE_GRAPH, childGraph);
  return SetInExec(hGraphExec, hNode, &form);
}

SIM_API CUresult cuGraphAddEventRecordNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                                           const CUgraphNode* dependencies, size_t numDependencies,
                                           CUevent event) {
  CUgraphNodeParams form = Form(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
  return Add(phGraphNode, hGraph, dependencies, nullptr, numDependencies, &form);
}
SIM_API CUresult cuGraphAddEventWaitNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                                         const CUgraphNode* dependencies, size_t numDependencies,
                                         CUevent event) {
  CUgraphNodeParams form = Form(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
  return Add(phGraphNode, hGraph, dependencies, nullptr, numDependencies, &form);
}
SIM_API CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode hNode, CUevent* event_out) {
  CUgraphNodeParams form;
  if (CUresult bad = Get(hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event_out, &form)) return bad;
  *event_out = form.eventRecord.event;
  return CUDA_SUCCESS;
}
SIM_API CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode hNode, CUevent* event_out) {
  CUgraphNodeParams form;
  if (CUresult bad = Get(hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event_out, &form)) return bad;
  *event_out = form.eventWait.event;
  return CUDA_SUCCESS;
}
SIM_API CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode hNode, CUevent event) {
  CUgraphNodeParams form = Form(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
  return Set(hNode, &form);
}
SIM_API CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode hNode, CUevent event) {
  CUgraphNodeParams form = Form(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
  return Set(hNode, &form);
}
SIM_API CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                    CUevent event) {
  CUgraphNodeParams form = Form(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
  return SetInExec(hGraphExec, hNode, &form);
}
SIM_API CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                  CUevent event) {
  CUgraphNodeParams form = Form(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
  return SetInExec(hGraphExec, hNode, &form);
}

SIM_API CUresult cuGraphAddMemAllocNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                                        const CUgraphNode* dependencies, size_t numDependencies,
                                        CUDA_MEM_ALLOC_NODE_PARAMS* nodeParams) {
  if (CUresult status = Enter()) return status;
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUgraphNodeParams form = Form(CU_GRAPH_NODE_TYPE_MEM_ALLOC, *nodeParams);
  if (CUresult bad = Add(phGraphNode, hGraph, dependencies, nullptr, numDependencies, &form)) {
    return bad;
  }
  nodeParams->dptr = form.alloc.dptr;
  return CUDA_SUCCESS;
}
SIM_API CUresult cuGraphMemAllocNodeGetParams(CUgraphNode hNode,
                                              CUDA_MEM_ALLOC_NODE_PARAMS* params_out) {
  CUgraphNodeParams form;
  if (CUresult bad = Get(hNode, CU_GRAPH_NODE_TYPE_MEM_ALLOC, params_out, &form)) return bad;
  memcpy(params_out, &form.alloc, sizeof(*params_out));
  return CUDA_SUCCESS;
}
SIM_API CUresult cuGraphAddMemFreeNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                                       const CUgraphNode* dependencies, size_t numDependencies,
                                       CUdeviceptr dptr) {
  CUgraphNodeParams form = Form(CU_GRAPH_NODE_TYPE_MEM_FREE, dptr);
  return Add(phGraphNode, hGraph, dependencies, nullptr, numDependencies, &form);
}
SIM_API CUresult cuGraphMemFreeNodeGetParams(CUgraphNode hNode, CUdeviceptr* dptr_out) {
  CUgraphNodeParams form;
  if (CUresult bad = Get(hNode, CU_GRAPH_NODE_TYPE_MEM_FREE, dptr_out, &form)) return bad;
  *dptr_out = form.free.dptr;
  return CUDA_SUCCESS;
}
