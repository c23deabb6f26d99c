// SPDX-License-Identifier: Apache-2.0
// Stream capture (cuda.h, cuStreamBeginCapture): commands become nodes instead of work.
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_CAPTURE_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_CAPTURE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "tools/simgpu/driver/api.h"
#include "tools/simgpu/driver/graph.h"
#include "tools/simgpu/driver/objects.h"
#include "tools/simgpu/driver/op.h"
#include "tools/simgpu/driver/queue.h"

namespace sgprs::simgpu::driver {

// Captures under way in this process: the one word that every call outside captures reads.
extern std::atomic<int> g_captures;
inline bool CaptureActive() {
  // relaxed: a program that captures in one thread and launches from another orders the two itself.
  return g_captures.load(std::memory_order_relaxed) != 0;
}

using FillCommand = std::function<void(Op&, Command&)>;

// All below: only worth calling while CaptureActive(). Take the captures' own lock.

// If `stream` captures, adds the command to its graph and sets *captured. Errors: capture broken
// (901), or the default stream used while a stream that joins it captures (906).
CUresult CaptureCommand(Stream* stream, CommandKind kind, OpKind op_kind, const FillCommand& fill,
                        bool* captured);
// cuEventRecord, cuStreamWaitEvent.
CUresult CaptureRecord(Stream* stream, Event* event, bool* captured);
CUresult CaptureWait(Stream* stream, Event* event, bool* captured);
// cuMemAllocAsync, cuMemFreeAsync: memory nodes.
CUresult CaptureAllocation(Stream* stream, CUdevice device, size_t bytes, CUdeviceptr* pointer,
                           bool* captured);
CUresult CaptureFree(Stream* stream, CUdeviceptr pointer, bool* captured);
// cuGraphLaunch: a child graph. cuStreamBatchMemOp and kin: one node.
CUresult CaptureChild(Stream* stream, const Graph& graph, bool* captured);
CUresult CaptureMemOps(Stream* stream, const std::vector<CUstreamBatchMemOpParams>& ops,
                       bool* captured);
// cuEventRecordWithFlags, cuStreamWaitEvent with the external flag: nodes. The stream captures.
CUresult CaptureExternalEvent(Stream* stream, Event* event, bool record);
// A call that a capturing stream can not have (wait, query, ...): breaks its capture, 900.
CUresult RefuseOnStream(Stream* stream);
CUresult RefuseOnContext(Context* context);
// 907 if the event was last recorded in a capture.
CUresult RefuseOnEvent(Event* event);
// A "potentially unsafe" call: refused by the capture modes (cuStreamBeginCapture).
CUresult RefuseUnsafe();

CUresult BeginCapture(Stream* stream, CUstreamCaptureMode mode, Graph* graph,
                      const std::vector<GraphEdge>& dependencies);
CUresult EndCapture(Stream* stream, Graph** graph);

struct CaptureInfo {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  uint64_t id = 0;
  Graph* graph = nullptr;
  const CUgraphNode* dependencies = nullptr;  // both valid until the stream's next call
  const CUgraphEdgeData* edges = nullptr;
  size_t dependency_count = 0;
};
CUresult GetCaptureInfo(Stream* stream, CaptureInfo* info);

// What the stream's next node comes after: `edges`, or these too (`add`).
CUresult UpdateDependencies(Stream* stream, const std::vector<GraphEdge>& edges, bool add);

CUstreamCaptureMode ExchangeThreadMode(CUstreamCaptureMode mode);

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_CAPTURE_H_
