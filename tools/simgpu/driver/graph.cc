// SPDX-License-Identifier: Apache-2.0
// cuGraph*: graphs are made by capture; they can be looked at, instantiated, launched.
#include "tools/simgpu/driver/graph.h"

#include <algorithm>

#include "tools/simgpu/driver/capture.h"
#include "tools/simgpu/driver/module.h"
#include "tools/simgpu/driver/process.h"

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

namespace {

CUresult EnterWithGraph(CUgraph handle, Graph** graph) {
  if (CUresult status = Enter()) return status;
  *graph = handle != nullptr ? Graphs().Find(handle) : nullptr;
  return *graph != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult EnterWithNode(CUgraphNode handle, GraphNode** node) {
  if (CUresult status = Enter()) return status;
  *node = handle != nullptr ? Nodes().Find(handle) : nullptr;
  return *node != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult EnterWithExec(CUgraphExec handle, GraphExec** exec) {
  if (CUresult status = Enter()) return status;
  *exec = handle != nullptr ? Execs().Find(handle) : nullptr;
  return *exec != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult MakeExec(CUgraphExec* out, CUgraph handle, unsigned long long flags) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  Graph* graph;
  if (CUresult bad = EnterWithGraph(handle, &graph)) return bad;
  constexpr unsigned long long kKnown =
      CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
      CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
  if (out == nullptr || (flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  GraphExec* exec;
  if (CUresult result = Instantiate(*graph, &exec)) return result;
  *out = reinterpret_cast<CUgraphExec>(exec);
  return CUDA_SUCCESS;
}

// The API's way to return lists: NULL asks for the count; what is left over becomes NULL.
CUresult PutNodes(const std::vector<GraphNode*>& nodes, CUgraphNode* out, size_t* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (out != nullptr) {
    for (size_t i = 0; i < *count; ++i) {
      out[i] = i < nodes.size() ? reinterpret_cast<CUgraphNode>(nodes[i]) : nullptr;
    }
    *count = std::min(*count, nodes.size());
    return CUDA_SUCCESS;
  }
  *count = nodes.size();
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
  DropGraph(graph);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuGraphInstantiateWithFlags(CUgraphExec* phGraphExec, CUgraph hGraph,
                                             unsigned long long flags) {
  return MakeExec(phGraphExec, hGraph, flags);
}
SIM_API CUresult cuGraphInstantiate(CUgraphExec* phGraphExec, CUgraph hGraph,
                                    CUgraphNode* phErrorNode, char* logBuffer, size_t bufferSize) {
  if (phErrorNode != nullptr) *phErrorNode = nullptr;
  if (logBuffer != nullptr && bufferSize > 0) logBuffer[0] = '\0';
  return MakeExec(phGraphExec, hGraph, 0);
}
SIM_API CUresult cuGraphInstantiate_v2(CUgraphExec* phGraphExec, CUgraph hGraph,
                                       CUgraphNode* phErrorNode, char* logBuffer,
                                       size_t bufferSize) {
  return cuGraphInstantiate(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}
SIM_API CUresult cuGraphInstantiateWithParams(CUgraphExec* phGraphExec, CUgraph hGraph,
                                              CUDA_GRAPH_INSTANTIATE_PARAMS* instantiateParams) {
  if (instantiateParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = MakeExec(phGraphExec, hGraph, instantiateParams->flags);
  instantiateParams->hErrNode_out = nullptr;
  instantiateParams->result_out =
      result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
  return result;
}

SIM_API CUresult cuGraphExecDestroy(CUgraphExec hGraphExec) {
  GraphExec* exec;
  if (CUresult bad = EnterWithExec(hGraphExec, &exec)) return bad;
  DropExec(exec);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuGraphLaunch(CUgraphExec hGraph, CUstream hStream) {
  Stream* stream;
  if (CUresult status = EnterWithStream(hStream, &stream)) return status;
  GraphExec* exec;
  if (CUresult bad = EnterWithExec(hGraph, &exec)) return bad;
  // A captured graph launch would be a child graph: not simulated.
  if (CaptureActive()) {
    if (CUresult refused = RefuseOnStream(stream)) return refused;
  }
  return LaunchExec(exec, stream);
}

SIM_API CUresult cuGraphUpload(CUgraphExec hGraph, CUstream hStream) {
  Stream* stream;
  if (CUresult status = EnterWithStream(hStream, &stream)) return status;
  GraphExec* exec;
  return EnterWithExec(hGraph, &exec);  // nothing to bring to the device
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

SIM_API CUresult cuGraphNodeGetDependencies(CUgraphNode hNode, CUgraphNode* dependencies,
                                            size_t* numDependencies) {
  GraphNode* node;
  if (CUresult bad = EnterWithNode(hNode, &node)) return bad;
  return PutNodes(node->dependencies, dependencies, numDependencies);
}
SIM_API CUresult cuGraphNodeGetDependencies_v2(CUgraphNode hNode, CUgraphNode* dependencies,
                                               CUgraphEdgeData* edgeData, size_t* numDependencies) {
  const CUresult result = cuGraphNodeGetDependencies(hNode, dependencies, numDependencies);
  if (result == CUDA_SUCCESS && edgeData != nullptr && dependencies != nullptr) {
    for (size_t i = 0; i < *numDependencies; ++i) edgeData[i] = CUgraphEdgeData{};
  }
  return result;
}

SIM_API CUresult cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType* type) {
  GraphNode* node;
  if (CUresult bad = EnterWithNode(hNode, &node)) return bad;
  if (type == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *type = node->type;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode hNode,
                                               CUDA_KERNEL_NODE_PARAMS* nodeParams) {
  GraphNode* node;
  if (CUresult bad = EnterWithNode(hNode, &node)) return bad;
  if (nodeParams == nullptr || node->type != CU_GRAPH_NODE_TYPE_KERNEL) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  KernelOp& kernel = node->body->op.kernel;
  auto* bytes = kernel.large != nullptr ? static_cast<unsigned char*>(kernel.large) : kernel.params;
  node->params.clear();
  for (const auto& param : kernel.info->image.params) {
    node->params.push_back(bytes + param.offset_bytes);
  }
  *nodeParams = CUDA_KERNEL_NODE_PARAMS{};
  nodeParams->func = reinterpret_cast<CUfunction>(const_cast<Function*>(kernel.function));
  nodeParams->gridDimX = kernel.grid[0];
  nodeParams->gridDimY = kernel.grid[1];
  nodeParams->gridDimZ = kernel.grid[2];
  nodeParams->blockDimX = kernel.block[0];
  nodeParams->blockDimY = kernel.block[1];
  nodeParams->blockDimZ = kernel.block[2];
  nodeParams->sharedMemBytes = kernel.shared_bytes;
  nodeParams->kernelParams = node->params.data();
  nodeParams->ctx = reinterpret_cast<CUcontext>(node->view);
  return CUDA_SUCCESS;
}
