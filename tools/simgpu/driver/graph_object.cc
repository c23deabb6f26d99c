// SPDX-License-Identifier: Apache-2.0
// Graphs and executables come and go; launches of them.
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "tools/simgpu/driver/graph.h"
#include "tools/simgpu/driver/process.h"

namespace sgprs::simgpu::driver {
namespace {

constexpr size_t kMostLanes = 32;

// What an op does, without its place in the table.
void CopyPayload(const Op& from, Op* to) {
  to->kind = from.kind;
  constexpr size_t kHead = offsetof(Op, copy);
  memcpy(reinterpret_cast<unsigned char*>(to) + kHead,
         reinterpret_cast<const unsigned char*>(&from) + kHead, sizeof(Op) - kHead);
}

// False: out of memory.
bool CopyLargeParameters(Op* op) {
  if (op->kind != OpKind::kKernel || op->kernel.large == nullptr) return true;
  void* copy = malloc(op->kernel.param_bytes);
  if (copy != nullptr) memcpy(copy, op->kernel.large, op->kernel.param_bytes);
  op->kernel.large = copy;
  return copy != nullptr;
}

// The model's part of a command.
void CopyWork(const Command& from, Command* to) {
  to->direction = from.direction;
  to->bytes = from.bytes;
  to->blocks = from.blocks;
  to->threads = from.threads;
  to->shared_bytes = from.shared_bytes;
  to->registers = from.registers;
  to->cooperative = from.cooperative;
  to->flops = from.flops;
  to->dram_bytes = from.dram_bytes;
  to->name_hash = from.name_hash;
}

CUresult SendStep(const NodeBody& body, Submission* submission, const Stream& stream,
                  uint64_t* seq) {
  if (!submission->Next(body.kind, body.op.kind)) return submission->status();
  Op& op = submission->op();
  CopyPayload(body.op, &op);
  CopyWork(body.command, &submission->command());
  if (!CopyLargeParameters(&op)) {
    op.kind = OpKind::kNothing;  // the command goes without its effect
    submission->Commit();
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  if (op.kind == OpKind::kHost) op.host.stream = stream.id;
  if (op.kind == OpKind::kEvent && Events().Find(op.event) == nullptr) {
    op.kind = OpKind::kNothing;  // the program has destroyed the event
  }
  if (op.kind == OpKind::kEvent) {
    // relaxed: as in RecordEvent.
    op.event->references.fetch_add(1, std::memory_order_relaxed);
    op.event->record.store(submission->command().seq, std::memory_order_relaxed);
  }
  *seq = submission->Commit();
  return CUDA_SUCCESS;
}

// A stream of the exec's own for a step: that of a dependency which nothing else follows yet, else
// a new one, else any of the view.
CUresult ChooseLane(GraphExec* exec, uint32_t index, const GraphNode& node,
                    std::vector<uint32_t>* lane_tails) {
  GraphExec::Step& step = exec->steps[index];
  for (uint32_t dependency : step.dependencies) {
    const uint32_t lane = exec->steps[dependency].lane;
    if ((*lane_tails)[lane] == dependency && exec->lanes[lane]->view == step.view) {
      step.lane = lane;
      (*lane_tails)[lane] = index;
      return CUDA_SUCCESS;
    }
  }
  for (uint32_t lane = 0; exec->lanes.size() >= kMostLanes && lane < exec->lanes.size(); ++lane) {
    if (exec->lanes[lane]->view != step.view) continue;
    step.lane = lane;
    (*lane_tails)[lane] = index;
    return CUDA_SUCCESS;
  }
  Stream* stream;
  if (CUresult result = MakeStream(step.view, CU_STREAM_NON_BLOCKING, node.priority, &stream)) {
    return result;
  }
  step.lane = static_cast<uint32_t>(exec->lanes.size());
  exec->lanes.push_back(stream);
  lane_tails->push_back(index);
  return CUDA_SUCCESS;
}

CUresult CopySteps(const Graph& graph, GraphExec* exec) {
  exec->steps.resize(graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode& node = *graph.nodes[i];
    GraphExec::Step& step = exec->steps[i];
    step.view = node.view;
    for (const GraphNode* dependency : node.dependencies) {
      step.dependencies.push_back(dependency->index);
      exec->steps[dependency->index].leaf = false;
    }
    const bool follows = i == 0 ? step.dependencies.empty()
                                : step.dependencies.size() == 1 && step.dependencies[0] == i - 1 &&
                                      step.view == exec->steps[i - 1].view;
    exec->chain = exec->chain && follows;
    if (node.body == nullptr) continue;
    step.body = node.body->Clone();
    if (step.body == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  return CUDA_SUCCESS;
}

CUresult LaunchChain(GraphExec* exec, Stream* stream) {
  for (uint64_t leaf : exec->leaves) {  // of the launch before, perhaps in another stream
    Submission submission(stream);
    submission.WaitFor(leaf);
    if (CUresult result = submission.Publish()) return result;
  }
  exec->leaves.clear();
  uint64_t last = 0;
  for (const GraphExec::Step& step : exec->steps) {
    if (step.body == nullptr) continue;
    Submission submission(stream);
    if (CUresult result = SendStep(*step.body, &submission, *stream, &last)) return result;
    if (CUresult result = submission.Publish()) return result;
  }
  if (last != 0) exec->leaves.push_back(last);
  return CUDA_SUCCESS;
}

CUresult SendToLane(GraphExec* exec, size_t index, uint64_t start, std::vector<uint64_t>* seqs) {
  const GraphExec::Step& step = exec->steps[index];
  Stream* lane = exec->lanes[step.lane];
  Submission submission(lane);
  if (step.dependencies.empty()) {
    submission.WaitFor(start);
    for (uint64_t leaf : exec->leaves) submission.WaitFor(leaf);
  }
  for (uint32_t dependency : step.dependencies) submission.WaitFor((*seqs)[dependency]);
  if (step.body != nullptr) {
    if (CUresult result = SendStep(*step.body, &submission, *lane, &(*seqs)[index])) return result;
  } else if (submission.Next(CommandKind::kEventRecord, OpKind::kNothing)) {  // an empty node
    (*seqs)[index] = submission.Commit();
  }
  return submission.Publish();
}

CUresult LaunchLanes(GraphExec* exec, Stream* stream) {
  uint64_t start = 0;
  {
    Submission submission(stream);
    if (submission.Next(CommandKind::kEventRecord, OpKind::kNothing)) start = submission.Commit();
    if (CUresult result = submission.Publish()) return result;
  }
  std::vector<uint64_t> seqs(exec->steps.size(), 0);
  std::vector<uint64_t> leaves;
  for (size_t i = 0; i < exec->steps.size(); ++i) {
    if (CUresult result = SendToLane(exec, i, start, &seqs)) return result;
    if (exec->steps[i].leaf) leaves.push_back(seqs[i]);
  }
  exec->leaves = leaves;
  Submission submission(stream);
  for (uint64_t leaf : leaves) submission.WaitFor(leaf);
  return submission.Publish();
}

}  // namespace

NodeBody::~NodeBody() {
  if (op.kind == OpKind::kKernel) free(op.kernel.large);
}

std::unique_ptr<NodeBody> NodeBody::Clone() const {
  auto copy = std::make_unique<NodeBody>();
  copy->kind = kind;
  copy->command = command;
  CopyPayload(op, &copy->op);
  return CopyLargeParameters(&copy->op) ? std::move(copy) : nullptr;
}

GraphArena& Graphs() {
  static auto* arena = new GraphArena();
  return *arena;
}
NodeArena& Nodes() {
  static auto* arena = new NodeArena();
  return *arena;
}
ExecArena& Execs() {
  static auto* arena = new ExecArena();
  return *arena;
}

CUresult NewGraph(Graph** graph) {
  *graph = Graphs().New();
  return *graph != nullptr ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult AddNode(Graph* graph, const std::vector<GraphNode*>& dependencies, GraphNode** out) {
  GraphNode* node = Nodes().New();
  if (node == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  node->graph = graph;
  node->index = static_cast<uint32_t>(graph->nodes.size());
  node->dependencies = dependencies;
  graph->nodes.push_back(node);
  *out = node;
  return CUDA_SUCCESS;
}

void DropGraph(Graph* graph) {
  if (!Graphs().Close(graph)) return;
  for (GraphNode* node : graph->nodes) {
    Nodes().Close(node);
    Nodes().Free(node);
  }
  Graphs().Free(graph);
}

CUresult Instantiate(const Graph& graph, GraphExec** out) {
  GraphExec* exec = Execs().New();
  if (exec == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  CUresult result = CopySteps(graph, exec);
  std::vector<uint32_t> tails;
  for (uint32_t i = 0; i < exec->steps.size() && result == CUDA_SUCCESS; ++i) {
    result = ChooseLane(exec, i, *graph.nodes[i], &tails);
  }
  if (result != CUDA_SUCCESS) {
    DropExec(exec);
    return result;
  }
  *out = exec;
  return CUDA_SUCCESS;
}

CUresult LaunchExec(GraphExec* exec, Stream* stream) {
  std::lock_guard<std::mutex> lock(exec->mutex);
  if (exec->steps.empty()) return CUDA_SUCCESS;
  // A chain on the SMs of the launching stream needs no streams of its own.
  const bool simple = exec->chain && exec->steps[0].view == stream->view;
  return simple ? LaunchChain(exec, stream) : LaunchLanes(exec, stream);
}

void DropExec(GraphExec* exec) {
  if (!Execs().Close(exec)) return;
  for (Stream* lane : exec->lanes) {
    if (lane->view->usable.load()) DropStream(lane);
  }
  Execs().Free(exec);
}

}  // namespace sgprs::simgpu::driver
