// SPDX-License-Identifier: Apache-2.0
// Streams, their capture, host functions and events.
#include "tools/simgpu/cudart/error.h"

using namespace sgprs::simgpu::cudart;  // NOLINT: the API's functions have no namespace

RT_API cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags,
                                                int priority) {
  return Call(&Driver::cuStreamCreateWithPriority, stream, flags, priority);
}
RT_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
RT_API cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}
RT_API cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return Call(&Driver::cuStreamDestroy, stream);
}
RT_API cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return Call(&Driver::cuStreamQuery, Resolve(stream));
}
RT_API cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return Call(&Driver::cuStreamSynchronize, Resolve(stream));
}
RT_API cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  return Call(&Driver::cuStreamWaitEvent, Resolve(stream), event, flags);
}
RT_API cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return Call(&Driver::cuStreamGetPriority, Resolve(stream), priority);
}
RT_API cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int* flags) {
  return Call(&Driver::cuStreamGetFlags, Resolve(stream), flags);
}
RT_API cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  return Call(&Driver::cuStreamGetId, Resolve(stream), id);
}
RT_API cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  return Call(&Driver::cuStreamGetDevice, Resolve(stream), device);
}
RT_API cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaStreamAttrID attr,
                                          cudaStreamAttrValue* value) {
  return Call(&Driver::cuStreamGetAttribute, Resolve(stream), static_cast<CUstreamAttrID>(attr),
              reinterpret_cast<CUstreamAttrValue*>(value));
}
RT_API cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID attr,
                                          const cudaStreamAttrValue* value) {
  return Call(&Driver::cuStreamSetAttribute, Resolve(stream), static_cast<CUstreamAttrID>(attr),
              reinterpret_cast<const CUstreamAttrValue*>(value));
}
RT_API cudaError_t cudaStreamCopyAttributes(cudaStream_t target, cudaStream_t source) {
  return Call(&Driver::cuStreamCopyAttributes, Resolve(target), Resolve(source));
}
RT_API cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* pointer, size_t bytes,
                                            unsigned int flags) {
  return Call(&Driver::cuStreamAttachMemAsync, Resolve(stream),
              reinterpret_cast<CUdeviceptr>(pointer), bytes, flags);
}

// cudaError_t and CUresult are passed alike, and their numbers are the same.
RT_API cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
                                         void* data, unsigned int flags) {
  return Call(&Driver::cuStreamAddCallback, Resolve(stream),
              reinterpret_cast<CUstreamCallback>(callback), data, flags);
}
RT_API cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return Call(&Driver::cuLaunchHostFunc, Resolve(stream), function, data);
}

RT_API cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
  return Call(&Driver::cuStreamBeginCapture, Resolve(stream),
              static_cast<CUstreamCaptureMode>(mode));
}
RT_API cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                                 const cudaGraphNode_t* dependencies,
                                                 const cudaGraphEdgeData* edges, size_t count,
                                                 enum cudaStreamCaptureMode mode) {
  return Call(&Driver::cuStreamBeginCaptureToGraph, Resolve(stream), graph, dependencies,
              reinterpret_cast<const CUgraphEdgeData*>(edges), count,
              static_cast<CUstreamCaptureMode>(mode));
}
RT_API cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return Call(&Driver::cuStreamEndCapture, Resolve(stream), graph);
}
RT_API cudaError_t cudaStreamIsCapturing(cudaStream_t stream,
                                         enum cudaStreamCaptureStatus* status) {
  return Call(&Driver::cuStreamIsCapturing, Resolve(stream),
              reinterpret_cast<CUstreamCaptureStatus*>(status));
}
RT_API cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream,
                                            enum cudaStreamCaptureStatus* status,
                                            unsigned long long* id, cudaGraph_t* graph,
                                            const cudaGraphNode_t** dependencies,
                                            const cudaGraphEdgeData** edges, size_t* count) {
  return Call(&Driver::cuStreamGetCaptureInfo, Resolve(stream),
              reinterpret_cast<CUstreamCaptureStatus*>(status), reinterpret_cast<cuuint64_t*>(id),
              graph, dependencies, reinterpret_cast<const CUgraphEdgeData**>(edges), count);
}
RT_API cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream,
                                                       cudaGraphNode_t* dependencies,
                                                       const cudaGraphEdgeData* edges, size_t count,
                                                       unsigned int flags) {
  return Call(&Driver::cuStreamUpdateCaptureDependencies, Resolve(stream), dependencies,
              reinterpret_cast<const CUgraphEdgeData*>(edges), count, flags);
}
RT_API cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode* mode) {
  return Call(&Driver::cuThreadExchangeStreamCaptureMode,
              reinterpret_cast<CUstreamCaptureMode*>(mode));
}

RT_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return Call(&Driver::cuEventCreate, event, flags);
}
RT_API cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}
RT_API cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return Call(&Driver::cuEventDestroy, event);
}
RT_API cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return Call(&Driver::cuEventRecord, event, Resolve(stream));
}
RT_API cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream,
                                            unsigned int flags) {
  return Call(&Driver::cuEventRecordWithFlags, event, Resolve(stream), flags);
}
RT_API cudaError_t cudaEventQuery(cudaEvent_t event) { return Call(&Driver::cuEventQuery, event); }
RT_API cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return Call(&Driver::cuEventSynchronize, event);
}
RT_API cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) {
  return Call(&Driver::cuEventElapsedTime, ms, start, end);
}

RT_API cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event) {
  return Call(&Driver::cuIpcGetEventHandle, reinterpret_cast<CUipcEventHandle*>(handle), event);
}
RT_API cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t handle) {
  CUipcEventHandle same;
  static_assert(sizeof(same) == sizeof(handle));
  __builtin_memcpy(&same, &handle, sizeof(same));
  return Call(&Driver::cuIpcOpenEventHandle, event, same);
}
