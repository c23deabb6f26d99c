// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/driver/capture.h"

#include <pthread.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "tools/simgpu/driver/mem_op.h"
#include "tools/simgpu/driver/transfer.h"

namespace sgprs::simgpu::driver {

std::atomic<int> g_captures{0};

// One capture: a graph that grows, and where each stream and event of it stands. Under g_mutex.
class Capture {
 public:
  Graph* graph = nullptr;
  bool owns_graph = true;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  pthread_t thread{};
  Stream* origin = nullptr;
  uint64_t id = 0;
  bool broken = false;
  std::map<Stream*, std::vector<GraphEdge>> streams;
  std::map<Event*, std::vector<GraphEdge>> events;
  std::map<Stream*, std::vector<CUgraphNode>> shown;  // what GetCaptureInfo points to
  std::map<Stream*, std::vector<CUgraphEdgeData>> shown_edges;
};

namespace {

std::mutex& Mutex() {
  static auto* mutex = new std::mutex();
  return *mutex;
}

std::set<Capture*>& Active() {  // under Mutex()
  static auto* active = new std::set<Capture*>();
  return *active;
}

uint64_t g_next_id = 1;  // under Mutex()
thread_local __attribute__((tls_model("initial-exec"))) CUstreamCaptureMode t_mode =
    CU_STREAM_CAPTURE_MODE_GLOBAL;

using Edges = std::vector<GraphEdge>;

bool Contains(const Edges& edges, const GraphNode* node) {
  return std::any_of(edges.begin(), edges.end(),
                     [&](const GraphEdge& edge) { return edge.from == node; });
}

void Merge(const Edges& more, Edges* into) {
  for (const GraphEdge& edge : more) {
    if (!Contains(*into, edge.from)) into->push_back(edge);
  }
}

CUgraphNodeType TypeOf(OpKind kind) {
  switch (kind) {
    case OpKind::kKernel:
      return CU_GRAPH_NODE_TYPE_KERNEL;
    case OpKind::kCopy:
      return CU_GRAPH_NODE_TYPE_MEMCPY;
    case OpKind::kFill:
      return CU_GRAPH_NODE_TYPE_MEMSET;
    case OpKind::kHost:
      return CU_GRAPH_NODE_TYPE_HOST;
    case OpKind::kWrite:
      return CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
    case OpKind::kEvent:
      return CU_GRAPH_NODE_TYPE_EVENT_RECORD;
    default:
      return CU_GRAPH_NODE_TYPE_EMPTY;
  }
}

CUresult Broken(Capture* capture, CUresult why) {
  capture->broken = true;
  return why;
}

// Use of the default stream while a stream that orders itself with it captures.
CUresult CheckDefaultStream(Stream* stream) {
  if (!stream->legacy) return CUDA_SUCCESS;
  for (Capture* capture : Active()) {
    for (auto& [captured, nodes] : capture->streams) {
      if (captured->view == stream->view && captured->blocking()) {
        return Broken(capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
      }
    }
  }
  return CUDA_SUCCESS;
}

// Everything that `nodes` come after, with them.
std::set<const GraphNode*> Ancestors(const Edges& edges) {
  std::set<const GraphNode*> seen;
  std::vector<const GraphNode*> open;
  for (const GraphEdge& edge : edges) open.push_back(edge.from);
  while (!open.empty()) {
    const GraphNode* node = open.back();
    open.pop_back();
    if (!seen.insert(node).second) continue;
    for (const GraphEdge& edge : node->dependencies) open.push_back(edge.from);
  }
  return seen;
}

// Has every stream that joined come back to the origin?
bool AllJoined(Capture* capture) {
  const std::set<const GraphNode*> reached = Ancestors(capture->streams[capture->origin]);
  for (auto& [stream, nodes] : capture->streams) {
    for (const GraphEdge& edge : nodes) {
      if (reached.count(edge.from) == 0) return false;
    }
  }
  return true;
}

void Forget(Capture* capture) {
  for (auto& [stream, nodes] : capture->streams) stream->capture.store(nullptr);
  for (auto& [event, nodes] : capture->events) {
    event->capture.store(nullptr);
    ReleaseEvent(event);
  }
  Active().erase(capture);
  delete capture;
  g_captures.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace

namespace {

// A new node of the stream's capture, empty. *captured false: the stream does not capture.
CUresult NextNode(Stream* stream, GraphNode** node, bool* captured) {
  *captured = false;
  Capture* capture = stream->capture.load();
  if (capture == nullptr) return CheckDefaultStream(stream);
  *captured = true;
  if (capture->broken) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  Edges& tail = capture->streams[stream];
  if (CUresult result = AddNode(capture->graph, tail, node)) return Broken(capture, result);
  (*node)->content.view = stream->view;
  (*node)->content.priority = stream->priority;
  (*node)->content.has_priority = true;
  tail = {{*node, CUgraphEdgeData{}}};
  return CUDA_SUCCESS;
}

void CompleteContent(NodeContent* content) {
  const NodeBody& body = *content->bodies[0];
  if (content->type == CU_GRAPH_NODE_TYPE_KERNEL && body.command.has_priority != 0) {
    content->priority = body.command.priority;
  }
  content->bodies[0]->command.has_priority = 0;  // the lane's
  if (content->type == CU_GRAPH_NODE_TYPE_MEMCPY) content->copy = Describe(body.op.copy);
  if (content->type != CU_GRAPH_NODE_TYPE_MEMSET) return;
  const FillOp& fill = body.op.fill;
  content->fill = {reinterpret_cast<CUdeviceptr>(fill.target),
                   fill.pitch,
                   fill.value,
                   fill.element_bytes,
                   fill.width,
                   fill.height,
                   reinterpret_cast<CUcontext>(content->view)};
}

}  // namespace

CUresult CaptureCommand(Stream* stream, CommandKind kind, OpKind op_kind, const FillCommand& fill,
                        bool* captured) {
  std::lock_guard<std::mutex> lock(Mutex());
  GraphNode* node;
  const CUresult result = NextNode(stream, &node, captured);
  if (result != CUDA_SUCCESS || !*captured) return result;
  node->content.type = TypeOf(op_kind);
  node->content.bodies.push_back(std::make_unique<NodeBody>());
  NodeBody* body = node->content.bodies[0].get();
  body->kind = kind;
  body->op.kind = op_kind;
  fill(body->op, body->command);
  CompleteContent(&node->content);
  return CUDA_SUCCESS;
}

CUresult CaptureChild(Stream* stream, const Graph& graph, bool* captured) {
  std::lock_guard<std::mutex> lock(Mutex());
  *captured = stream->capture.load() != nullptr;
  if (!*captured) return CheckDefaultStream(stream);
  Graph* child;
  if (CUresult result = CloneGraph(graph, false, &child)) {
    return Broken(stream->capture.load(), result);
  }
  GraphNode* node;
  if (CUresult result = NextNode(stream, &node, captured)) {
    DropGraph(child);
    return result;
  }
  child->internal = true;
  node->content.type = CU_GRAPH_NODE_TYPE_GRAPH;
  node->content.child = child;
  return CUDA_SUCCESS;
}

CUresult CaptureMemOps(Stream* stream, const std::vector<CUstreamBatchMemOpParams>& ops,
                       bool* captured) {
  std::lock_guard<std::mutex> lock(Mutex());
  GraphNode* node;
  const CUresult result = NextNode(stream, &node, captured);
  if (result != CUDA_SUCCESS || !*captured) return result;
  node->content.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
  node->content.mem_ops = ops;
  for (const CUstreamBatchMemOpParams& op : ops) {
    auto body = std::make_unique<NodeBody>();
    const MemOpKinds kinds = KindsOf(op);
    body->kind = kinds.command;
    body->op.kind = kinds.op;
    WriteMemOp(op, stream->id, &body->op);
    node->content.bodies.push_back(std::move(body));
  }
  return CUDA_SUCCESS;
}

CUresult CaptureExternalEvent(Stream* stream, Event* event, bool record) {
  std::lock_guard<std::mutex> lock(Mutex());
  GraphNode* node;
  bool captured;
  const CUresult result = NextNode(stream, &node, &captured);
  if (result != CUDA_SUCCESS || !captured) return result;
  node->content.type = record ? CU_GRAPH_NODE_TYPE_EVENT_RECORD : CU_GRAPH_NODE_TYPE_WAIT_EVENT;
  node->content.event = event;
  event->references.fetch_add(1, std::memory_order_relaxed);  // the handle holds one
  auto body = std::make_unique<NodeBody>();
  body->kind = CommandKind::kEventRecord;
  body->op.kind = record ? OpKind::kEvent : OpKind::kEventWait;
  body->op.event = event;
  node->content.bodies.push_back(std::move(body));
  return CUDA_SUCCESS;
}

CUresult CaptureRecord(Stream* stream, Event* event, bool* captured) {
  std::lock_guard<std::mutex> lock(Mutex());
  Capture* capture = stream->capture.load();
  *captured = capture != nullptr;
  if (Capture* before = event->capture.load(); before != nullptr && before != capture) {
    before->events.erase(event);  // recorded anew elsewhere
    event->capture.store(nullptr);
    ReleaseEvent(event);
  }
  if (capture == nullptr) return CheckDefaultStream(stream);
  if (capture->broken) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (event->capture.exchange(capture) == nullptr) event->references.fetch_add(1);
  capture->events[event] = capture->streams[stream];
  return CUDA_SUCCESS;
}

CUresult CaptureWait(Stream* stream, Event* event, bool* captured) {
  std::lock_guard<std::mutex> lock(Mutex());
  Capture* mine = stream->capture.load();
  Capture* its = event->capture.load();
  *captured = mine != nullptr || its != nullptr;
  if (!*captured) return CheckDefaultStream(stream);
  if (mine != nullptr && mine->broken) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (its == nullptr) return Broken(mine, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  if (its->broken) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (mine != nullptr && mine != its) {
    Broken(mine, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    return Broken(its, CUDA_ERROR_STREAM_CAPTURE_MERGE);
  }
  if (stream->legacy) return Broken(its, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  stream->capture.store(its);  // a fork joins
  Merge(its->events[event], &its->streams[stream]);
  return CUDA_SUCCESS;
}

CUresult CaptureAllocation(Stream* stream, CUdevice device, size_t bytes, CUdeviceptr* pointer,
                           bool* captured) {
  std::lock_guard<std::mutex> lock(Mutex());
  *captured = stream->capture.load() != nullptr;
  if (!*captured) return CheckDefaultStream(stream);
  CUDA_MEM_ALLOC_NODE_PARAMS_v2 params{};
  params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  params.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  params.bytesize = bytes;
  std::shared_ptr<GraphMemory> memory;
  if (CUresult result = GraphMemory::Make(params, &memory)) return result;
  GraphNode* node;
  if (CUresult result = NextNode(stream, &node, captured)) return result;
  node->content.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
  node->content.memory = memory;
  *pointer = memory->address();
  return CUDA_SUCCESS;
}

CUresult CaptureFree(Stream* stream, CUdeviceptr pointer, bool* captured) {
  std::lock_guard<std::mutex> lock(Mutex());
  *captured = stream->capture.load() != nullptr;
  if (!*captured) return CheckDefaultStream(stream);
  const std::shared_ptr<GraphMemory> memory = FindGraphMemory(pointer);
  if (memory == nullptr) return Broken(stream->capture.load(), CUDA_ERROR_INVALID_VALUE);
  GraphNode* node;
  if (CUresult result = NextNode(stream, &node, captured)) return result;
  node->content.type = CU_GRAPH_NODE_TYPE_MEM_FREE;
  node->content.memory = memory;
  return CUDA_SUCCESS;
}

CUresult RefuseOnStream(Stream* stream) {
  std::lock_guard<std::mutex> lock(Mutex());
  Capture* capture = stream->capture.load();
  if (capture == nullptr) return CheckDefaultStream(stream);
  return Broken(capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

CUresult RefuseOnContext(Context* context) {
  std::lock_guard<std::mutex> lock(Mutex());
  CUresult result = CUDA_SUCCESS;
  for (Capture* capture : Active()) {
    for (auto& [stream, nodes] : capture->streams) {
      if (stream->view == context || stream->view->root == context) {
        result = Broken(capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
      }
    }
  }
  return result;
}

CUresult RefuseOnEvent(Event* event) {
  std::lock_guard<std::mutex> lock(Mutex());
  Capture* capture = event->capture.load();
  return capture == nullptr ? CUDA_SUCCESS : Broken(capture, CUDA_ERROR_CAPTURED_EVENT);
}

CUresult RefuseUnsafe() {
  if (t_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  std::lock_guard<std::mutex> lock(Mutex());
  CUresult result = CUDA_SUCCESS;
  for (Capture* capture : Active()) {
    const bool own = pthread_equal(capture->thread, pthread_self()) != 0;
    const bool refused = (capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                          t_mode == CU_STREAM_CAPTURE_MODE_GLOBAL) ||
                         (own && capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED);
    if (refused) result = Broken(capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  }
  return result;
}

CUresult BeginCapture(Stream* stream, CUstreamCaptureMode mode, Graph* graph,
                      const std::vector<GraphEdge>& dependencies) {
  if (mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  if (stream->legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  std::lock_guard<std::mutex> lock(Mutex());
  if (stream->capture.load() != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  const bool owns_graph = graph == nullptr;
  if (owns_graph) {
    if (CUresult result = NewGraph(&graph)) return result;
  }
  auto* capture = new Capture();
  capture->graph = graph;
  capture->owns_graph = owns_graph;
  capture->mode = mode;
  capture->thread = pthread_self();
  capture->origin = stream;
  capture->id = g_next_id++;
  capture->streams[stream] = dependencies;
  stream->capture.store(capture);
  Active().insert(capture);
  g_captures.fetch_add(1, std::memory_order_relaxed);
  return CUDA_SUCCESS;
}

CUresult EndCapture(Stream* stream, Graph** graph) {
  *graph = nullptr;
  std::lock_guard<std::mutex> lock(Mutex());
  Capture* capture = stream->capture.load();
  if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
      !pthread_equal(capture->thread, pthread_self())) {
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  }
  CUresult result = CUDA_SUCCESS;
  if (capture->broken) {
    result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  } else if (capture->origin != stream) {
    return Broken(capture, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  } else if (!AllJoined(capture)) {
    result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  }
  Graph* made = capture->graph;
  const bool owned = capture->owns_graph;
  Forget(capture);
  if (result == CUDA_SUCCESS) {
    *graph = made;
  } else if (owned) {
    DropGraph(made);
  }
  return result;
}

CUresult GetCaptureInfo(Stream* stream, CaptureInfo* info) {
  std::lock_guard<std::mutex> lock(Mutex());
  *info = CaptureInfo{};
  Capture* capture = stream->capture.load();
  if (capture == nullptr) return CheckDefaultStream(stream);
  info->id = capture->id;
  info->status =
      capture->broken ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  info->graph = capture->graph;
  std::vector<CUgraphNode>& nodes = capture->shown[stream];
  std::vector<CUgraphEdgeData>& edges = capture->shown_edges[stream];
  nodes.clear();
  edges.clear();
  for (const GraphEdge& edge : capture->streams[stream]) {
    nodes.push_back(reinterpret_cast<CUgraphNode>(edge.from));
    edges.push_back(edge.data);
  }
  info->dependencies = nodes.data();
  info->edges = edges.data();
  info->dependency_count = nodes.size();
  return CUDA_SUCCESS;
}

CUresult UpdateDependencies(Stream* stream, const std::vector<GraphEdge>& edges, bool add) {
  std::lock_guard<std::mutex> lock(Mutex());
  Capture* capture = stream->capture.load();
  if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->broken) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  for (const GraphEdge& edge : edges) {
    if (edge.from->graph != capture->graph) return CUDA_ERROR_INVALID_VALUE;
  }
  Edges& tail = capture->streams[stream];
  if (!add) tail.clear();
  Merge(edges, &tail);
  return CUDA_SUCCESS;
}

CUstreamCaptureMode ExchangeThreadMode(CUstreamCaptureMode mode) {
  return std::exchange(t_mode, mode);
}

}  // namespace sgprs::simgpu::driver
