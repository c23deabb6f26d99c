// SPDX-License-Identifier: Apache-2.0
#include "shim/graph/graph_builder.h"

#include <stdlib.h>

#include "shim/interpose/interpose.h"
#include "shim/issue/cooperative.h"
#include "shim/session.h"

namespace sgprs::shim {

CUresult GraphBuilder::Launch(const GraphNode& node) {
  const auto& k = node.kernel;
  const CUfunction function = TheSession()->backend->FunctionFor(k.function, partition_);
  if (function == nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  auto* pointers = static_cast<void**>(calloc(k.info->param_count + 1, sizeof(void*)));
  if (pointers == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  for (uint32_t i = 0; i < k.info->param_count; ++i) {
    pointers[i] = k.params + k.info->params[i].offset_bytes;
  }
  CUresult result;
  if (node.attribute_count != 0) {
    CUlaunchConfig config = {};
    config.gridDimX = k.grid[0], config.gridDimY = k.grid[1], config.gridDimZ = k.grid[2];
    config.blockDimX = k.block[0], config.blockDimY = k.block[1], config.blockDimZ = k.block[2];
    config.sharedMemBytes = k.shared_bytes;
    config.hStream = stream_;
    config.attrs = const_cast<CUlaunchAttribute*>(node.attributes);
    config.numAttrs = node.attribute_count;
    result = SGPRS_REAL(cuLaunchKernelEx)(&config, function, pointers, nullptr);
  } else {
    result = SGPRS_REAL(cuLaunchKernel)(function, k.grid[0], k.grid[1], k.grid[2], k.block[0],
                                        k.block[1], k.block[2], k.shared_bytes, stream_, pointers,
                                        nullptr);
  }
  free(pointers);
  return result;
}

bool GraphBuilder::AddKernel(const GraphNode& node, CUgraph graph, CUgraphNode* made) {
  const auto& k = node.kernel;
  for (uint32_t i = 0; i < node.attribute_count; ++i) {
    if (node.attributes[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE &&
        !FitsCooperatively(k.function, k.grid, k.block, k.shared_bytes, partition_)) {
      return false;
    }
  }
  if (SGPRS_REAL(cuStreamBeginCaptureToGraph)(stream_, graph, after_, nullptr,
                                              node.dependency_count,
                                              CU_STREAM_CAPTURE_MODE_RELAXED) != CUDA_SUCCESS) {
    return false;
  }
  bool good = Launch(node) == CUDA_SUCCESS;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUgraphNode* last = nullptr;
  size_t count = 0;
  good = good &&
         SGPRS_REAL(cuStreamGetCaptureInfo_v2)(stream_, &status, nullptr, nullptr, &last, &count) ==
             CUDA_SUCCESS &&
         status == CU_STREAM_CAPTURE_STATUS_ACTIVE && count == 1;
  if (good) *made = last[0];
  CUgraph ended = nullptr;
  return SGPRS_REAL(cuStreamEndCapture)(stream_, &ended) == CUDA_SUCCESS && good;
}

bool GraphBuilder::Add(const GraphNode& node, CUgraph graph, CUgraphNode* made) {
  const CUcontext context = TheSession()->facts.context;
  const size_t count = node.dependency_count;
  switch (node.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return AddKernel(node, graph, made);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return SGPRS_REAL(cuGraphAddMemcpyNode)(made, graph, after_, count, &node.copy, context) ==
             CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return SGPRS_REAL(cuGraphAddMemsetNode)(made, graph, after_, count, &node.fill, context) ==
             CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_HOST:
      return SGPRS_REAL(cuGraphAddHostNode)(made, graph, after_, count, &node.host) == CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return SGPRS_REAL(cuGraphAddEventRecordNode)(made, graph, after_, count, node.event) ==
             CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return SGPRS_REAL(cuGraphAddEventWaitNode)(made, graph, after_, count, node.event) ==
             CUDA_SUCCESS;
    default:
      return false;
  }
}

bool GraphBuilder::Build(const GraphTemplate& what, unsigned long long flags, CUgraph* graph,
                         CUgraphNode** nodes, CUgraphExec* exec) {
  // An upload would need a stream; a launch uploads by itself.
  const unsigned long long kept = flags & CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
  *nodes = static_cast<CUgraphNode*>(calloc(what.size() + 1, sizeof(CUgraphNode)));
  after_ = static_cast<CUgraphNode*>(calloc(what.size() + 1, sizeof(CUgraphNode)));
  *graph = nullptr;
  *exec = nullptr;
  bool good =
      *nodes != nullptr && after_ != nullptr && SGPRS_REAL(cuGraphCreate)(graph, 0) == CUDA_SUCCESS;
  for (uint32_t i = 0; good && i < what.size(); ++i) {
    const GraphNode& node = what.nodes()[i];
    for (uint32_t k = 0; k < node.dependency_count; ++k) {
      after_[k] = (*nodes)[node.dependencies[k]];
    }
    // Relaxed: a flag that ends the work a little earlier.
    good = !stop_->load(std::memory_order_relaxed) && Add(node, *graph, &(*nodes)[i]);
  }
  good = good && SGPRS_REAL(cuGraphInstantiateWithFlags)(exec, *graph, kept) == CUDA_SUCCESS;
  for (uint32_t i = 0; good && i < what.size(); ++i) {
    if (what.nodes()[i].enabled) continue;
    good = SGPRS_REAL(cuGraphNodeSetEnabled)(*exec, (*nodes)[i], 0) == CUDA_SUCCESS;
  }
  free(after_);
  after_ = nullptr;
  if (good) return true;
  if (*exec != nullptr) SGPRS_REAL(cuGraphExecDestroy)(*exec);
  if (*graph != nullptr) SGPRS_REAL(cuGraphDestroy)(*graph);
  free(*nodes);
  *nodes = nullptr;
  *exec = nullptr;
  return false;
}

}  // namespace sgprs::shim
