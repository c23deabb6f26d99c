// SPDX-License-Identifier: Apache-2.0
// Makes programs without data races. For every operation three sets of earlier ones are kept:
//   host  has returned before this one is called (same thread, or awaited)
//   gpu   is over on the device before this one begins there
//   done  the host knows to be over when this one has returned
// An access that conflicts with an earlier one that is in none of them gets what is missing: an
// await, an event, or a synchronisation.
#include <bitset>
#include <random>

#include "tests/stress/shim_order/program.h"

namespace shim_order {
namespace {

constexpr int kMostOps = 4096;
using Set = std::bitset<kMostOps>;

struct Access {
  int op;
  bool write;
  bool by_host;  // over when the call returns
};

// Something with a handle: its users must know of its making, its end must know of all users.
struct Handle {
  int made = -1;  // operation that made it, -1 = there from the start
  std::vector<int> users;
};

struct Need {
  int buffer;
  bool write;
  bool by_host;
};

class Generator {
 public:
  Generator(uint64_t seed, int threads, int length) : random_(seed), length_(length) {
    program_.seed = seed;
    program_.threads = threads;
    for (bool& blocking : program_.blocking) blocking = Chance(40);
    for (int s = 0; s < kOwnStreams; ++s) blocking_[s] = program_.blocking[s];
    for (int s = kFirstThreadStream; s < kStreams; ++s) blocking_[s] = true;
  }

  Program Make() {
    while (static_cast<int>(program_.ops.size()) < length_) Step();
    program_.after.resize(program_.ops.size());
    for (size_t i = 0; i < program_.ops.size(); ++i) {
      for (size_t x = 0; IsLaunch(i) && x < i; ++x) {
        if (IsLaunch(x) && gpu_[i].test(x)) program_.after[i].push_back(static_cast<int>(x));
      }
    }
    return program_;
  }

 private:
  uint32_t Below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  bool Chance(uint32_t percent) { return Below(100) < percent; }

  int PickStream(int thread) {
    const uint32_t dice = Below(100);
    if (dice < 15) return kNullStream;
    if (dice < 30) return kFirstThreadStream + thread;
    // Mostly a stream that others use less.
    if (Chance(70)) return (thread + program_.threads * static_cast<int>(Below(2))) % kOwnStreams;
    return static_cast<int>(Below(kOwnStreams));
  }
  // Of a synchronous call: the NULL stream, or the thread's (the _ptds entries).
  int PickDefault(int thread) { return Chance(70) ? kNullStream : kFirstThreadStream + thread; }
  int PickOf(int first, int count, int thread) {
    if (Chance(65)) {
      const int mine = thread + program_.threads * static_cast<int>(Below(2));
      if (mine < count) return first + mine;
    }
    return first + static_cast<int>(Below(static_cast<uint32_t>(count)));
  }
  int PickDevice(int thread) { return PickOf(0, kDeviceBuffers, thread); }
  int PickPinned(int thread) { return PickOf(kDeviceBuffers, kPinnedBuffers, thread); }
  int PickPageable(int thread) {
    return PickOf(kDeviceBuffers + kPinnedBuffers, kPageableBuffers, thread);
  }

  bool IsLaunch(size_t i) const { return program_.ops[i].kind == OpKind::kLaunch; }

  // --- what an operation that is about to be made would know ---

  void Await(Op* op, int other) {
    if (other < 0 || HostOf(*op).test(other)) return;
    op->awaits.push_back(other);
  }
  Set HostOf(const Op& op) const {
    Set host;
    const int last = last_of_thread_[op.thread];
    if (last >= 0) (host = host_[last]).set(last);
    for (int other : op.awaits) (host |= host_[other]).set(other);
    return host;
  }
  Set DoneOf(const Op& op) const {
    Set done;
    const int last = last_of_thread_[op.thread];
    if (last >= 0) done = done_[last];
    for (int other : op.awaits) done |= done_[other];
    return done;
  }
  void AddStream(int stream, const Set& host, Set* set) const {
    for (int x : on_stream_[stream]) {
      if (host.test(x)) (*set |= gpu_[x]).set(x);
    }
  }
  // Everything that a synchronisation with `stream` covers.
  Set Covered(const Op& op, int stream) const {
    const Set host = HostOf(op);
    Set set;
    AddStream(stream, host, &set);
    if (stream == kNullStream) {
      for (int s = 0; s < kStreams; ++s) {
        if (s != kNullStream && blocking_[s]) AddStream(s, host, &set);
      }
    }
    return set;
  }
  Set GpuOf(const Op& op) const {
    Set set = Covered(op, op.stream) | DoneOf(op);
    if (op.stream != kNullStream && blocking_[op.stream]) {
      AddStream(kNullStream, HostOf(op), &set);
    }
    return set;
  }

