// SPDX-License-Identifier: Apache-2.0
// The executable graphs of the process, and the thread that makes their copies.
//
// Locks. `mutex_`: the rows; a leaf. `build_`: what copies are made from; taken before it, held for
// the making of one copy, in which issue_lock is taken for a moment; never by the issuer.
#ifndef SGPRS_SHIM_GRAPH_GRAPH_TABLE_H_
#define SGPRS_SHIM_GRAPH_GRAPH_TABLE_H_

#include <cuda.h>

#include <cstdint>

#include "shim/graph/graph_row.h"
#include "shim/record/futex_mutex.h"

namespace sgprs::shim {

class GraphTable {
 public:
  // The driver made `exec` of `graph`: reads it. Application threads.
  void Add(CUgraphExec exec, CUgraph graph, unsigned long long flags);
  // nullptr: made where the shim did not see it. Valid until Remove().
  GraphRow* Find(CUgraphExec exec);
  // Nothing of it is held any more; before the driver destroys it.
  void Remove(CUgraphExec exec);
  // From now on only the application's own executable is launched.
  void Fix(GraphRow* row, const char* why);

  // The executable for a launch in `partition`; asks for a copy if there is none. Issuer.
  CUgraphExec ExecFor(GraphRow* row, uint32_t partition);

  // The driver took over a change; the copies follow, or are made anew.
  void SetKernel(GraphRow* row, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS& params);
  void SetCopy(GraphRow* row, CUgraphNode node, const CUDA_MEMCPY3D& params);
  void SetFill(GraphRow* row, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS& params);
  void SetHost(GraphRow* row, CUgraphNode node, const CUDA_HOST_NODE_PARAMS& params);
  void SetEvent(GraphRow* row, CUgraphNode node, CUevent event);
  void SetEnabled(GraphRow* row, CUgraphNode node, bool enabled);
  void Update(GraphRow* row, CUgraph graph);

  // Graphs that keep objects of the application alive, which a copy would not.
  void NoteUserObject(CUgraph graph);
  void NoteClone(CUgraph clone, CUgraph original);
  void ForgetGraph(CUgraph graph);

  // Code is about to be unloaded: what is not made yet is not made from handles known so far, but
  // asked for anew by the next launch. Waits for a copy under way.
  void ForgetWishes();

  // Copies are no longer made; waits `limit_ns` at most for the one under way. At exit.
  void Stop(uint64_t limit_ns);
  void ResetAfterFork();

  // Body of the builder thread.
  void RunBuilder();

 private:
  static constexpr uint32_t kBuckets = 1024;
  static constexpr uint32_t kMarked = 1024;
  static constexpr uint32_t kQueue = 256;
  struct Wanted {
    CUgraphExec exec;  // not the row: it may be gone by then
    uint32_t partition;
  };

  KernelInfo* InfoOf(const GraphTemplate& what);
  GraphRow** Bucket(CUgraphExec exec);
  bool Marked(CUgraph graph);
  void Ask(GraphRow* row, uint32_t partition);
  void BuildOne(const Wanted& wanted);
  // Both under `build_`.
  bool Build(GraphRow* row, uint32_t partition);
  void DropCopy(GraphCopy* copy);
  void DropCopies(GraphRow* row);
  template <typename Change>
  void ForCopies(GraphRow* row, const GraphNode* node, Change change);

  FutexMutex build_;
  FutexMutex mutex_;
  GraphRow* rows_[kBuckets] = {};
  CUgraph marked_[kMarked] = {};
  uint32_t marked_count_ = 0;
  bool marked_overflow_ = false;
  Wanted queue_[kQueue] = {};
  uint32_t queue_head_ = 0;  // under mutex_
  uint32_t queue_tail_ = 0;
  std::atomic<uint32_t> word_{0};  // futex of the builder
  bool running_ = false;           // under mutex_
  std::atomic<bool> stopped_{false};
  CUstream streams_[SGPRS_MAX_PARTITIONS] = {};  // captures only; the builder's
  uint32_t streams_generation_ = 0;
};

GraphTable* TheGraphTable();

}  // namespace sgprs::shim

#endif  // SGPRS_SHIM_GRAPH_GRAPH_TABLE_H_
