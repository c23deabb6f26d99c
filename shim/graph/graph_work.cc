// SPDX-License-Identifier: Apache-2.0
// The builder thread's side of the table.
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "shim/graph/context_calls.h"
#include "shim/graph/graph_builder.h"
#include "shim/graph/graph_table.h"
#include "shim/interpose/call_counts.h"
#include "shim/interpose/interpose.h"
#include "shim/session.h"

namespace sgprs::shim {
namespace {

constinit GraphTable g_table;
constinit ContextCalls g_context_calls;

void* BuilderThread(void*) {
  EnterShimThread();
  g_table.RunBuilder();
  return nullptr;
}

}  // namespace

GraphTable* TheGraphTable() { return &g_table; }
ContextCalls* TheContextCalls() { return &g_context_calls; }

void GraphTable::Ask(GraphRow* row, uint32_t partition) {
  FutexLock lock(&mutex_);
  if (queue_tail_ - queue_head_ == kQueue) return;  // at a later launch, then
  // Relaxed: read by the issuer, which asks.
  row->copies[partition].asked.store(TheSession()->pool_generation, std::memory_order_relaxed);
  queue_[queue_tail_++ % kQueue] = {row->exec, partition};
  if (!running_) {
    // Started by the first graph that needs it.
    running_ = StartShimThread(BuilderThread, "sgprs-graph");
  }
  word_.fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void GraphTable::RunBuilder() {
  while (!stopped_.load(std::memory_order_acquire)) {
    const uint32_t word = word_.load(std::memory_order_acquire);
    Wanted wanted = {};
    bool some = false;
    {
      FutexLock lock(&mutex_);
      some = queue_head_ != queue_tail_;
      if (some) wanted = queue_[queue_head_++ % kQueue];
    }
    if (some) {
      g_context_calls.BeginCaptures();
      BuildOne(wanted);
      g_context_calls.EndCaptures();
    } else {
      syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, word, nullptr, nullptr, 0);
    }
  }
}

void GraphTable::BuildOne(const Wanted& wanted) {
  FutexLock build(&build_);
  GraphRow* row = Find(wanted.exec);
  if (row == nullptr || stopped_.load(std::memory_order_relaxed) || !Recording() ||
      row->fixed.load(std::memory_order_relaxed) != nullptr) {
    return;
  }
  const uint64_t start_ns = NowNs();
  if (Build(row, wanted.partition)) {
    if (SgprsCallCounts* counts = CallCounts()) ++counts->graph_copies;
    ShimLog("%s: made for partition %u in %llu us", row->info->name, wanted.partition,
            static_cast<unsigned long long>((NowNs() - start_ns) / kNsPerUs));
  } else if (!stopped_.load(std::memory_order_relaxed)) {
    ShimLog("%s: can not be made for partition %u", row->info->name, wanted.partition);
  }
}

bool GraphTable::Build(GraphRow* row, uint32_t partition) {
  GraphCopy* copy = &row->copies[partition];
  Session* s = TheSession();
  CUstream stream = nullptr;
  uint32_t generation = 0;
  {
    FutexLock issue(&s->issue_lock);  // the pool may be replaced
    if (partition >= s->partition_count) return false;
    if (streams_generation_ != s->pool_generation) {
      for (CUstream& old : streams_) old = nullptr;
      streams_generation_ = s->pool_generation;
    }
    if (streams_[partition] == nullptr) {
      streams_[partition] = s->backend->MakeStream(partition, s->facts.priority_least);
    }
    stream = streams_[partition];
    generation = s->pool_generation;
  }
  const bool current = copy->generation.load(std::memory_order_relaxed) == generation;
  if (current && (copy->impossible || copy->exec.load(std::memory_order_relaxed) != nullptr)) {
    return true;
  }
  DropCopy(copy);
  copy->asked.store(generation, std::memory_order_relaxed);
  CUgraphExec exec = nullptr;
  copy->impossible =
      stream == nullptr || !GraphBuilder(stream, partition, &stopped_)
                                .Build(*row->what, row->flags, &copy->graph, &copy->nodes, &exec);
  if (copy->impossible) copy->graph = nullptr;
  copy->generation.store(generation, std::memory_order_relaxed);
  // Release pairs with ExecFor().
  copy->exec.store(exec, std::memory_order_release);
  return !copy->impossible;
}

void GraphTable::Stop(uint64_t limit_ns) {
  stopped_.store(true, std::memory_order_release);
  word_.fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  const uint64_t end_ns = NowNs() + limit_ns;
  const timespec moment = ToTimespec(100 * kNsPerUs);
  while (!build_.try_lock()) {
    if (NowNs() > end_ns) return;
    nanosleep(&moment, nullptr);
  }
  build_.unlock();
}

void GraphTable::ResetAfterFork() {
  g_context_calls.ResetAfterFork();
  build_.ResetAfterFork();
  mutex_.ResetAfterFork();
  // The rows stay as they are: the child may not use the driver that they belong to.
  for (GraphRow*& row : rows_) row = nullptr;
  marked_count_ = 0;
  marked_overflow_ = false;
  queue_head_ = queue_tail_ = 0;
  running_ = false;
  stopped_.store(false, std::memory_order_relaxed);
  for (CUstream& stream : streams_) stream = nullptr;
  streams_generation_ = 0;
}

}  // namespace sgprs::shim