  // --- making operations ---

  void UseStream(Op* op) {
    if (op->stream < kOwnStreams) Await(op, streams_[op->stream].made);
  }

  // Appends; sets are computed from what `op` says. Returns its index.
  int Append(const Op& op, bool on_device, bool returns_done) {
    const int index = static_cast<int>(program_.ops.size());
    const Set host = HostOf(op);
    Set done = DoneOf(op);
    Set gpu;
    if (on_device) {
      gpu = GpuOf(op);
      if (op.kind == OpKind::kEventWait || op.kind == OpKind::kValueWait) {
        // A driver may leave out the wait for an event that is over, and the NULL-stream order that
        // it would bring with it: not relied upon.
        gpu = done;
        AddStream(op.stream, host, &gpu);
        const int record = op.kind == OpKind::kEventWait ? recorded_[op.event] : -1;
        if (record >= 0) (gpu |= gpu_[record]).set(record);
      }
      if (returns_done) (done |= gpu).set(index);
    }
    program_.ops.push_back(op);
    host_.push_back(host);
    gpu_.push_back(gpu);
    done_.push_back(done);
    if (on_device) on_stream_[op.stream].push_back(index);
    if (op.stream < kOwnStreams) streams_[op.stream].users.push_back(index);
    last_of_thread_[op.thread] = index;
    return index;
  }

  Op Begin(OpKind kind, int thread, int stream) {
    Op op;
    op.kind = kind;
    op.thread = thread;
    op.stream = stream;
    op.alias = Chance(30);
    if (Chance(6)) op.pause_us = Chance(15) ? 2000 + Below(3000) : Below(200);
    UseStream(&op);
    return op;
  }

  // All operations on one event are in one order.
  void UseEvent(Op* op, int event) {
    op->event = event;
    Await(op, last_on_event_[event]);
  }
  int Record(int thread, int stream, int event) {
    Op op = Begin(OpKind::kEventRecord, thread, stream);
    UseEvent(&op, event);
    const int index = Append(op, true, false);
    recorded_[event] = last_on_event_[event] = index;
    return index;
  }
  void WaitFor(int thread, int stream, int event) {
    Op op = Begin(OpKind::kEventWait, thread, stream);
    UseEvent(&op, event);
    last_on_event_[event] = Append(op, true, false);
    if (Chance(15)) RenewEvent(thread, event);
  }
  void RenewEvent(int thread, int event) {
    Op op = Begin(OpKind::kRenewEvent, thread, kNullStream);
    UseEvent(&op, event);
    last_on_event_[event] = Append(op, false, false);
    recorded_[event] = -1;
  }
  void SyncEvent(int thread, int event) {
    Op op = Begin(Chance(50) ? OpKind::kEventSync : OpKind::kEventQuery, thread, kNullStream);
    UseEvent(&op, event);
    const int index = last_on_event_[event] = Append(op, false, false);
    const int record = recorded_[event];
    if (record >= 0) (done_[index] |= gpu_[record]).set(record);
  }
  void SyncStream(int thread, int stream) {
    Op op = Begin(Chance(60) ? OpKind::kStreamSync : OpKind::kStreamQuery, thread, stream);
    const Set covered = Covered(op, stream);
    done_[Append(op, false, false)] |= covered;
  }
  void SyncContext(int thread) {
    Op op = Begin(OpKind::kContextSync, thread, kNullStream);
    const Set host = HostOf(op);
    const int index = Append(op, false, false);
    for (int x = 0; x < index; ++x) {
      if (host.test(x)) done_[index].set(x);
    }
  }

  // The thread that may name the stream of operation `x`.
  int NamerOf(int x, int thread) const {
    const int stream = program_.ops[x].stream;
    return stream >= kFirstThreadStream ? stream - kFirstThreadStream : thread;
  }

  // Orders `stream` of `thread` after all of `from` by a word that one writes and the other waits
  // for.
  void ByValue(int namer, int from, int thread, int stream) {
    const int flag = flags_used_++;
    Op write = Begin(OpKind::kValueWrite, namer, from);
    write.event = flag;
    const int index = Append(write, true, false);
    Op wait = Begin(OpKind::kValueWait, thread, stream);
    wait.event = flag;
    // Not needed by the device, only by the order of calls that the sets of this generator are of.
    Await(&wait, index);
    const int waited = Append(wait, true, false);
    (gpu_[waited] |= gpu_[index]).set(index);
  }

