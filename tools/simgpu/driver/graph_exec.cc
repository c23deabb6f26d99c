// SPDX-License-Identifier: Apache-2.0
// Executables come and go; launches of them.
#include "tools/simgpu/driver/graph_exec.h"

#include <algorithm>

#include "tools/simgpu/driver/fault.h"
#include "tools/simgpu/driver/process.h"

namespace sgprs::simgpu::driver {
namespace {

constexpr size_t kMostLanes = 32;
using Step = GraphExec::Step;

// --- layout -------------------------------------------------------------------------------------

uint32_t AddStep(GraphExec* exec, GraphNode* node, std::vector<uint32_t> dependencies) {
  Step step;
  step.node = node;
  step.view = node != nullptr ? node->content.view : nullptr;
  for (uint32_t dependency : dependencies) exec->steps[dependency].leaf = false;
  step.dependencies = std::move(dependencies);
  exec->steps.push_back(std::move(step));
  return static_cast<uint32_t>(exec->steps.size() - 1);
}

// Steps of a graph whose roots come after `before`. `ends`: the steps that nothing follows.
// False: there is a cycle.
bool AddSteps(GraphExec* exec, const Graph& graph, const std::vector<uint32_t>& before,
              std::vector<uint32_t>* ends) {
  std::vector<GraphNode*> order;
  if (!TopologicalOrder(graph, &order)) return false;
  std::unordered_map<const GraphNode*, uint32_t> last;  // step that a node ends with
  for (GraphNode* node : order) {
    if (node->origin != nullptr) exec->by_origin[node->origin] = node;
    std::vector<uint32_t> dependencies =
        node->dependencies.empty() ? before : std::vector<uint32_t>();
    for (const GraphEdge& edge : node->dependencies) dependencies.push_back(last[edge.from]);
    if (node->content.child == nullptr) {
      last[node] = AddStep(exec, node, std::move(dependencies));
      continue;
    }
    const uint32_t begin = AddStep(exec, nullptr, std::move(dependencies));
    std::vector<uint32_t> inner;
    if (!AddSteps(exec, *node->content.child, {begin}, &inner)) return false;
    if (inner.empty()) inner.push_back(begin);
    last[node] = AddStep(exec, nullptr, std::move(inner));
  }
  for (const auto& [node, step] : last) {
    if (exec->steps[step].leaf) ends->push_back(step);
  }
  std::sort(ends->begin(), ends->end());
  return true;
}

bool IsChain(const GraphExec& exec) {
  const Context* view = nullptr;
  for (uint32_t i = 0; i < exec.steps.size(); ++i) {
    const Step& step = exec.steps[i];
    const bool follows = i == 0 ? step.dependencies.empty()
                                : step.dependencies.size() == 1 && step.dependencies[0] == i - 1;
    if (!follows) return false;
    if (step.view == nullptr) continue;
    if (view != nullptr && step.view != view) return false;
    view = step.view;
  }
  return true;
}

// --- launch -------------------------------------------------------------------------------------

CUresult SendBody(const NodeBody& body, Submission* submission, const Stream& stream,
                  uint64_t* seq) {
  if (body.op.kind == OpKind::kEventWait) {
    // relaxed: as in cuStreamWaitEvent.
    submission->WaitFor(body.op.event->record.load(std::memory_order_relaxed));
    return submission->status();
  }
  if (!submission->Next(body.kind, body.op.kind)) return submission->status();
  Op& op = submission->op();
  Command& command = submission->command();
  const bool copied = CopyOpPayload(body.op, &op);
  const uint64_t number = command.seq;
  const Command fresh = command;
  command = body.command;  // the model's part; the rest is this launch's
  command.seq = number;
  command.submit_ns = fresh.submit_ns;
  command.kind = fresh.kind;
  command.stream = fresh.stream;
  command.context = fresh.context;
  if (op.kind == OpKind::kHost) op.host.stream = stream.id;
  if (op.kind == OpKind::kWaitValue) op.wait.stream = stream.id;
  if (op.kind == OpKind::kKernel && TheProcess().fault.armed) {
    command.fault = TakeFault(command.name_hash);
  }
  if (op.kind == OpKind::kEvent) {
    // relaxed: as in RecordEvent.
    op.event->references.fetch_add(1, std::memory_order_relaxed);
    op.event->record.store(number, std::memory_order_relaxed);
  }
  if (!copied) op.kind = OpKind::kNothing;  // the command goes without its effect
  *seq = submission->Commit();
  return copied ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

const NodeBodies& BodiesOf(const Step& step) {
  static const auto* none = new NodeBodies();
  const bool runs = step.node != nullptr && step.node->enabled;
  return runs ? step.node->content.bodies : *none;
}

CUresult LaunchChain(GraphExec* exec, Stream* stream) {
  for (uint64_t leaf : exec->leaves) {  // of the launch before, perhaps in another stream
    Submission submission(stream);
    submission.WaitFor(leaf);
    if (CUresult result = submission.Publish()) return result;
  }
  exec->leaves.clear();
  uint64_t last = 0;
  for (const Step& step : exec->steps) {
    for (const auto& body : BodiesOf(step)) {
      Submission submission(stream);
      if (CUresult result = SendBody(*body, &submission, *stream, &last)) return result;
      if (CUresult result = submission.Publish()) return result;
    }
  }
  if (last != 0) exec->leaves.push_back(last);
  return CUDA_SUCCESS;
}

// A stream of the exec's own for a step: that of a dependency which nothing else follows yet, else
// a new one, else any of the view.
CUresult ChooseLane(GraphExec* exec, uint32_t index, Context* view, int priority,
                    std::vector<uint32_t>* tails) {
  Step& step = exec->steps[index];
  const auto fits = [&](uint32_t lane) {
    return exec->lanes[lane]->view == view && exec->lanes[lane]->priority == priority;
  };
  const auto take = [&](uint32_t lane) {
    step.lane = lane;
    (*tails)[lane] = index;
    return CUDA_SUCCESS;
  };
  for (uint32_t dependency : step.dependencies) {
    const uint32_t lane = exec->steps[dependency].lane;
    if ((*tails)[lane] == dependency && fits(lane)) return take(lane);
  }
  for (uint32_t lane = 0; exec->lanes.size() >= kMostLanes && lane < exec->lanes.size(); ++lane) {
    if (fits(lane)) return take(lane);
  }
  Stream* stream;
  if (CUresult result = MakeStream(view, CU_STREAM_NON_BLOCKING, priority, &stream)) return result;
  exec->lanes.push_back(stream);
  tails->push_back(index);
  step.lane = static_cast<uint32_t>(exec->lanes.size() - 1);
  return CUDA_SUCCESS;
}

void DropLanes(GraphExec* exec) {
  for (Stream* lane : exec->lanes) {
    if (lane->view->usable.load()) DropStream(lane);
  }
  exec->lanes.clear();
}

// Priorities: of the nodes if they are to count, else of the launch.
CUresult PrepareLanes(GraphExec* exec, const Stream& stream) {
  if (!exec->lanes.empty() && exec->lane_priority == stream.priority) return CUDA_SUCCESS;
  DropLanes(exec);
  exec->lane_priority = stream.priority;
  const bool by_node = (exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY) != 0;
  std::vector<uint32_t> tails;
  for (uint32_t i = 0; i < exec->steps.size(); ++i) {
    const Step& step = exec->steps[i];
    const bool own = by_node && step.node != nullptr && step.node->content.has_priority;
    Context* view = step.view != nullptr ? step.view : stream.view;
    const int priority = own ? step.node->content.priority : stream.priority;
    if (CUresult result = ChooseLane(exec, i, view, priority, &tails)) return result;
  }
  return CUDA_SUCCESS;
}

CUresult SendToLane(GraphExec* exec, size_t index, uint64_t start, std::vector<uint64_t>* seqs) {
  const Step& step = exec->steps[index];
  Stream* lane = exec->lanes[step.lane];
  Submission submission(lane);
  if (step.dependencies.empty()) {
    submission.WaitFor(start);
    for (uint64_t leaf : exec->leaves) submission.WaitFor(leaf);
  }
  for (uint32_t dependency : step.dependencies) submission.WaitFor((*seqs)[dependency]);
  uint64_t& seq = (*seqs)[index];
  for (const auto& body : BodiesOf(step)) {
    if (CUresult result = SendBody(*body, &submission, *lane, &seq)) return result;
  }
  // Something that others can wait for.
  if (seq == 0 && submission.Next(CommandKind::kEventRecord, OpKind::kNothing)) {
    seq = submission.Commit();
  }
  return submission.Publish();
}

CUresult LaunchLanes(GraphExec* exec, Stream* stream) {
  if (CUresult result = PrepareLanes(exec, *stream)) return result;
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

// Contexts still there, events not destroyed, memory not allocated twice.
CUresult CheckSteps(const GraphExec& exec) {
  for (const Step& step : exec.steps) {
    if (step.view != nullptr) {
      if (CUresult bad = ContextStatus(step.view)) return bad;
    }
    if (step.node == nullptr) continue;
    const NodeContent& content = step.node->content;
    const bool again = content.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC && content.memory->live() &&
                       (exec.flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) == 0;
    if (again) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

void MarkMemory(const GraphExec& exec) {
  for (const Step& step : exec.steps) {
    if (step.node == nullptr || step.node->content.memory == nullptr) continue;
    step.node->content.memory->set_live(step.node->content.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC);
  }
}

// A cycle has been found somewhere: a node that never becomes ready.
GraphNode* NodeOfCycle(const Graph& graph) {
  std::vector<GraphNode*> order;
  if (TopologicalOrder(graph, &order)) return nullptr;
  for (GraphNode* node : graph.nodes) {
    if (std::find(order.begin(), order.end(), node) == order.end()) return node;
  }
  return nullptr;
}

}  // namespace

ExecArena& Execs() {
  static auto* arena = new ExecArena();
  return *arena;
}

CUresult Instantiate(Graph* graph, unsigned long long flags, GraphExec** out,
                     GraphNode** bad_node) {
  *bad_node = NodeOfCycle(*graph);
  if (*bad_node != nullptr) return CUDA_ERROR_INVALID_VALUE;
  const bool memory = HasMemoryNodes(*graph);
  if (memory && graph->executables > 0) return CUDA_ERROR_INVALID_VALUE;
  GraphExec* exec = Execs().New();
  if (exec == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  exec->flags = flags;
  CUresult result = CloneGraph(*graph, true, &exec->graph);
  if (result == CUDA_SUCCESS) {
    exec->graph->internal = true;
    std::vector<uint32_t> ends;
    if (!AddSteps(exec, *exec->graph, {}, &ends)) result = CUDA_ERROR_INVALID_VALUE;
  }
  if (result != CUDA_SUCCESS) {
    DropExec(exec);
    return result;
  }
  exec->chain = IsChain(*exec);
  exec->source = graph;
  ++graph->executables;
  *out = exec;
  return CUDA_SUCCESS;
}

CUresult LaunchExec(GraphExec* exec, Stream* stream) {
  std::lock_guard<std::mutex> lock(exec->mutex);
  if (CUresult bad = CheckSteps(*exec)) return bad;
  const auto first = std::find_if(exec->steps.begin(), exec->steps.end(),
                                  [](const Step& step) { return step.view != nullptr; });
  const bool by_node = (exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY) != 0;
  // A chain on the SMs of the launching stream needs no streams of its own.
  const bool simple =
      exec->chain && !by_node && (first == exec->steps.end() || first->view == stream->view);
  const CUresult result = simple ? LaunchChain(exec, stream) : LaunchLanes(exec, stream);
  MarkMemory(*exec);
  return result;
}

void DropExec(GraphExec* exec) {
  if (!Execs().Close(exec)) return;
  if (exec->graph != nullptr && HasMemoryNodes(*exec->graph)) {  // what runs still uses the memory
    for (uint64_t leaf : exec->leaves) (void)TheProcess().queue.Wait(leaf);
  }
  DropLanes(exec);
  if (exec->source != nullptr && Graphs().Find(exec->source) != nullptr)
    --exec->source->executables;
  if (exec->graph != nullptr) DropGraph(exec->graph);
  Execs().Free(exec);
}

}  // namespace sgprs::simgpu::driver
