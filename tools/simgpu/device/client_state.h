// SPDX-License-Identifier: Apache-2.0
// What the engine knows of one client: its contexts, streams and unfinished commands. Plain data,
// used by the engine only.
#ifndef SGPRS_TOOLS_SIMGPU_DEVICE_CLIENT_STATE_H_
#define SGPRS_TOOLS_SIMGPU_DEVICE_CLIENT_STATE_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/model/kernel_cost.h"
#include "runtime/model/sm_set.h"
#include "tools/simgpu/protocol.h"

namespace sgprs::simgpu {

// A command that waits for its turn in a stream.
struct QueuedCommand {
  uint64_t seq = 0;
  uint64_t submit_ns = 0;
  CommandKind kind = CommandKind::kNone;
  CopyDirection direction = CopyDirection::kHostToDevice;
  uint64_t wait_seq = 0;
  uint64_t bytes = 0;
  uint64_t name_hash = 0;
  bool cooperative = false;
  bool has_priority = false;
  int32_t priority = 0;
  uint32_t fault = 0;
  uint64_t blocks = 0;
  std::shared_ptr<const model::KernelCost> cost;  // what runs on the SMs: kernels, fills, moves
  uint64_t least_ns = 0;                          // it can not take less
};

struct ContextState {
  uint32_t sm_limit = 0;  // 0 = all
  uint32_t device = 0;
};

struct StreamState {
  // What the head of the queue is doing.
  enum class Head {
    kIdle,     // nothing there, or not looked at yet
    kFuture,   // a timer will look again at its submit_ns
    kKernel,   // in the model (kernels, fills, device-to-device copies)
    kCopying,  // on a copy engine
    kWaiting,  // for another command
    kHost,     // for kHostDone
  };
  uint64_t uid = 0;  // of the engine, never used again
  uint64_t client_id = 0;
  uint32_t id = 0;  // the client's
  uint32_t context = 0;
  uint32_t device = 0;
  uint32_t context_limit = 0;  // SMs of the whole context, 0 = all
  int32_t priority = 0;
  uint32_t sm_limit = 0;
  model::SmSet sm_set;
  uint32_t partition_sms = 0;  // SMs that it may use at most: key of the counters
  std::deque<QueuedCommand> queue;
  Head head = Head::kIdle;
  uint64_t head_start_ns = 0;
  uint32_t kernel = 0;   // model handle, if head == kKernel
  bool closing = false;  // destroyed, ends after its work
};

struct ClientCounters {
  uint64_t commands = 0;
  uint64_t kernels_started = 0;
  uint64_t kernels = 0;  // finished
  uint64_t copies = 0;
  uint64_t fills = 0;
  uint64_t events = 0;
  uint64_t host_functions = 0;
  std::map<uint32_t, uint64_t> kernels_by_sms;  // finished, by SMs of the stream's partition
};

struct ClientState {
  uint64_t id = 0;
  uint32_t pid = 0;
  std::unordered_map<uint32_t, ContextState> contexts;  // alive
  std::unordered_map<uint32_t, uint64_t> stream_uids;   // alive streams, by the client's id
  std::unordered_set<uint64_t> all_streams;             // uids, with closing ones
  uint64_t control_uid = 0;  // in-order queue of commands that belong to no stream
  std::unordered_map<uint64_t, uint64_t> host_waits;            // seq at the head -> stream uid
  std::unordered_map<uint64_t, std::vector<uint64_t>> waiters;  // seq -> streams that wait for it
  ClientCounters counters;
  bool asks_all = false;        // every end is to be told at once
  std::vector<uint64_t> asked;  // ends that are, ascending

  bool IsAsked(uint64_t seq) const {
    return asks_all || std::binary_search(asked.begin(), asked.end(), seq);
  }

  // Finished or not, for every seq: all below first_open are.
  uint64_t first_open = 1;
  std::deque<bool> finished;  // of first_open + i

  bool IsFinished(uint64_t seq) const {
    return seq < first_open || (seq - first_open < finished.size() && finished[seq - first_open]);
  }
  void SetFinished(uint64_t seq) {
    finished[seq - first_open] = true;
    while (!finished.empty() && finished.front()) {
      finished.pop_front();
      ++first_open;
    }
  }
  size_t open_commands() const { return finished.size(); }
};

}  // namespace sgprs::simgpu

#endif  // SGPRS_TOOLS_SIMGPU_DEVICE_CLIENT_STATE_H_