  // Orders the device operation `x`, which `thread` has awaited, before what comes next on `stream`
  // of `thread` (or, `by_host`, before what its host does).
  void OrderAfter(int x, int thread, int stream, bool by_host) {
    if (gone_.test(x) || Chance(8)) return SyncContext(thread);
    const int its_stream = program_.ops[x].stream;
    const int namer = NamerOf(x, thread);
    if (by_host || Chance(25)) {
      if (namer == thread && Chance(60)) return SyncStream(thread, its_stream);
      const int event = static_cast<int>(Below(kEvents));
      Record(namer, its_stream, event);
      return SyncEvent(thread, event);
    }
    if (Chance(20) && flags_used_ < kFlags) return ByValue(namer, its_stream, thread, stream);
    const int event = static_cast<int>(Below(kEvents));
    Record(namer, its_stream, event);
    WaitFor(thread, stream, event);
  }

  // Whether `op` may make the access; else adds what is missing, after which the caller asks again.
  bool Ordered(Op* op, const Need& need) {
    for (const Access& before : accesses_[need.buffer]) {
      if (!before.write && !need.write) continue;
      Await(op, before.op);
      if (before.by_host) continue;
      const Set known = need.by_host ? DoneOf(*op) : GpuOf(*op);
      if (known.test(before.op)) continue;
      // The order is made by operations of their own; they know what this one awaited.
      OrderAfterAwaits(before.op, op, need.by_host);
      return false;
    }
    return true;
  }
  void OrderAfterAwaits(int x, Op* op, bool by_host) {
    Op carrier;
    carrier.kind = OpKind::kNothing;
    carrier.thread = op->thread;
    carrier.awaits = op->awaits;
    Append(carrier, false, false);
    op->awaits.clear();
    OrderAfter(x, op->thread, op->stream, by_host);
  }

  int Do(Op op, const std::vector<Need>& needs, bool on_device, bool returns_done) {
    bool again = true;
    for (int tries = 0; again && tries < 200; ++tries) {
      again = false;
      for (const Need& need : needs) {
        if (!Ordered(&op, need)) {
          again = true;
          break;
        }
      }
    }
    const int index = Append(op, on_device, returns_done);
    for (const Need& need : needs) Note(need, index);
    return index;
  }
  void Note(const Need& need, int index) {
    auto& list = accesses_[need.buffer];
    // Whoever conflicts with a write conflicts with all that the write is ordered behind.
    if (need.write) list.clear();
    list.push_back({index, need.write, need.by_host});
  }

  void Step();
  void Launch(int thread);
  void Copy(int thread, bool sync);
  void BatchCopy(int thread);
  void Fill(int thread, bool sync);
  void Host(int thread);
  void OtherLaunch(int thread);
  void Renew(int thread);
  void RenewStream(int thread);
  void ReloadModule(int thread);
  void MakeGraph(int thread);
  void LaunchGraph(int thread);
  void ChangeGraph(int thread);
  Op GraphNode(int place);

