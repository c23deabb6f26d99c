// SPDX-License-Identifier: Apache-2.0
// Graphs and nodes come and go.
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <set>
#include <unordered_map>

#include "tools/simgpu/driver/graph.h"

namespace sgprs::simgpu::driver {

bool CopyOpPayload(const Op& from, Op* to) {
  to->kind = from.kind;
  constexpr size_t kHead = offsetof(Op, copy);
  memcpy(reinterpret_cast<unsigned char*>(to) + kHead,
         reinterpret_cast<const unsigned char*>(&from) + kHead, sizeof(Op) - kHead);
  if (to->kind != OpKind::kKernel || to->kernel.large == nullptr) return true;
  void* copy = malloc(to->kernel.param_bytes);
  if (copy != nullptr) memcpy(copy, from.kernel.large, to->kernel.param_bytes);
  to->kernel.large = copy;
  return copy != nullptr;
}

NodeBody::~NodeBody() {
  if (op.kind == OpKind::kKernel) free(op.kernel.large);
}

std::unique_ptr<NodeBody> NodeBody::Clone() const {
  auto copy = std::make_unique<NodeBody>();
  copy->kind = kind;
  copy->command = command;
  return CopyOpPayload(op, &copy->op) ? std::move(copy) : nullptr;
}

GraphArena& Graphs() {
  static auto* arena = new GraphArena();
  return *arena;
}
NodeArena& Nodes() {
  static auto* arena = new NodeArena();
  return *arena;
}

CUresult NewGraph(Graph** graph) {
  *graph = Graphs().New();
  return *graph != nullptr ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult AddNode(Graph* graph, const std::vector<GraphEdge>& dependencies, GraphNode** out) {
  GraphNode* node = Nodes().New();
  if (node == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  node->graph = graph;
  node->number = graph->next_number++;
  node->dependencies = dependencies;
  graph->nodes.push_back(node);
  *out = node;
  return CUDA_SUCCESS;
}

void DropContent(NodeContent* content) {
  if (content->event != nullptr) ReleaseEvent(content->event);
  if (content->child != nullptr) DropGraph(content->child);
  *content = NodeContent();
}

void DropNode(GraphNode* node) {
  if (!Nodes().Close(node)) return;
  std::erase(node->graph->nodes, node);
  for (GraphNode* other : node->graph->nodes) {
    std::erase_if(other->dependencies, [&](const GraphEdge& edge) { return edge.from == node; });
  }
  DropContent(&node->content);
  Nodes().Free(node);
}

void DropGraph(Graph* graph) {
  if (!Graphs().Close(graph)) return;
  for (GraphNode* node : graph->nodes) {
    Nodes().Close(node);
    DropContent(&node->content);
    Nodes().Free(node);
  }
  for (const auto& [object, count] : graph->user_objects) ReleaseUserObject(object, count);
  Graphs().Free(graph);
}

CUresult CloneContent(const NodeContent& from, bool memory, NodeContent* to) {
  if (from.memory != nullptr && !memory) return CUDA_ERROR_NOT_SUPPORTED;
  to->type = from.type;
  to->view = from.view;
  to->has_priority = from.has_priority;
  to->priority = from.priority;
  to->attributes = from.attributes;
  to->mem_ops = from.mem_ops;
  to->fill = from.fill;
  to->copy = from.copy;
  to->memory = from.memory;
  for (const auto& body : from.bodies) {
    to->bodies.push_back(body->Clone());
    if (to->bodies.back() == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  if (from.event != nullptr) {
    to->event = from.event;
    to->event->references.fetch_add(1, std::memory_order_relaxed);  // `from` holds one
  }
  if (from.child == nullptr) return CUDA_SUCCESS;
  const CUresult result = CloneGraph(*from.child, memory, &to->child);
  if (result == CUDA_SUCCESS) to->child->internal = true;
  return result;
}

namespace {

CUresult CloneNodes(const Graph& graph, bool memory, Graph* clone) {
  std::unordered_map<const GraphNode*, GraphNode*> clones;
  for (GraphNode* node : graph.nodes) {
    GraphNode* copy;
    if (CUresult result = AddNode(clone, {}, &copy)) return result;
    clones[node] = copy;
    copy->origin = node;
    copy->enabled = node->enabled;
    if (CUresult result = CloneContent(node->content, memory, &copy->content)) return result;
  }
  for (const GraphNode* node : graph.nodes) {
    for (const GraphEdge& edge : node->dependencies) {
      clones[node]->dependencies.push_back({clones[edge.from], edge.data});
    }
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult CloneGraph(const Graph& graph, bool memory, Graph** out) {
  Graph* clone;
  if (CUresult result = NewGraph(&clone)) return result;
  if (CUresult result = CloneNodes(graph, memory, clone)) {
    DropGraph(clone);
    return result;
  }
  for (const auto& [object, count] : graph.user_objects) {
    RetainUserObject(object, 1);
    clone->user_objects[object] = 1;
  }
  *out = clone;
  return CUDA_SUCCESS;
}

bool HasMemoryNodes(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const GraphNode* node) {
    const NodeContent& content = node->content;
    return content.memory != nullptr ||
           (content.child != nullptr && HasMemoryNodes(*content.child));
  });
}

bool TopologicalOrder(const Graph& graph, std::vector<GraphNode*>* order) {
  const auto older = [](const GraphNode* a, const GraphNode* b) { return a->number < b->number; };
  std::set<GraphNode*, decltype(older)> ready(older);
  std::unordered_map<const GraphNode*, size_t> open;  // dependencies not yet placed
  std::unordered_map<const GraphNode*, std::vector<GraphNode*>> dependents;
  for (GraphNode* node : graph.nodes) {
    open[node] = node->dependencies.size();
    if (node->dependencies.empty()) ready.insert(node);
    for (const GraphEdge& edge : node->dependencies) dependents[edge.from].push_back(node);
  }
  while (!ready.empty()) {
    GraphNode* node = *ready.begin();
    ready.erase(ready.begin());
    order->push_back(node);
    for (GraphNode* next : dependents[node]) {
      if (--open[next] == 0) ready.insert(next);
    }
  }
  return order->size() == graph.nodes.size();
}

}  // namespace sgprs::simgpu::driver
