// SPDX-License-Identifier: Apache-2.0
// cuStreamBeginCapture and what belongs to it.
#include "tools/simgpu/driver/capture.h"
#include "tools/simgpu/driver/graph_api.h"
#include "tools/simgpu/driver/process.h"

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

namespace {

CUresult Begin(CUstream handle, CUstreamCaptureMode mode, Graph* graph,
               const std::vector<GraphEdge>& dependencies) {
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
                                             const CUgraphEdgeData* dependencyData,
                                             size_t numDependencies, CUstreamCaptureMode mode) {
  Graph* graph;
  if (CUresult bad = EnterWithGraph(hGraph, &graph)) return bad;
  if (graph->internal) return CUDA_ERROR_INVALID_VALUE;
  std::vector<GraphEdge> edges;
  if (CUresult bad = ReadEdges(graph, dependencies, dependencyData, numDependencies, &edges)) {
    return bad;
  }
  return Begin(hStream, mode, graph, edges);
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
  CaptureInfo info;
  if (CUresult result = Info(hStream, captureStatus_out, &info)) return result;
  if (info.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_SUCCESS;
  if (edgeData_out != nullptr) *edgeData_out = info.edges;
  return InfoWithGraph(hStream, captureStatus_out, id_out, graph_out, dependencies_out,
                       numDependencies_out);
}

namespace {

CUresult Update(CUstream handle, const CUgraphNode* dependencies, const CUgraphEdgeData* data,
                size_t count, unsigned int flags) {
  Stream* stream;
  if (CUresult status = EnterWithStream(handle, &stream)) return status;
  if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES || (dependencies == nullptr && count > 0)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CaptureInfo info;
  if (CUresult result = GetCaptureInfo(stream, &info)) return result;
  if (info.graph == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  std::vector<GraphEdge> edges;
  if (CUresult bad = ReadEdges(info.graph, dependencies, data, count, &edges)) return bad;
  return UpdateDependencies(stream, edges, flags == CU_STREAM_ADD_CAPTURE_DEPENDENCIES);
}

}  // namespace

SIM_API CUresult cuStreamUpdateCaptureDependencies(CUstream hStream, CUgraphNode* dependencies,
                                                   size_t numDependencies, unsigned int flags) {
  return Update(hStream, dependencies, nullptr, numDependencies, flags);
}
SIM_API CUresult cuStreamUpdateCaptureDependencies_v2(CUstream hStream, CUgraphNode* dependencies,
                                                      const CUgraphEdgeData* dependencyData,
                                                      size_t numDependencies, unsigned int flags) {
  return Update(hStream, dependencies, dependencyData, numDependencies, flags);
}

SIM_API CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  if (CUresult status = Enter()) return status;
  if (mode == nullptr || *mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  *mode = ExchangeThreadMode(*mode);
  return CUDA_SUCCESS;
}
