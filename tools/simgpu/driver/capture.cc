// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/driver/capture.h"

#include <pthread.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

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
  std::map<Stream*, std::vector<GraphNode*>> streams;
  std::map<Event*, std::vector<GraphNode*>> events;
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

void Merge(const std::vector<GraphNode*>& more, std::vector<GraphNode*>* into) {
  for (GraphNode* node : more) {
    if (std::find(into->begin(), into->end(), node) == into->end()) into->push_back(node);
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
std::set<const GraphNode*> Ancestors(const std::vector<GraphNode*>& nodes) {
  std::set<const GraphNode*> seen;
  std::vector<const GraphNode*> open(nodes.begin(), nodes.end());
  while (!open.empty()) {
    const GraphNode* node = open.back();
    open.pop_back();
    if (!seen.insert(node).second) continue;
    open.insert(open.end(), node->dependencies.begin(), node->dependencies.end());
  }
  return seen;
}

// Has every stream that joined come back to the origin?
bool AllJoined(Capture* capture) {
  const std::set<const GraphNode*> reached = Ancestors(capture->streams[capture->origin]);
  for (auto& [stream, nodes] : capture->streams) {
    for (const GraphNode* node : nodes) {
      if (reached.count(node) == 0) return false;
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

CUresult CaptureCommand(Stream* stream, CommandKind kind, OpKind op_kind, const FillCommand& fill,
                        bool* captured) {
  std::lock_guard<std::mutex> lock(Mutex());
  *captured = false;
  Capture* capture = stream->capture.load();
  if (capture == nullptr) return CheckDefaultStream(stream);
  *captured = true;
  if (capture->broken) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  std::vector<GraphNode*>& tail = capture->streams[stream];
  GraphNode* node;
  if (CUresult result = AddNode(capture->graph, tail, &node)) return Broken(capture, result);
  node->type = TypeOf(op_kind);
  node->view = stream->view;
  node->priority = stream->priority;
  node->body = std::make_unique<NodeBody>();
  node->body->kind = kind;
  node->body->op.kind = op_kind;
  fill(node->body->op, node->body->command);
  tail = {node};
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

CUresult CaptureAllocation(Stream* stream, CUdevice, size_t, CUdeviceptr*, bool* captured) {
  *captured = false;
  return RefuseOnStream(stream);
}

CUresult CaptureFree(Stream* stream, CUdeviceptr, bool* captured) {
  *captured = false;
  return RefuseOnStream(stream);
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
                      const std::vector<GraphNode*>& dependencies) {
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
  const std::vector<GraphNode*>& nodes = capture->streams[stream];
  info->dependencies = reinterpret_cast<const CUgraphNode*>(nodes.data());
  info->dependency_count = nodes.size();
  return CUDA_SUCCESS;
}

CUstreamCaptureMode ExchangeThreadMode(CUstreamCaptureMode mode) {
  return std::exchange(t_mode, mode);
}

}  // namespace sgprs::simgpu::driver
