// SPDX-License-Identifier: Apache-2.0
// Executable graphs: a launch is recorded like a kernel's; changes reach every partition's copy.
#include <string.h>

#include "shim/graph/graph_table.h"
#include "shim/hooks.h"
#include "shim/interpose/call_counts.h"
#include "shim/interpose/interpose.h"
#include "shim/record/recorder.h"

namespace sgprs::shim {
namespace {

// The host may ask for events that a graph's nodes record: not before the launch is issued.
void NoteEvents(const GraphRow& row, uint64_t upto) {
  for (uint32_t i = 0; i < row.what->size(); ++i) {
    const GraphNode& node = row.what->nodes()[i];
    if (node.type == CU_GRAPH_NODE_TYPE_EVENT_RECORD) TheEventTable()->Note(node.event, upto);
  }
}

SgprsEscape TryLaunch(CUgraphExec exec, CUstream stream, bool per_thread) {
  VirtualStream* row = RecordableStream(stream, per_thread);
  if (row == nullptr) return WhyNoStream();
  GraphRow* graph = TheGraphTable()->Find(exec);
  if (graph == nullptr) return SGPRS_ESCAPE_GRAPH;
  RecordScope scope(row, EntryKind::kGraph, 0);
  if (!scope) return SGPRS_ESCAPE_UNSCHEDULED;
  scope.entry()->graph = {graph, graph->info, graph->what->kernels()};
  // Before Commit(): whoever learns of the launch from this thread finds it noted.
  graph->recorded_upto.store(scope.index() + 1, std::memory_order_relaxed);
  NoteEvents(*graph, scope.index() + 1);
  scope.Commit(0);
  if (SgprsCallCounts* counts = CallCounts()) ++counts->graph_launches;
  return SGPRS_ESCAPE_NONE;
}

// Copies would run beside a launch that the issuer knows nothing of.
void LaunchedDirectly(CUgraphExec exec) {
  GraphRow* row = Recording() ? TheGraphTable()->Find(exec) : nullptr;
  if (row != nullptr) TheGraphTable()->Fix(row, "it is launched where nothing is recorded");
}

// Changes act on later launches: those that are held go first.
GraphRow* BeforeChange(CUgraphExec exec) {
  GraphRow* row = exec != nullptr ? TheGraphTable()->Find(exec) : nullptr;
  // Relaxed: launches and changes of one executable are of one thread at a time.
  if (row != nullptr) WaitIssued(TheSession(), row->recorded_upto.load(std::memory_order_relaxed));
  return row;
}

template <typename Call, typename Take>
CUresult Change(CUgraphExec exec, Call call, Take take) {
  GraphRow* row = BeforeChange(exec);
  const CUresult result = call();
  if (result == CUDA_SUCCESS && row != nullptr) {
    const RelaxedCapture relaxed;
    take(row);
  }
  return result;
}

CUresult Instantiated(CUresult result, const CUgraphExec* exec, CUgraph graph,
                      unsigned long long flags) {
  const Mode mode = TheSession()->mode.load(std::memory_order_relaxed);
  if (result == CUDA_SUCCESS && exec != nullptr && *exec != nullptr && mode != Mode::kBypass &&
      mode != Mode::kRefused) {
    TheGraphTable()->Add(*exec, graph, flags);
  }
  return result;
}

CUDA_KERNEL_NODE_PARAMS Newer(const CUDA_KERNEL_NODE_PARAMS_v1& old) {
  CUDA_KERNEL_NODE_PARAMS params;
  memset(&params, 0, sizeof(params));
  params.func = old.func;
  params.gridDimX = old.gridDimX, params.gridDimY = old.gridDimY, params.gridDimZ = old.gridDimZ;
  params.blockDimX = old.blockDimX, params.blockDimY = old.blockDimY;
  params.blockDimZ = old.blockDimZ;
  params.sharedMemBytes = old.sharedMemBytes;
  params.kernelParams = old.kernelParams;
  params.extra = old.extra;
  return params;
}

// The one setter for every kind of node (12.2).
void TakeParams(GraphRow* row, CUgraphNode node, const CUgraphNodeParams& p) {
  GraphTable* table = TheGraphTable();
  switch (p.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      CUDA_KERNEL_NODE_PARAMS params;
      memset(&params, 0, sizeof(params));
      const CUDA_KERNEL_NODE_PARAMS_v3& k = p.kernel;
      params.func = k.func;
      params.gridDimX = k.gridDimX, params.gridDimY = k.gridDimY, params.gridDimZ = k.gridDimZ;
      params.blockDimX = k.blockDimX, params.blockDimY = k.blockDimY;
      params.blockDimZ = k.blockDimZ;
      params.sharedMemBytes = k.sharedMemBytes;
      params.kernelParams = k.kernelParams;
      params.extra = k.extra;
      params.kern = k.kern;
      return table->SetKernel(row, node, params);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return table->SetCopy(row, node, p.memcpy.copyParams);
    case CU_GRAPH_NODE_TYPE_HOST:
      return table->SetHost(row, node, {p.host.fn, p.host.userData});
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return table->SetFill(row, node,
                            {p.memset.dst, p.memset.pitch, p.memset.value, p.memset.elementSize,
                             p.memset.width, p.memset.height});
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return table->SetEvent(row, node, p.eventRecord.event);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return table->SetEvent(row, node, p.eventWait.event);
    default:
      return table->Fix(row, "changed in a node that can not be made twice");
  }
}

}  // namespace
}  // namespace sgprs::shim

