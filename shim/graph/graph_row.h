// SPDX-License-Identifier: Apache-2.0
// An executable graph of the application: what it does, and its executables for each partition.
// They are made by the builder when the graph is first launched there; until then, and where it is
// not possible, the application's own executable runs, on the SMs that it was made with.
#ifndef SGPRS_SHIM_GRAPH_GRAPH_ROW_H_
#define SGPRS_SHIM_GRAPH_GRAPH_ROW_H_

#include <cuda.h>

#include <atomic>
#include <cstdint>

#include "sgprs/abi/abi.h"
#include "shim/graph/graph_template.h"
#include "shim/issue/virtual_stream.h"

namespace sgprs::shim {

// One executable for one partition. Under the build lock, but for `exec`.
struct GraphCopy {
  std::atomic<CUgraphExec> exec{nullptr};  // set when all of it is there
  CUgraph graph = nullptr;
  CUgraphNode* nodes = nullptr;  // of the template's nodes, in its order
  bool impossible = false;
  // Pools that the executable, and the latest wish for one, belong to; 0 = none.
  std::atomic<uint32_t> generation{0};
  std::atomic<uint32_t> asked{0};
};

struct GraphRow {
  // Constant once made.
  CUgraphExec exec = nullptr;
  unsigned long long flags = 0;
  KernelInfo* info = nullptr;  // as what a launch of it is shown to the runtime

  // Under the build lock (graph_table.h).
  GraphTemplate* what = nullptr;
  GraphCopy copies[SGPRS_MAX_PARTITIONS];
  uint32_t updates = 0;

  // Why there are no copies, or nullptr. Set once; relaxed: a literal.
  std::atomic<const char*> fixed{nullptr};
  // Process index after its latest recorded launch. Written under the record lock.
  std::atomic<uint64_t> recorded_upto{0};
  // Where its latest launch went: one executable runs once at a time, and copies are one to the
  // application. Under the issue lock.
  VirtualStream* last_stream = nullptr;
  GraphRow* next = nullptr;  // of its bucket; under the table's lock
};

}  // namespace sgprs::shim

#endif  // SGPRS_SHIM_GRAPH_GRAPH_ROW_H_