  std::mt19937_64 random_;
  int length_;
  Program program_;
  std::vector<Set> host_, gpu_, done_;
  std::vector<int> on_stream_[kStreams];
  bool blocking_[kStreams] = {};
  int last_of_thread_[kMostThreads] = {-1, -1, -1, -1};
  Handle streams_[kOwnStreams];
  Handle modules_[kModules];
  Handle graphs_[kGraphs];
  std::vector<Op> graph_nodes_[kGraphs];
  int flags_used_ = 0;
  int last_on_event_[kEvents] = {-1, -1, -1, -1, -1, -1};
  int recorded_[kEvents] = {-1, -1, -1, -1, -1, -1};
  std::vector<Access> accesses_[kAllBuffers];
  Set gone_;  // device operations whose stream was destroyed
};

void Generator::Launch(int thread) {
  Op op = Begin(OpKind::kLaunch, thread, PickStream(thread));
  op.module = static_cast<int>(Below(kModules));
  Await(&op, modules_[op.module].made);
  op.to = PickDevice(thread);
  op.from = PickDevice(thread);
  op.a = Below(1000) * 2 + 3;
  op.b = Below(1u << 20);
  op.rounds = Chance(10) ? 200 + Below(400) : Below(60);
  const int module = op.module;
  const int index = Do(op, {{op.to, true, false}, {op.from, false, false}}, true, false);
  modules_[module].users.push_back(index);
}

void Generator::Copy(int thread, bool sync) {
  Op op = Begin(sync ? OpKind::kSyncCopy : OpKind::kCopy, thread,
                sync ? PickDefault(thread) : PickStream(thread));
  const uint32_t dice = Below(5);
  op.to = op.from = PickDevice(thread);
  if (dice == 0) op.from = PickPinned(thread);
  if (dice == 1) op.to = PickPinned(thread);
  if (dice == 2) op.from = PickPageable(thread);
  if (dice == 3) op.to = PickPageable(thread);
  if (dice == 4)
    op.from = (op.to + 1 + static_cast<int>(Below(kDeviceBuffers - 1))) % kDeviceBuffers;
  // Pageable memory is read during the call; what is written to it, and what a synchronous call
  // moves from or to pinned memory, is there when the call returns.
  const bool returns_done = IsPageable(op.to) || (sync && (IsPinned(op.to) || IsPinned(op.from)));
  Do(op, {{op.to, true, false}, {op.from, false, IsPageable(op.from)}}, true, returns_done);
}

// Two copies to different buffers, neither of which the other reads. Not on the NULL stream, which
// takes no batches.
void Generator::BatchCopy(int thread) {
  Op op = Begin(OpKind::kBatchCopy, thread, PickStream(thread));
  if (op.stream == kNullStream) op.stream = kFirstThreadStream + thread;
  const int first = PickDevice(thread);
  for (int i = 0; i < 2; ++i) {
    Op node;
    node.kind = OpKind::kCopy;
    node.to = i == 0 ? first : PickPinned(thread);
    node.from = (first + 1 + static_cast<int>(Below(kDeviceBuffers - 1))) % kDeviceBuffers;
    op.nodes.push_back(node);
  }
  std::vector<Need> needs;
  for (const Op& node : op.nodes) {
    needs.push_back({node.to, true, false});
    needs.push_back({node.from, false, false});
  }
  Do(op, needs, true, false);
}

void Generator::Fill(int thread, bool sync) {
  Op op = Begin(sync ? OpKind::kSyncFill : OpKind::kFill, thread,
                sync ? PickDefault(thread) : PickStream(thread));
  op.to = PickDevice(thread);
  op.a = Below(1u << 30);
  op.width = sync ? 4 : 1u << Below(3);
  Do(op, {{op.to, true, false}}, true, false);
}

void Generator::Host(int thread) {
  const uint32_t dice = Below(3);
  if (dice == 0) {
    Op op = Begin(OpKind::kHostFunction, thread, PickStream(thread));
    op.to = PickPinned(thread);
    op.a = Below(1000) * 2 + 3;
    op.b = Below(1u << 20);
    Do(op, {{op.to, true, false}}, true, false);
    return;
  }
  Op op = Begin(dice == 1 ? OpKind::kHostWrite : OpKind::kHostRead, thread, kNullStream);
  const int buffer = Chance(60) ? PickPinned(thread) : PickPageable(thread);
  (dice == 1 ? op.to : op.from) = buffer;
  op.a = Below(1u << 20);
  Do(op, {{buffer, dice == 1, true}}, false, false);
}

void Generator::OtherLaunch(int thread) {
  Op op = Begin(OpKind::kOtherLaunch, thread, kNullStream);
  op.to = kOtherBuffer;
  op.from = PickPinned(thread);
  op.a = Below(1000) * 2 + 3;
  op.b = Below(1u << 20);
  op.rounds = Below(60);
  Do(op, {{op.to, true, true}, {op.from, false, true}}, false, false);
}

void Generator::Renew(int thread) {
  Op op = Begin(OpKind::kRenewBuffer, thread, PickStream(thread));
  op.to = static_cast<int>(Below(kFirstGraphBuffer));
  op.a = Below(1u << 30);
  Do(op, {{op.to, true, false}}, true, false);
}

void Generator::RenewStream(int thread) {
  const int slot = static_cast<int>(Below(kOwnStreams));
  Op op = Begin(OpKind::kRenewStream, thread, slot);
  for (int user : streams_[slot].users) Await(&op, user);
  op.a = Chance(40) ? 1 : 0;
  blocking_[slot] = op.a == 1;
  for (int x : on_stream_[slot]) gone_.set(x);
  on_stream_[slot].clear();
  streams_[slot].users.clear();
  streams_[slot].made = Append(op, false, false);
}

void Generator::ReloadModule(int thread) {
  const int slot = static_cast<int>(Below(kModules));
  Op op = Begin(OpKind::kReloadModule, thread, kNullStream);
  op.module = slot;
  Await(&op, modules_[slot].made);
  for (int user : modules_[slot].users) Await(&op, user);
  modules_[slot].users.clear();
  modules_[slot].made = Append(op, false, false);
}

// A node of a graph: on buffers whose addresses stay.
Op Generator::GraphNode(int place) {
  Op node;
  const uint32_t dice = place == 0 ? 0 : Below(10);
  node.kind = dice < 6   ? OpKind::kLaunch
              : dice < 7 ? OpKind::kFill
              : dice < 9 ? OpKind::kCopy
                         : OpKind::kHostFunction;
  node.to = kFirstGraphBuffer + static_cast<int>(Below(3));
  node.from = kFirstGraphBuffer + static_cast<int>(Below(3));
  if (node.kind == OpKind::kCopy && Chance(40))
    node.to = kDeviceBuffers + static_cast<int>(Below(2));
  if (node.kind == OpKind::kHostFunction) node.to = kDeviceBuffers + static_cast<int>(Below(2));
  if (node.kind == OpKind::kCopy && node.to == node.from) {
    node.from = kFirstGraphBuffer + (node.to - kFirstGraphBuffer + 1) % 3;
  }
  node.module = kGraphModule;
  node.a = Below(1000) * 2 + 3;
  node.b = Below(1u << 20);
  node.rounds = Below(40);
  return node;
}

void Generator::MakeGraph(int thread) {
  const int slot = static_cast<int>(Below(kGraphs));
  Op op;
  op.kind = OpKind::kMakeGraph;
  op.thread = thread;
  op.graph = slot;
  op.a = Below(2);  // forked or not
  op.alias = Chance(50);
  const int nodes = 1 + static_cast<int>(Below(5));
  for (int i = 0; i < nodes; ++i) op.nodes.push_back(GraphNode(i));
  Await(&op, graphs_[slot].made);
  for (int user : graphs_[slot].users) Await(&op, user);
  graphs_[slot].users.clear();
  graph_nodes_[slot] = op.nodes;
  graphs_[slot].made = Append(op, false, false);
}

void Generator::LaunchGraph(int thread) {
  const int slot = static_cast<int>(Below(kGraphs));
  if (graph_nodes_[slot].empty()) return MakeGraph(thread);
  Op op = Begin(OpKind::kGraphLaunch, thread, PickStream(thread));
  op.graph = slot;
  op.nodes = graph_nodes_[slot];
  Await(&op, graphs_[slot].made);
  // One executable is of one thread at a time.
  for (int user : graphs_[slot].users) Await(&op, user);
  std::vector<Need> needs;
  for (const Op& node : op.nodes) {
    needs.push_back({node.to, true, false});
    if (node.kind == OpKind::kLaunch || node.kind == OpKind::kCopy) {
      needs.push_back({node.from, false, false});
    }
  }
  graphs_[slot].users.push_back(Do(op, needs, true, false));
}

void Generator::ChangeGraph(int thread) {
  const int slot = static_cast<int>(Below(kGraphs));
  if (graph_nodes_[slot].empty()) return MakeGraph(thread);
  Op op;
  op.kind = OpKind::kGraphParams;
  op.thread = thread;
  op.graph = slot;
  Await(&op, graphs_[slot].made);
  for (int user : graphs_[slot].users) Await(&op, user);
  graph_nodes_[slot][0].a = Below(1000) * 2 + 3;
  graph_nodes_[slot][0].b = Below(1u << 20);
  op.nodes = {graph_nodes_[slot][0]};
  graphs_[slot].made = Append(op, false, false);
}

void Generator::Step() {
  const int thread = static_cast<int>(Below(static_cast<uint32_t>(program_.threads)));
  const uint32_t dice = Below(1000);
  if (dice < 20) return MakeGraph(thread);
  if (dice < 35) return ChangeGraph(thread);
  if (dice < 110) return LaunchGraph(thread);
  if (dice < 400) return Launch(thread);
  if (dice < 520) return Copy(thread, false);
  if (dice < 540) return BatchCopy(thread);
  if (dice < 610) return Fill(thread, false);
  if (dice < 650) return Copy(thread, true);
  if (dice < 675) return Fill(thread, true);
  if (dice < 765) return Host(thread);
  if (dice < 775) return OtherLaunch(thread);
  if (dice < 795) return Renew(thread);
  const int event = static_cast<int>(Below(kEvents));
  if (dice < 855) return void(Record(thread, PickStream(thread), event));
  if (dice < 895) return WaitFor(thread, PickStream(thread), event);
  if (dice < 905) return RenewEvent(thread, event);
  if (dice < 925) return SyncEvent(thread, event);
  if (dice < 965) return SyncStream(thread, PickStream(thread));
  if (dice < 975) return SyncContext(thread);
  if (dice < 990) return RenewStream(thread);
  ReloadModule(thread);
}

}  // namespace

Program Generate(uint64_t seed, int threads, int length) {
  return Generator(seed, threads, length).Make();
}

}  // namespace shim_order