using namespace sgprs::shim;  // NOLINT(google-build-using-namespace): hooks are outside it

// --- launches ---

#define SGPRS_GRAPH_LAUNCH_HOOK(symbol, per_thread)                                             \
  extern "C" CUresult Hook_##symbol(CUgraphExec exec, CUstream stream) {                        \
    if (Captured(stream, per_thread)) return SGPRS_REAL(symbol)(exec, stream);                  \
    const SgprsEscape why = TryLaunch(exec, stream, per_thread);                                \
    if (why == SGPRS_ESCAPE_NONE) return CUDA_SUCCESS;                                          \
    if (const CUresult refused = BeforeDirectLaunch(); refused != CUDA_SUCCESS) return refused; \
    LaunchedDirectly(exec);                                                                     \
    return AfterDirectLaunch(SGPRS_REAL(symbol)(exec, stream), why);                            \
  }
SGPRS_GRAPH_LAUNCH_HOOK(cuGraphLaunch, false)
SGPRS_GRAPH_LAUNCH_HOOK(cuGraphLaunch_ptsz, true)

// --- made and destroyed ---

extern "C" CUresult Hook_cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, CUgraphNode* node,
                                            char* log, size_t bytes) {
  return Instantiated(SGPRS_REAL(cuGraphInstantiate)(exec, graph, node, log, bytes), exec, graph,
                      0);
}
extern "C" CUresult Hook_cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode* node,
                                               char* log, size_t bytes) {
  return Instantiated(SGPRS_REAL(cuGraphInstantiate_v2)(exec, graph, node, log, bytes), exec, graph,
                      0);
}
extern "C" CUresult Hook_cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph,
                                                     unsigned long long flags) {
  return Instantiated(SGPRS_REAL(cuGraphInstantiateWithFlags)(exec, graph, flags), exec, graph,
                      flags);
}
// With FLAG_UPLOAD it puts work on a stream.
#define SGPRS_INSTANTIATE_PARAMS_HOOK(symbol)                                         \
  extern "C" CUresult Hook_##symbol(CUgraphExec* exec, CUgraph graph,                 \
                                    CUDA_GRAPH_INSTANTIATE_PARAMS* params) {          \
    const unsigned long long flags = params != nullptr ? params->flags : 0;           \
    if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) != 0) BeforeDirect();            \
    return Instantiated(SGPRS_REAL(symbol)(exec, graph, params), exec, graph, flags); \
  }
SGPRS_INSTANTIATE_PARAMS_HOOK(cuGraphInstantiateWithParams)
SGPRS_INSTANTIATE_PARAMS_HOOK(cuGraphInstantiateWithParams_ptsz)

extern "C" CUresult Hook_cuGraphExecDestroy(CUgraphExec exec) {
  if (BeforeChange(exec) != nullptr) TheGraphTable()->Remove(exec);
  return SGPRS_REAL(cuGraphExecDestroy)(exec);
}

extern "C" CUresult Hook_cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned count,
                                                 unsigned flags) {
  const CUresult result = SGPRS_REAL(cuGraphRetainUserObject)(graph, object, count, flags);
  if (result == CUDA_SUCCESS) TheGraphTable()->NoteUserObject(graph);
  return result;
}
extern "C" CUresult Hook_cuGraphClone(CUgraph* clone, CUgraph original) {
  const CUresult result = SGPRS_REAL(cuGraphClone)(clone, original);
  if (result == CUDA_SUCCESS) TheGraphTable()->NoteClone(*clone, original);
  return result;
}
extern "C" CUresult Hook_cuGraphDestroy(CUgraph graph) {
  TheGraphTable()->ForgetGraph(graph);
  return SGPRS_REAL(cuGraphDestroy)(graph);
}

// --- changes ---

