// SPDX-License-Identifier: Apache-2.0
#include "shim/graph/graph_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <new>

#include "runtime/base/clock.h"
#include "shim/graph/graph_builder.h"
#include "shim/hooks.h"
#include "shim/interpose/call_counts.h"
#include "shim/interpose/interpose.h"
#include "shim/session.h"

namespace sgprs::shim {
namespace {

// Whole updates after which a graph is taken for one that never stays: copies would be made for
// nothing.
constexpr uint32_t kMostUpdates = 8;

// Equal graphs are one to the runtime, however often they are instantiated. Never freed: few, and
// other tables point at them.
struct Known {
  KernelInfo info;
  Known* next;
};

bool DoneForCopies(const GraphRow& row) {
  return row.fixed.load(std::memory_order_relaxed) != nullptr;
}

}  // namespace

GraphRow** GraphTable::Bucket(CUgraphExec exec) {
  const uint64_t bits = reinterpret_cast<uint64_t>(exec) * 0x9e3779b97f4a7c15ull;
  return &rows_[(bits >> 40) & (kBuckets - 1)];
}

KernelInfo* GraphTable::InfoOf(const GraphTemplate& what) {
  static KernelInfo unknown;
  const uint64_t identity = what.Identity();
  FutexLock lock(&mutex_);
  static Known* known = nullptr;
  for (Known* k = known; k != nullptr; k = k->next) {
    if (k->info.name_hash == identity) return &k->info;
  }
  auto* fresh = new (std::nothrow) Known;
  char name[64];
  snprintf(name, sizeof(name), "graph of %u kernel%s, %016llx", what.kernels(),
           what.kernels() == 1 ? "" : "s", static_cast<unsigned long long>(identity));
  if (fresh == nullptr || (fresh->info.name = strdup(name)) == nullptr) {
    delete fresh;
    unknown.name = "graph";
    return &unknown;
  }
  fresh->info.name_hash = identity;
  fresh->next = known;
  known = fresh;
  return &fresh->info;
}

void GraphTable::Fix(GraphRow* row, const char* why) {
  const char* none = nullptr;
  if (row->fixed.compare_exchange_strong(none, why, std::memory_order_relaxed)) {
    ShimLog("%s stays in its own partition: %s", row->info->name, why);
    if (SgprsCallCounts* counts = CallCounts()) {
      ++counts->graphs_fixed;
      CountText(counts->graph_fixed, why);
    }
  }
}

void GraphTable::Add(CUgraphExec exec, CUgraph graph, unsigned long long flags) {
  auto* row = new (std::nothrow) GraphRow;
  auto* what = new (std::nothrow) GraphTemplate;
  if (row == nullptr || what == nullptr) {
    delete row;
    delete what;
    return;
  }
  const RelaxedCapture relaxed;
  row->exec = exec;
  row->flags = flags;
  row->what = what;
  const char* why = nullptr;
  what->Read(graph, &why);
  row->info = InfoOf(*what);
  if (why == nullptr && Marked(graph)) why = "it keeps objects of the application alive";
  if (why == nullptr && (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0) {
    why = "the device launches it";
  }
  if (why == nullptr && !SGPRS_HAS(cuStreamBeginCaptureToGraph)) why = "the driver is too old";
  if (why != nullptr) Fix(row, why);
  Remove(exec);  // a handle that is given out again
  {
    FutexLock lock(&mutex_);
    GraphRow** bucket = Bucket(exec);
    row->next = *bucket;
    *bucket = row;
  }
  // In the background, so that the first launch mostly finds its copy.
  uint32_t partitions = 0;
  if (Session* s = TheSession(); Recording() && !DoneForCopies(*row)) {
    FutexLock issue(&s->issue_lock);  // the pool may be replaced
    if (s->backend->HasPartitions()) partitions = s->partition_count;
  }
  for (uint32_t p = 0; p < partitions; ++p) Ask(row, p);
}

GraphRow* GraphTable::Find(CUgraphExec exec) {
  FutexLock lock(&mutex_);
  for (GraphRow* row = *Bucket(exec); row != nullptr; row = row->next) {
    if (row->exec == exec) return row;
  }
  return nullptr;
}

void GraphTable::Remove(CUgraphExec exec) {
  FutexLock build(&build_);
  GraphRow* found = nullptr;
  {
    FutexLock lock(&mutex_);
    for (GraphRow** at = Bucket(exec); *at != nullptr; at = &(*at)->next) {
      if ((*at)->exec != exec) continue;
      found = *at;
      *at = found->next;
      break;
    }
  }
  if (found == nullptr) return;
  DropCopies(found);
  delete found->what;
  // The lane's table of names does not keep the pointer; other rows have names of their own.
  delete found;
}

CUgraphExec GraphTable::ExecFor(GraphRow* row, uint32_t partition) {
  if (partition >= SGPRS_MAX_PARTITIONS || DoneForCopies(*row)) return row->exec;
  // Acquire pairs with Build(): the copy is whole.
  const Session* s = TheSession();
  if (!s->backend->HasPartitions()) return row->exec;  // the launch's stream says it all
  const GraphCopy& copy = row->copies[partition];
  CUgraphExec exec = copy.exec.load(std::memory_order_acquire);
  if (exec != nullptr && copy.generation.load(std::memory_order_relaxed) == s->pool_generation) {
    return exec;
  }
  if (copy.asked.load(std::memory_order_relaxed) != s->pool_generation) {
    Ask(row, partition);
    // The others are made behind it, so that a later switch finds them.
    for (uint32_t p = 0; p < s->partition_count; ++p) {
      if (row->copies[p].asked.load(std::memory_order_relaxed) != s->pool_generation) Ask(row, p);
    }
  }
  return row->exec;
}

// --- changes ---

template <typename Change>
void GraphTable::ForCopies(GraphRow* row, const GraphNode* node, Change change) {
  const auto index = static_cast<uint32_t>(node - row->what->nodes());
  for (GraphCopy& copy : row->copies) {
    CUgraphExec exec = copy.exec.load(std::memory_order_relaxed);  // written under build_
    if (exec != nullptr && change(exec, copy.nodes[index]) != CUDA_SUCCESS) DropCopy(&copy);
  }
}

void GraphTable::SetKernel(GraphRow* row, CUgraphNode origin,
                           const CUDA_KERNEL_NODE_PARAMS& params) {
  FutexLock build(&build_);
  if (DoneForCopies(*row)) return;
  if (!row->what->SetKernel(origin, params)) return Fix(row, "changed in a node that is not known");
  ForCopies(row, row->what->Find(origin), [&](CUgraphExec exec, CUgraphNode node) {
    return SGPRS_REAL(cuGraphExecKernelNodeSetParams_v2)(exec, node, &params);
  });
}

void GraphTable::SetCopy(GraphRow* row, CUgraphNode origin, const CUDA_MEMCPY3D& params) {
  FutexLock build(&build_);
  GraphNode* known = row->what->Find(origin);
  if (known == nullptr) return Fix(row, "changed in a node that is not known");
  known->copy = params;
  ForCopies(row, known, [&](CUgraphExec exec, CUgraphNode node) {
    return SGPRS_REAL(cuGraphExecMemcpyNodeSetParams)(exec, node, &params,
                                                      TheSession()->facts.context);
  });
}

void GraphTable::SetFill(GraphRow* row, CUgraphNode origin, const CUDA_MEMSET_NODE_PARAMS& params) {
  FutexLock build(&build_);
  GraphNode* known = row->what->Find(origin);
  if (known == nullptr) return Fix(row, "changed in a node that is not known");
  known->fill = params;
  ForCopies(row, known, [&](CUgraphExec exec, CUgraphNode node) {
    return SGPRS_REAL(cuGraphExecMemsetNodeSetParams)(exec, node, &params,
                                                      TheSession()->facts.context);
  });
}

void GraphTable::SetHost(GraphRow* row, CUgraphNode origin, const CUDA_HOST_NODE_PARAMS& params) {
  FutexLock build(&build_);
  GraphNode* known = row->what->Find(origin);
  if (known == nullptr) return Fix(row, "changed in a node that is not known");
  known->host = params;
  ForCopies(row, known, [&](CUgraphExec exec, CUgraphNode node) {
    return SGPRS_REAL(cuGraphExecHostNodeSetParams)(exec, node, &params);
  });
}

void GraphTable::SetEvent(GraphRow* row, CUgraphNode origin, CUevent event) {
  FutexLock build(&build_);
  GraphNode* known = row->what->Find(origin);
  if (known == nullptr) return Fix(row, "changed in a node that is not known");
  known->event = event;
  const bool record = known->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD;
  ForCopies(row, known, [&](CUgraphExec exec, CUgraphNode node) {
    return record ? SGPRS_REAL(cuGraphExecEventRecordNodeSetEvent)(exec, node, event)
                  : SGPRS_REAL(cuGraphExecEventWaitNodeSetEvent)(exec, node, event);
  });
}

void GraphTable::SetEnabled(GraphRow* row, CUgraphNode origin, bool enabled) {
  FutexLock build(&build_);
  GraphNode* known = row->what->Find(origin);
  if (known == nullptr) return Fix(row, "changed in a node that is not known");
  known->enabled = enabled;
  ForCopies(row, known, [&](CUgraphExec exec, CUgraphNode node) {
    return SGPRS_REAL(cuGraphNodeSetEnabled)(exec, node, enabled ? 1 : 0);
  });
}

void GraphTable::Update(GraphRow* row, CUgraph graph) {
  FutexLock build(&build_);
  if (DoneForCopies(*row)) return;
  DropCopies(row);
  auto* what = new (std::nothrow) GraphTemplate;
  const char* why = what == nullptr ? "out of memory" : nullptr;
  if (what != nullptr) what->Read(graph, &why);
  if (why == nullptr && ++row->updates > kMostUpdates) why = "it is updated again and again";
  if (what != nullptr) {
    delete row->what;
    row->what = what;
  }
  if (why != nullptr) Fix(row, why);
}

// --- graphs with user objects ---

bool GraphTable::Marked(CUgraph graph) {
  FutexLock lock(&mutex_);
  for (uint32_t i = 0; i < marked_count_; ++i) {
    if (marked_[i] == graph) return true;
  }
  return marked_overflow_;
}

void GraphTable::NoteUserObject(CUgraph graph) {
  if (Marked(graph)) return;
  FutexLock lock(&mutex_);
  if (marked_count_ == kMarked) {
    marked_overflow_ = true;
  } else {
    marked_[marked_count_++] = graph;
  }
}

void GraphTable::NoteClone(CUgraph clone, CUgraph original) {
  if (Marked(original)) NoteUserObject(clone);
}

void GraphTable::ForgetGraph(CUgraph graph) {
  FutexLock lock(&mutex_);
  for (uint32_t i = 0; i < marked_count_; ++i) {
    if (marked_[i] == graph) marked_[i] = marked_[--marked_count_];
  }
}

// --- copies ---

void GraphTable::DropCopy(GraphCopy* copy) {
  CUgraphExec exec = copy->exec.exchange(nullptr, std::memory_order_acq_rel);
  // One that still runs is freed by the driver when it is over.
  if (exec != nullptr) SGPRS_REAL(cuGraphExecDestroy)(exec);
  if (copy->graph != nullptr) SGPRS_REAL(cuGraphDestroy)(copy->graph);
  free(copy->nodes);
  copy->graph = nullptr;
  copy->nodes = nullptr;
  copy->impossible = false;
  copy->asked.store(0, std::memory_order_relaxed);
}

void GraphTable::DropCopies(GraphRow* row) {
  for (GraphCopy& copy : row->copies) DropCopy(&copy);
}

void GraphTable::ForgetWishes() {
  FutexLock build(&build_);
  FutexLock lock(&mutex_);
  queue_head_ = queue_tail_;
  for (GraphRow* row : rows_) {
    for (; row != nullptr; row = row->next) {
      for (GraphCopy& copy : row->copies) {
        if (copy.exec.load(std::memory_order_relaxed) == nullptr && !copy.impossible) {
          copy.asked.store(0, std::memory_order_relaxed);
        }
      }
    }
  }
}

}  // namespace sgprs::shim
