// SPDX-License-Identifier: Apache-2.0
// cuGraph*: graphs as such, their nodes and edges, executables.
#include "tools/simgpu/driver/graph.h"

#include <algorithm>
#include <cstring>

#include "tools/simgpu/driver/capture.h"
#include "tools/simgpu/driver/graph_api.h"
#include "tools/simgpu/driver/graph_exec.h"
#include "tools/simgpu/driver/process.h"

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

namespace {

CUresult MakeExec(CUgraphExec* out, CUgraph handle, unsigned long long flags, CUgraphNode* bad) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  Graph* graph;
  if (CUresult error = EnterWithGraph(handle, &graph)) return error;
  constexpr unsigned long long kKnown =
      CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
      CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
  if (out == nullptr || (flags & ~kKnown) != 0 || graph->internal) return CUDA_ERROR_INVALID_VALUE;
  if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  GraphExec* exec;
  GraphNode* bad_node = nullptr;
  const CUresult result = Instantiate(graph, flags, &exec, &bad_node);
  if (bad != nullptr) *bad = reinterpret_cast<CUgraphNode>(bad_node);
  if (result != CUDA_SUCCESS) return result;
  *out = reinterpret_cast<CUgraphExec>(exec);
  return CUDA_SUCCESS;
}

}  // namespace

SIM_API CUresult cuGraphCreate(CUgraph* phGraph, unsigned int flags) {
  if (CUresult status = Enter()) return status;
  if (phGraph == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Graph* graph;
  if (CUresult result = NewGraph(&graph)) return result;
  *phGraph = reinterpret_cast<CUgraph>(graph);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuGraphDestroy(CUgraph hGraph) {
  Graph* graph;
  if (CUresult bad = EnterWithGraph(hGraph, &graph)) return bad;
  if (graph->internal) return CUDA_ERROR_INVALID_VALUE;
  DropGraph(graph);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuGraphClone(CUgraph* phGraphClone, CUgraph originalGraph) {
  Graph* graph;
  if (CUresult bad = EnterWithGraph(originalGraph, &graph)) return bad;
  if (phGraphClone == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Graph* clone;
  if (CUresult result = CloneGraph(*graph, false, &clone)) return result;
  *phGraphClone = reinterpret_cast<CUgraph>(clone);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuGraphNodeFindInClone(CUgraphNode* phNode, CUgraphNode hOriginalNode,
                                        CUgraph hClonedGraph) {
  Graph* graph;
  if (CUresult bad = EnterWithGraph(hClonedGraph, &graph)) return bad;
  GraphNode* original;
  if (CUresult bad = EnterWithNode(hOriginalNode, &original)) return bad;
  if (phNode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (GraphNode* node : graph->nodes) {
    if (node->origin != original) continue;
    *phNode = reinterpret_cast<CUgraphNode>(node);
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

SIM_API CUresult cuGraphInstantiateWithFlags(CUgraphExec* phGraphExec, CUgraph hGraph,
                                             unsigned long long flags) {
  return MakeExec(phGraphExec, hGraph, flags, nullptr);
}
SIM_API CUresult cuGraphInstantiate(CUgraphExec* phGraphExec, CUgraph hGraph,
                                    CUgraphNode* phErrorNode, char* logBuffer, size_t bufferSize) {
  if (phErrorNode != nullptr) *phErrorNode = nullptr;
  if (logBuffer != nullptr && bufferSize > 0) logBuffer[0] = '\0';
  return MakeExec(phGraphExec, hGraph, 0, phErrorNode);
}
SIM_API CUresult cuGraphInstantiate_v2(CUgraphExec* phGraphExec, CUgraph hGraph,
                                       CUgraphNode* phErrorNode, char* logBuffer,
                                       size_t bufferSize) {
  return cuGraphInstantiate(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}
SIM_API CUresult cuGraphInstantiateWithParams(CUgraphExec* phGraphExec, CUgraph hGraph,
                                              CUDA_GRAPH_INSTANTIATE_PARAMS* instantiateParams) {
  if (CUresult status = Enter()) return status;
  if (instantiateParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUgraphNode bad = nullptr;
  const CUresult result = MakeExec(phGraphExec, hGraph, instantiateParams->flags, &bad);
  instantiateParams->hErrNode_out = bad;
  instantiateParams->result_out = result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS
                                  : bad != nullptr       ? CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE
                                                         : CUDA_GRAPH_INSTANTIATE_ERROR;
  return result;
}

SIM_API CUresult cuGraphExecDestroy(CUgraphExec hGraphExec) {
  GraphExec* exec;
  if (CUresult bad = EnterWithExec(hGraphExec, &exec)) return bad;
  DropExec(exec);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuGraphExecGetFlags(CUgraphExec hGraphExec, cuuint64_t* flags) {
  GraphExec* exec;
  if (CUresult bad = EnterWithExec(hGraphExec, &exec)) return bad;
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  // cuda.h: UPLOAD was of the instantiation only.
  *flags = exec->flags & ~static_cast<unsigned long long>(CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuGraphLaunch(CUgraphExec hGraph, CUstream hStream) {
  Stream* stream;
  if (CUresult status = EnterWithStream(hStream, &stream)) return status;
  GraphExec* exec;
  if (CUresult bad = EnterWithExec(hGraph, &exec)) return bad;
  if (CaptureActive()) {
    bool captured;
    const CUresult result = CaptureChild(stream, *exec->graph, &captured);
    if (captured || result != CUDA_SUCCESS) return result;
  }
  return LaunchExec(exec, stream);
}

SIM_API CUresult cuGraphUpload(CUgraphExec hGraph, CUstream hStream) {
  Stream* stream;
  if (CUresult status = EnterWithStream(hStream, &stream)) return status;
  GraphExec* exec;
  if (CUresult bad = EnterWithExec(hGraph, &exec)) return bad;
  // Nothing to bring to the device.
  return CaptureActive() ? RefuseOnStream(stream) : CUDA_SUCCESS;
}

SIM_API CUresult cuGraphGetNodes(CUgraph hGraph, CUgraphNode* nodes, size_t* numNodes) {
  Graph* graph;
  if (CUresult bad = EnterWithGraph(hGraph, &graph)) return bad;
  return PutNodes(graph->nodes, nodes, numNodes);
}

SIM_API CUresult cuGraphGetRootNodes(CUgraph hGraph, CUgraphNode* rootNodes, size_t* numRootNodes) {
  Graph* graph;
  if (CUresult bad = EnterWithGraph(hGraph, &graph)) return bad;
  std::vector<GraphNode*> roots;
  for (GraphNode* node : graph->nodes) {
    if (node->dependencies.empty()) roots.push_back(node);
  }
  return PutNodes(roots, rootNodes, numRootNodes);
}

SIM_API CUresult cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType* type) {
  GraphNode* node;
  if (CUresult bad = EnterWithNode(hNode, &node)) return bad;
  if (type == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *type = node->content.type;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuGraphDestroyNode(CUgraphNode hNode) {
  GraphNode* node;
  if (CUresult bad = EnterWithNode(hNode, &node)) return bad;
  if (HasMemoryNodes(*node->graph)) return CUDA_ERROR_NOT_SUPPORTED;
  DropNode(node);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle* pHandle_out,
                                                CUgraph hGraph, CUcontext, unsigned int,
                                                unsigned int) {
  Graph* graph;
  if (CUresult bad = EnterWithGraph(hGraph, &graph)) return bad;
  return pHandle_out == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED;
}