extern "C" CUresult Hook_cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                                           const CUDA_KERNEL_NODE_PARAMS* p) {
  return Change(
      exec, [&] { return SGPRS_REAL(cuGraphExecKernelNodeSetParams_v2)(exec, node, p); },
      [&](GraphRow* row) { TheGraphTable()->SetKernel(row, node, *p); });
}
extern "C" CUresult Hook_cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                        const CUDA_KERNEL_NODE_PARAMS_v1* p) {
  return Change(
      exec, [&] { return SGPRS_REAL(cuGraphExecKernelNodeSetParams)(exec, node, p); },
      [&](GraphRow* row) { TheGraphTable()->SetKernel(row, node, Newer(*p)); });
}
extern "C" CUresult Hook_cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                        const CUDA_MEMCPY3D* p, CUcontext context) {
  return Change(
      exec, [&] { return SGPRS_REAL(cuGraphExecMemcpyNodeSetParams)(exec, node, p, context); },
      [&](GraphRow* row) { TheGraphTable()->SetCopy(row, node, *p); });
}
extern "C" CUresult Hook_cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                        const CUDA_MEMSET_NODE_PARAMS* p,
                                                        CUcontext context) {
  return Change(
      exec, [&] { return SGPRS_REAL(cuGraphExecMemsetNodeSetParams)(exec, node, p, context); },
      [&](GraphRow* row) { TheGraphTable()->SetFill(row, node, *p); });
}
extern "C" CUresult Hook_cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                      const CUDA_HOST_NODE_PARAMS* p) {
  return Change(
      exec, [&] { return SGPRS_REAL(cuGraphExecHostNodeSetParams)(exec, node, p); },
      [&](GraphRow* row) { TheGraphTable()->SetHost(row, node, *p); });
}
extern "C" CUresult Hook_cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node,
                                                            CUevent event) {
  return Change(
      exec, [&] { return SGPRS_REAL(cuGraphExecEventRecordNodeSetEvent)(exec, node, event); },
      [&](GraphRow* row) { TheGraphTable()->SetEvent(row, node, event); });
}
extern "C" CUresult Hook_cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node,
                                                          CUevent event) {
  return Change(
      exec, [&] { return SGPRS_REAL(cuGraphExecEventWaitNodeSetEvent)(exec, node, event); },
      [&](GraphRow* row) { TheGraphTable()->SetEvent(row, node, event); });
}
extern "C" CUresult Hook_cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node,
                                               unsigned enabled) {
  return Change(
      exec, [&] { return SGPRS_REAL(cuGraphNodeSetEnabled)(exec, node, enabled); },
      [&](GraphRow* row) { TheGraphTable()->SetEnabled(row, node, enabled != 0); });
}
extern "C" CUresult Hook_cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                  CUgraphNodeParams* p) {
  return Change(
      exec, [&] { return SGPRS_REAL(cuGraphExecNodeSetParams)(exec, node, p); },
      [&](GraphRow* row) { TakeParams(row, node, *p); });
}
extern "C" CUresult Hook_cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode* node,
                                           CUgraphExecUpdateResult* what) {
  return Change(
      exec, [&] { return SGPRS_REAL(cuGraphExecUpdate)(exec, graph, node, what); },
      [&](GraphRow* row) { TheGraphTable()->Update(row, graph); });
}
extern "C" CUresult Hook_cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph,
                                              CUgraphExecUpdateResultInfo* what) {
  return Change(
      exec, [&] { return SGPRS_REAL(cuGraphExecUpdate_v2)(exec, graph, what); },
      [&](GraphRow* row) { TheGraphTable()->Update(row, graph); });
}

// Nodes that have no copies, or a whole child: the graph is fixed from then on.
#define SGPRS_FIXING_HOOK(symbol, type)                                            \
  extern "C" CUresult Hook_##symbol(CUgraphExec exec, CUgraphNode node, type p) {  \
    return Change(                                                                 \
        exec, [&] { return SGPRS_REAL(symbol)(exec, node, p); },                   \
        [&](GraphRow* row) { TheGraphTable()->Fix(row, "changed by " #symbol); }); \
  }
SGPRS_FIXING_HOOK(cuGraphExecChildGraphNodeSetParams, CUgraph)
SGPRS_FIXING_HOOK(cuGraphExecExternalSemaphoresSignalNodeSetParams,
                  const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS*)
SGPRS_FIXING_HOOK(cuGraphExecExternalSemaphoresWaitNodeSetParams,
                  const CUDA_EXT_SEM_WAIT_NODE_PARAMS*)
SGPRS_FIXING_HOOK(cuGraphExecBatchMemOpNodeSetParams, const CUDA_BATCH_MEM_OP_NODE_PARAMS*)
