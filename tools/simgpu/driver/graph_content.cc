// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/driver/graph_content.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tools/simgpu/driver/launch.h"
#include "tools/simgpu/driver/launch_attributes.h"
#include "tools/simgpu/driver/mem_op.h"
#include "tools/simgpu/driver/memory_table.h"
#include "tools/simgpu/driver/process.h"
#include "tools/simgpu/driver/transfer.h"

namespace sgprs::simgpu::driver {
namespace {

NodeBody* AddBody(NodeContent* content, CommandKind command, OpKind op) {
  content->bodies.push_back(std::make_unique<NodeBody>());
  NodeBody* body = content->bodies.back().get();
  body->kind = command;
  body->op.kind = op;
  return body;
}

CUresult FindView(CUcontext handle, NodeContent* content) {
  return FindContext(handle, true, &content->view);
}

// --- kernels ------------------------------------------------------------------------------------

CUresult FindKernel(const CUDA_KERNEL_NODE_PARAMS_v3& p, Launch* launch, NodeContent* content) {
  Function* function;
  if (p.func != nullptr) {
    Context* current;
    if (CUresult bad = CurrentContext(&current)) return bad;
    if (CUresult bad = FindFunction(p.func, current->root, &function)) return bad;
    // A kernel handle passed as a function takes the current context, a function has its own.
    content->view = function->context == current->root ? current : function->context;
  } else {
    if (p.kern == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (CUresult bad = FindView(p.ctx, content)) return bad;
    const auto handle = reinterpret_cast<CUfunction>(p.kern);
    if (CUresult bad = FindFunction(handle, content->view->root, &function)) return bad;
  }
  launch->function = function;
  return CUDA_SUCCESS;
}

CUresult WriteKernel(const Launch& launch, NodeContent* content) {
  void* large;
  if (!MakeLarge(launch, &large)) return CUDA_ERROR_OUT_OF_MEMORY;
  NodeBody* body = AddBody(content, CommandKind::kKernel, OpKind::kKernel);
  WriteLaunch(launch, large, &body->op, &body->command);
  body->command.has_priority = 0;  // the lane's
  content->has_priority = launch.has_priority;
  content->priority = launch.priority;
  return CUDA_SUCCESS;
}

CUresult MakeKernel(const CUDA_KERNEL_NODE_PARAMS_v3& p,
                    const std::vector<CUlaunchAttribute>& attributes, NodeContent* content) {
  Launch launch;
  const uint32_t grid[3] = {p.gridDimX, p.gridDimY, p.gridDimZ};
  const uint32_t block[3] = {p.blockDimX, p.blockDimY, p.blockDimZ};
  memcpy(launch.grid, grid, sizeof(grid));
  memcpy(launch.block, block, sizeof(block));
  launch.shared_bytes = p.sharedMemBytes;
  if (CUresult bad = FindKernel(p, &launch, content)) return bad;
  if (CUresult bad = ReadAttributes(attributes.data(), attributes.size(), &launch)) return bad;
  if (launch.event_count > 0) return CUDA_ERROR_NOT_SUPPORTED;
  if (CUresult bad = CheckLaunch(launch, *content->view)) return bad;
  if (CUresult bad = SetParameters(p.kernelParams, p.extra, &launch)) return bad;
  FindWork(&launch);
  content->attributes = attributes;
  return WriteKernel(launch, content);
}

void DescribeKernel(GraphNode* node, CUDA_KERNEL_NODE_PARAMS_v3* p) {
  KernelOp& kernel = node->content.bodies[0]->op.kernel;
  auto* bytes = kernel.large != nullptr ? static_cast<unsigned char*>(kernel.large) : kernel.params;
  node->params.clear();
  for (const auto& param : kernel.info->image.params) {
    node->params.push_back(bytes + param.offset_bytes);
  }
  p->func = reinterpret_cast<CUfunction>(const_cast<Function*>(kernel.function));
  p->gridDimX = kernel.grid[0];
  p->gridDimY = kernel.grid[1];
  p->gridDimZ = kernel.grid[2];
  p->blockDimX = kernel.block[0];
  p->blockDimY = kernel.block[1];
  p->blockDimZ = kernel.block[2];
  p->sharedMemBytes = kernel.shared_bytes;
  p->kernelParams = node->params.empty() ? nullptr : node->params.data();
  p->ctx = reinterpret_cast<CUcontext>(node->content.view);
}

// --- the others ---------------------------------------------------------------------------------

CUresult MakeCopy(const CUDA_MEMCPY_NODE_PARAMS& p, NodeContent* content) {
  if (p.flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult bad = FindView(p.copyCtx, content)) return bad;
  Transfer transfer;
  if (CUresult bad = PlanShaped(p.copyParams, content->view->root, &transfer)) return bad;
  content->copy = p.copyParams;
  if (transfer.bytes == 0) return CUDA_SUCCESS;
  NodeBody* body = AddBody(content, CommandKind::kCopy, OpKind::kCopy);
  WriteTransfer(transfer, nullptr, &body->op, &body->command);
  return CUDA_SUCCESS;
}

CUresult MakeFill(const CUDA_MEMSET_NODE_PARAMS_v2& p, NodeContent* content) {
  if (p.elementSize != 1 && p.elementSize != 2 && p.elementSize != 4) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (p.width == 0 || p.height == 0) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult bad = FindView(p.ctx, content)) return bad;
  const FillOp fill{reinterpret_cast<void*>(p.dst),
                    p.height > 1 ? p.pitch : 0,
                    p.width,
                    p.height,
                    p.value,
                    p.elementSize};
  Place place;
  if (CUresult bad = CheckFill(fill, content->view->root, &place)) return bad;
  content->fill = p;
  content->fill.ctx = reinterpret_cast<CUcontext>(content->view);
  NodeBody* body = AddBody(content, CommandKind::kFill, OpKind::kFill);
  WriteFill(fill, &body->op, &body->command);
  return CUDA_SUCCESS;
}

CUresult MakeHost(const CUDA_HOST_NODE_PARAMS_v2& p, NodeContent* content) {
  if (p.fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult bad = FindView(nullptr, content)) return bad;
  NodeBody* body = AddBody(content, CommandKind::kHostFunction, OpKind::kHost);
  body->op.host = HostOp{p.fn, nullptr, p.userData, nullptr, 0};
  return CUDA_SUCCESS;
}

CUresult MakeEvent(CUevent handle, bool record, NodeContent* content) {
  Event* event;
  if (CUresult bad = FindEvent(handle, &event)) return bad;
  event->references.fetch_add(1, std::memory_order_relaxed);  // the handle holds one
  content->event = event;
  content->view = event->root;
  NodeBody* body =
      AddBody(content, CommandKind::kEventRecord, record ? OpKind::kEvent : OpKind::kEventWait);
  body->op.event = event;
  return CUDA_SUCCESS;
}

CUresult MakeChild(const CUDA_CHILD_GRAPH_NODE_PARAMS& p, NodeContent* content) {
  Graph* graph = p.graph != nullptr ? Graphs().Find(p.graph) : nullptr;
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (p.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE) {
    if (graph->internal) return CUDA_ERROR_INVALID_VALUE;
    content->child = graph;
  } else if (CUresult result = CloneGraph(*graph, false, &content->child)) {
    return result;
  }
  content->child->internal = true;
  return CUDA_SUCCESS;
}

CUresult MakeMemOps(const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2& p, NodeContent* content) {
  constexpr unsigned int kMost = 256;
  if (p.count == 0 || p.count > kMost || p.paramArray == nullptr || p.flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (CUresult bad = FindView(p.ctx, content)) return bad;
  for (unsigned int i = 0; i < p.count; ++i) {
    if (CUresult bad = CheckMemOp(p.paramArray[i], content->view->root)) return bad;
    const MemOpKinds kinds = KindsOf(p.paramArray[i]);
    NodeBody* body = AddBody(content, kinds.command, kinds.op);
    WriteMemOp(p.paramArray[i], 0, &body->op);
    content->mem_ops.push_back(p.paramArray[i]);
  }
  return CUDA_SUCCESS;
}

CUresult MakeAllocation(CUDA_MEM_ALLOC_NODE_PARAMS_v2* p, NodeContent* content) {
  const CUresult result = GraphMemory::Make(*p, &content->memory);
  if (result == CUDA_SUCCESS) p->dptr = content->memory->address();
  return result;
}

CUresult MakeFree(CUdeviceptr address, NodeContent* content) {
  content->memory = FindGraphMemory(address);
  return content->memory != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult Make(CUgraphNodeParams* params, const std::vector<CUlaunchAttribute>& attributes,
              NodeContent* content) {
  switch (params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return MakeKernel(params->kernel, attributes, content);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return MakeCopy(params->memcpy, content);
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return MakeFill(params->memset, content);
    case CU_GRAPH_NODE_TYPE_HOST:
      return MakeHost(params->host, content);
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return MakeChild(params->graph, content);
    case CU_GRAPH_NODE_TYPE_EMPTY:
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return MakeEvent(params->eventWait.event, false, content);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return MakeEvent(params->eventRecord.event, true, content);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return MakeAllocation(&params->alloc, content);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return MakeFree(params->free.dptr, content);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return MakeMemOps(params->memOp, content);
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

CUresult MakeContent(CUgraphNodeParams* params, const std::vector<CUlaunchAttribute>& attributes,
                     NodeContent* content) {
  content->type = params->type;
  const CUresult result = Make(params, attributes, content);
  if (result != CUDA_SUCCESS) DropContent(content);
  return result;
}

CUresult DescribeContent(GraphNode* node, CUgraphNodeParams* params) {
  NodeContent& content = node->content;
  memset(params, 0, sizeof(*params));
  params->type = content.type;
  const auto view = reinterpret_cast<CUcontext>(content.view);
  switch (content.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      DescribeKernel(node, &params->kernel);
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      params->memcpy.copyParams = content.copy;
      params->memcpy.copyCtx = view;
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_MEMSET:
      params->memset = content.fill;
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_HOST:
      params->host.fn = content.bodies[0]->op.host.function;
      params->host.userData = content.bodies[0]->op.host.data;
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_GRAPH:
      params->graph.graph = reinterpret_cast<CUgraph>(content.child);
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      params->eventRecord.event = reinterpret_cast<CUevent>(content.event);
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      params->alloc = content.memory->params();
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      params->free.dptr = content.memory->address();
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      params->memOp.ctx = view;
      params->memOp.count = static_cast<unsigned int>(content.mem_ops.size());
      params->memOp.paramArray = content.mem_ops.data();
      return CUDA_SUCCESS;
    default:
      return CUDA_SUCCESS;
  }
}

CUresult SetKernelAttributes(GraphNode* node, const std::vector<CUlaunchAttribute>& attributes) {
  NodeContent& content = node->content;
  NodeBody& body = *content.bodies[0];
  const KernelOp& kernel = body.op.kernel;
  Launch launch;
  launch.function = kernel.function;
  memcpy(launch.grid, kernel.grid, sizeof(launch.grid));
  memcpy(launch.block, kernel.block, sizeof(launch.block));
  launch.shared_bytes = kernel.shared_bytes;
  if (CUresult bad = ReadAttributes(attributes.data(), attributes.size(), &launch)) return bad;
  if (launch.event_count > 0) return CUDA_ERROR_NOT_SUPPORTED;
  if (CUresult bad = CheckLaunch(launch, *content.view)) return bad;
  body.command.cooperative = launch.cooperative ? 1 : 0;
  content.has_priority = launch.has_priority;
  content.priority = launch.priority;
  content.attributes = attributes;
  return CUDA_SUCCESS;
}

CUresult CheckReplacement(const NodeContent& now, const NodeContent& next) {
  // cuda.h: an executable's node stays in its context; copies and fills stay flat.
  if (now.view != next.view) return CUDA_ERROR_INVALID_VALUE;
  if (now.type == CU_GRAPH_NODE_TYPE_MEMSET) {
    return now.fill.height == 1 && next.fill.height == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  if (now.type != CU_GRAPH_NODE_TYPE_MEMCPY) return CUDA_SUCCESS;
  for (const NodeContent* content : {&now, &next}) {
    if (content->copy.Height != 1 || content->copy.Depth != 1) return CUDA_ERROR_INVALID_VALUE;
  }
  const bool sized = now.bodies.size() == 1 && next.bodies.size() == 1;
  const bool same = sized && now.bodies[0]->command.direction == next.bodies[0]->command.direction;
  return same ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace sgprs::simgpu::driver
