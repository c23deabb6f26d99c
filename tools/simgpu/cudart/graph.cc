// SPDX-License-Identifier: Apache-2.0
// Graphs made by capture: instantiate, launch, look at; user objects.
#include "tools/simgpu/cudart/error.h"

using namespace sgprs::simgpu::cudart;  // NOLINT: the API's functions have no namespace

RT_API cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned int flags) {
  return Call(&Driver::cuGraphCreate, graph, flags);
}
RT_API cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return Call(&Driver::cuGraphDestroy, graph);
}
RT_API cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t original) {
  return Call(&Driver::cuGraphClone, clone, original);
}
RT_API cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                        unsigned long long flags) {
  return Call(&Driver::cuGraphInstantiateWithFlags, exec, graph, flags);
}
RT_API cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                                 unsigned long long flags) {
  return Call(&Driver::cuGraphInstantiateWithFlags, exec, graph, flags);
}
RT_API cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* exec, cudaGraph_t graph,
                                                  cudaGraphInstantiateParams* params) {
  static_assert(sizeof(*params) == sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS));
  return Call(&Driver::cuGraphInstantiateWithParams, exec, graph,
              reinterpret_cast<CUDA_GRAPH_INSTANTIATE_PARAMS*>(params));
}
RT_API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  return Call(&Driver::cuGraphExecDestroy, exec);
}
RT_API cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                       cudaGraphExecUpdateResultInfo* info) {
  static_assert(sizeof(*info) == sizeof(CUgraphExecUpdateResultInfo));
  return Call(&Driver::cuGraphExecUpdate, exec, graph,
              reinterpret_cast<CUgraphExecUpdateResultInfo*>(info));
}
RT_API cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  return Call(&Driver::cuGraphLaunch, exec, Resolve(stream));
}
RT_API cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
  return Call(&Driver::cuGraphUpload, exec, Resolve(stream));
}
RT_API cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return Call(&Driver::cuGraphGetNodes, graph, nodes, count);
}
RT_API cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return Call(&Driver::cuGraphGetRootNodes, graph, nodes, count);
}
RT_API cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* dependencies,
                                                cudaGraphEdgeData* edges, size_t* count) {
  return Call(&Driver::cuGraphNodeGetDependencies, node, dependencies,
              reinterpret_cast<CUgraphEdgeData*>(edges), count);
}
RT_API cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType* type) {
  return Call(&Driver::cuGraphNodeGetType, node, reinterpret_cast<CUgraphNodeType*>(type));
}
RT_API cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char* path, unsigned int flags) {
  return Call(&Driver::cuGraphDebugDotPrint, graph, path, flags);
}
RT_API cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle* handle,
                                                    cudaGraph_t graph, unsigned int value,
                                                    unsigned int flags) {
  const Driver* driver;
  if (cudaError_t bad = Enter(&driver)) return Say(bad);
  CUcontext context;
  if (CUresult bad = driver->cuCtxGetCurrent(&context)) return Say(bad);
  return Call(&Driver::cuGraphConditionalHandleCreate,
              reinterpret_cast<CUgraphConditionalHandle*>(handle), graph, context, value, flags);
}

RT_API cudaError_t cudaUserObjectCreate(cudaUserObject_t* object, void* pointer,
                                        cudaHostFn_t destroy, unsigned int count,
                                        unsigned int flags) {
  return Call(&Driver::cuUserObjectCreate, object, pointer, destroy, count, flags);
}
RT_API cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned int count) {
  return Call(&Driver::cuUserObjectRetain, object, count);
}
RT_API cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned int count) {
  return Call(&Driver::cuUserObjectRelease, object, count);
}
RT_API cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object,
                                             unsigned int count, unsigned int flags) {
  return Call(&Driver::cuGraphRetainUserObject, graph, object, count, flags);
}
RT_API cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object,
                                              unsigned int count) {
  return Call(&Driver::cuGraphReleaseUserObject, graph, object, count);
}

RT_API cudaError_t cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr,
                                                  void* value) {
  return CallDriver(&Driver::cuDeviceGetGraphMemAttribute, device,
                    static_cast<CUgraphMem_attribute>(attr), value);
}
RT_API cudaError_t cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr,
                                                  void* value) {
  return CallDriver(&Driver::cuDeviceSetGraphMemAttribute, device,
                    static_cast<CUgraphMem_attribute>(attr), value);
}
RT_API cudaError_t cudaDeviceGraphMemTrim(int device) {
  return CallDriver(&Driver::cuDeviceGraphMemTrim, device);
}
