// SPDX-License-Identifier: Apache-2.0
// cuStreamBeginCapture and what belongs to it.
#include "tools/simgpu/driver/capture.h"
#include "tools/simgpu/driver/process.h"

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

namespace {

CUresult Begin(CUstream handle, CUstreamCaptureMode mode, Graph* graph,
               const std::vector<GraphNode*>& dependencies) {
  Stream* stream;
  if (CUresult status = EnterWithStream(handle, &stream)) return status;
  return BeginCapture(stream, mode, graph, dependencies);
}

CUresult Info(CUstream handle, CUstreamCaptureStatus* status_out, CaptureInfo* info) {
  Stream* stream;
  if (CUresult status = EnterWithStream(handle, &stream)) return status;
  if (status_out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult result = GetCaptureInfo(stream, info)) return result;
  *status_out = info->status;
  return CUDA_SUCCESS;
}

CUresult InfoWithGraph(CUstream handle, CUstreamCaptureStatus* status_out, cuuint64_t* id_out,
                       CUgraph* graph_out, const CUgraphNode** dependencies_out,
                       size_t* count_out) {
  CaptureInfo info;
  if (CUresult result = Info(handle, status_out, &info)) return result;
  if (info.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_SUCCESS;
  if (id_out != nullptr) *id_out = info.id;
  if (graph_out != nullptr) *graph_out = reinterpret_cast<CUgraph>(info.graph);
  if (dependencies_out != nullptr) *dependencies_out = info.dependencies;
  if (count_out != nullptr) *count_out = info.dependency_count;
  return CUDA_SUCCESS;
}

}  // namespace

SIM_API CUresult cuStreamBeginCapture(CUstream hStream) {
  return Begin(hStream, CU_STREAM_CAPTURE_MODE_GLOBAL, nullptr, {});
}
SIM_API CUresult cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode) {
  return Begin(hStream, mode, nullptr, {});
}
SIM_API CUresult cuStreamBeginCaptureToGraph(CUstream hStream, CUgraph hGraph,
                                             const CUgraphNode* dependencies,
                                             const CUgraphEdgeData*, size_t numDependencies,
                                             CUstreamCaptureMode mode) {
  if (CUresult status = Enter()) return status;
  Graph* graph = hGraph != nullptr ? Graphs().Find(hGraph) : nullptr;
  if (graph == nullptr || (dependencies == nullptr && numDependencies > 0)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::vector<GraphNode*> nodes;
  for (size_t i = 0; i < numDependencies; ++i) {
    GraphNode* node = Nodes().Find(dependencies[i]);
    if (node == nullptr || node->graph != graph) return CUDA_ERROR_INVALID_VALUE;
    nodes.push_back(node);
  }
  return Begin(hStream, mode, graph, nodes);
}

SIM_API CUresult cuStreamEndCapture(CUstream hStream, CUgraph* phGraph) {
  Stream* stream;
  if (CUresult status = EnterWithStream(hStream, &stream)) return status;
  if (phGraph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Graph* graph;
  const CUresult result = EndCapture(stream, &graph);
  *phGraph = reinterpret_cast<CUgraph>(graph);
  return result;
}

SIM_API CUresult cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus* captureStatus) {
  CaptureInfo info;
  return Info(hStream, captureStatus, &info);
}

SIM_API CUresult cuStreamGetCaptureInfo(CUstream hStream, CUstreamCaptureStatus* captureStatus_out,
                                        cuuint64_t* id_out) {
  return InfoWithGraph(hStream, captureStatus_out, id_out, nullptr, nullptr, nullptr);
}
SIM_API CUresult cuStreamGetCaptureInfo_v2(CUstream hStream,
                                           CUstreamCaptureStatus* captureStatus_out,
                                           cuuint64_t* id_out, CUgraph* graph_out,
                                           const CUgraphNode** dependencies_out,
                                           size_t* numDependencies_out) {
  return InfoWithGraph(hStream, captureStatus_out, id_out, graph_out, dependencies_out,
                       numDependencies_out);
}
SIM_API CUresult cuStreamGetCaptureInfo_v3(CUstream hStream,
                                           CUstreamCaptureStatus* captureStatus_out,
                                           cuuint64_t* id_out, CUgraph* graph_out,
                                           const CUgraphNode** dependencies_out,
                                           const CUgraphEdgeData** edgeData_out,
                                           size_t* numDependencies_out) {
  if (edgeData_out != nullptr) *edgeData_out = nullptr;  // all edges are of the default kind
  return InfoWithGraph(hStream, captureStatus_out, id_out, graph_out, dependencies_out,
                       numDependencies_out);
}

SIM_API CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  if (CUresult status = Enter()) return status;
  if (mode == nullptr || *mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  *mode = ExchangeThreadMode(*mode);
  return CUDA_SUCCESS;
}
