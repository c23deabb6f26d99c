// SPDX-License-Identifier: Apache-2.0
#include "tests/stress/shim_order/runner.h"

#include <cuda.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "tests/stress/shim_order/kernel.h"
#include "tests/stress/shim_order/per_thread.h"

namespace shim_order {
namespace {

constexpr size_t kBytes = kWords * sizeof(uint32_t);

CUcontext g_context;
CUcontext g_other;  // a second one, which nobody schedules

void Check(CUresult result, const char* what, uint64_t seed = 0, int op = -1) {
  if (result == CUDA_SUCCESS) return;
  const char* name = "?";
  cuGetErrorName(result, &name);
  std::fprintf(stderr, "shim_order: %s: %s (%d), seed %llu, operation %d\n", what, name,
               static_cast<int>(result), static_cast<unsigned long long>(seed), op);
  // Not exit(): other threads may be inside the driver.
  _exit(3);
}

struct HostStep {
  uint32_t* words;
  uint32_t a;
  uint32_t b;
};
// That it is over is known by way of the device, another process, where ThreadSanitizer sees
// nothing: the words are compared instead.
__attribute__((no_sanitize("thread"))) void CUDA_CB RunHostStep(void* data) {
  auto* step = static_cast<HostStep*>(data);
  for (int i = 0; i < kWords; ++i) step->words[i] = step->words[i] * step->a + step->b;
}

// Said by an entry for per-thread default streams, to which 0 is the thread's own stream.
bool ByThreadEntry(const Op& op) { return op.stream >= kFirstThreadStream && op.alias; }

struct Code {
  CUmodule module = nullptr;
  CUlibrary library = nullptr;
  CUfunction function = nullptr;  // a CUkernel if `library`
};

struct Graph {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CUgraphNode first = nullptr;
};

class Runner {
 public:
  Runner(const Program& program, const RunOptions& options)
      : program_(program),
        options_(options),
        ptx_(Ptx(options.named)),
        returned_(new std::atomic<bool>[program.ops.size()]()),
        host_steps_(program.ops.size()),
        node_steps_(program.ops.size()) {
    results_.reads.resize(program.ops.size());
  }

  Results Run() {
    SetUp();
    std::vector<std::thread> threads;
    for (int t = 0; t < program_.threads; ++t) {
      threads.emplace_back([this, t] { RunThread(t); });
    }
    for (std::thread& thread : threads) thread.join();
    TearDown();
    return std::move(results_);
  }

 private:
  void SetUp();
  void TearDown();
  void RunThread(int thread);
  void Do(const Op& op, int index);
  void DoStreamOp(const Op& op, int index);
  void DoHandleOp(const Op& op, int index);
  CUresult Launch(const Op& op, CUstream stream, int index = -1);
  CUresult Copy(const Op& op);
  CUresult SyncCopy(const Op& op);
  CUresult Fill(const Op& op);
  CUresult RenewBuffer(const Op& op);
  CUresult BatchCopy(const Op& op);
  CUresult OrderOp(const Op& op);
  void MakeOther();
  void OtherLaunch(const Op& op, int index);
  void DropOther();
  CUresult Poll(CUresult (*query)(const Runner&, const Op&), const Op& op);
  CUresult LoadCode(int module);
  CUresult UnloadCode(int module);
  CUresult MakeStream(int slot, bool blocking);
  void MakeGraph(const Op& op, int index);
  void ChangeGraph(const Op& op, int index);
  void DropGraph(int slot);
  CUresult CaptureNode(const Op& node, CUstream stream, int index, size_t place);

  CUstream StreamOf(const Op& op) const {
    if (op.stream < kOwnStreams) return streams_[op.stream];
    if (op.stream != kNullStream) return ByThreadEntry(op) ? nullptr : CU_STREAM_PER_THREAD;
    return op.alias ? CU_STREAM_LEGACY : nullptr;
  }
  CUdeviceptr Device(int buffer) const { return device_[buffer]; }
  uint32_t* Host(int buffer) {
    return IsPinned(buffer) ? pinned_[buffer - kDeviceBuffers]
                            : pageable_[buffer - kDeviceBuffers - kPinnedBuffers];
  }
  CUdeviceptr Any(int buffer) {
    return IsDevice(buffer) ? Device(buffer) : reinterpret_cast<CUdeviceptr>(Host(buffer));
  }

  // The kernel of operation `index` (-1: of a graph).
  CUfunction FunctionOf(const Op& op, int index);

  const Program& program_;
  const RunOptions options_;
  const std::string ptx_;
  std::unique_ptr<std::atomic<bool>[]> returned_;
  std::vector<HostStep> host_steps_;
  Results results_;
  CUdeviceptr device_[kDeviceBuffers] = {};
  uint32_t* pinned_[kPinnedBuffers] = {};
  uint32_t pageable_[kPageableBuffers][kWords] = {};
  CUstream streams_[kOwnStreams] = {};
  CUevent events_[kEvents] = {};
  CUdeviceptr flags_ = 0;
  CUmemoryPool pool_ = nullptr;
  Code other_code_;
  CUstream other_stream_ = nullptr;
  CUdeviceptr other_buffers_[2] = {};  // that of the program, and what its kernels read
  Code code_[kModules + 1];
  Graph graphs_[kGraphs];
  std::mutex capture_mutex_;  // a context that captures may not be synchronised with
  std::vector<std::vector<HostStep>> node_steps_;  // by operation that made the graph
};

CUresult Runner::MakeStream(int slot, bool blocking) {
  const unsigned flags = blocking ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING;
  return cuStreamCreateWithPriority(&streams_[slot], flags, -(slot % 2));
}

// Slot 0 holds a module, slot 1 a library; that of the graphs one or the other.
CUresult Runner::LoadCode(int slot) {
  Code& code = code_[slot];
  code = Code();
  if (slot == 0 || (slot == kGraphModule && program_.seed % 2 == 0)) {
    const CUresult result = cuModuleLoadData(&code.module, ptx_.c_str());
    return result != CUDA_SUCCESS ? result
                                  : cuModuleGetFunction(&code.function, code.module, kKernelName);
  }
  const CUresult result =
      cuLibraryLoadData(&code.library, ptx_.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  return result != CUDA_SUCCESS ? result
                                : cuLibraryGetKernel(reinterpret_cast<CUkernel*>(&code.function),
                                                     code.library, kKernelName);
}
CUresult Runner::UnloadCode(int slot) {
  const Code& code = code_[slot];
  return code.module != nullptr ? cuModuleUnload(code.module) : cuLibraryUnload(code.library);
}

void Runner::SetUp() {
  uint32_t words[kWords];
  for (int b = 0; b < kBuffers; ++b) {
    for (int i = 0; i < kWords; ++i) words[i] = FirstWord(b, i);
    if (IsDevice(b)) {
      Check(cuMemAllocAsync(&device_[b], kBytes, nullptr), "cuMemAllocAsync");
      Check(cuMemcpyHtoD(device_[b], words, kBytes), "cuMemcpyHtoD");
      continue;
    }
    if (IsPinned(b)) {
      void* memory = nullptr;
      Check(cuMemHostAlloc(&memory, kBytes, 0), "cuMemHostAlloc");
      pinned_[b - kDeviceBuffers] = static_cast<uint32_t*>(memory);
    }
    std::memcpy(Host(b), words, kBytes);
  }
  Check(cuMemAllocAsync(&flags_, kFlags * sizeof(uint32_t), nullptr), "cuMemAllocAsync");
  Check(cuMemsetD32(flags_, 0, kFlags), "cuMemsetD32");
  CUmemPoolProps pool = {};
  pool.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  pool.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  Check(cuMemPoolCreate(&pool_, &pool), "cuMemPoolCreate");
  for (int s = 0; s < kOwnStreams; ++s) Check(MakeStream(s, program_.blocking[s]), "stream");
  for (int e = 0; e < kEvents; ++e) {
    Check(cuEventCreate(&events_[e], e % 2 == 0 ? CU_EVENT_DISABLE_TIMING : 0), "cuEventCreate");
  }
  for (int m = 0; m <= kModules; ++m) Check(LoadCode(m), "loading the kernel");
  MakeOther();
  Check(cuCtxSynchronize(), "cuCtxSynchronize");
}

// What the second context has; made and used with it current, for the moment.
void Runner::MakeOther() {
  uint32_t words[kWords];
  for (int i = 0; i < kWords; ++i) words[i] = FirstWord(kOtherBuffer, i);
  CUcontext popped;
  Check(cuCtxPushCurrent(g_other), "cuCtxPushCurrent");
  Check(cuModuleLoadData(&other_code_.module, ptx_.c_str()), "cuModuleLoadData");
  Check(cuModuleGetFunction(&other_code_.function, other_code_.module, kKernelName), kKernelName);
  Check(cuStreamCreate(&other_stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  for (CUdeviceptr& buffer : other_buffers_) Check(cuMemAlloc(&buffer, kBytes), "cuMemAlloc");
  Check(cuMemcpyHtoD(other_buffers_[0], words, kBytes), "cuMemcpyHtoD");
  Check(cuCtxPopCurrent(&popped), "cuCtxPopCurrent");
}

void Runner::OtherLaunch(const Op& op, int index) {
  const auto check = [&](CUresult result) { Check(result, NameOf(op.kind), program_.seed, index); };
  CUcontext popped;
  KernelParams p = {other_buffers_[0], other_buffers_[1], kWords, op.a, op.b, op.rounds};
  void* params[] = {&p.to, &p.from, &p.words, &p.a, &p.b, &p.rounds};
  check(cuCtxPushCurrent(g_other));
  check(cuMemcpyHtoDAsync(other_buffers_[1], Host(op.from), kBytes, other_stream_));
  check(cuLaunchKernel(other_code_.function, 1, 1, 1, kWords, 1, 1, 0, other_stream_, params,
                       nullptr));
  check(cuStreamSynchronize(other_stream_));
  check(cuCtxPopCurrent(&popped));
}

void Runner::DropOther() {
  std::vector<uint32_t> words(kWords);
  CUcontext popped;
  Check(cuCtxPushCurrent(g_other), "cuCtxPushCurrent");
  Check(cuMemcpyDtoH(words.data(), other_buffers_[0], kBytes), "cuMemcpyDtoH", program_.seed);
  for (CUdeviceptr buffer : other_buffers_) Check(cuMemFree(buffer), "cuMemFree");
  Check(cuStreamDestroy(other_stream_), "cuStreamDestroy");
  Check(cuModuleUnload(other_code_.module), "cuModuleUnload");
  Check(cuCtxPopCurrent(&popped), "cuCtxPopCurrent");
  results_.buffers.push_back(words);
}

void Runner::TearDown() {
  Check(cuCtxSynchronize(), "cuCtxSynchronize at the end", program_.seed);
  for (int b = 0; b < kBuffers; ++b) {
    std::vector<uint32_t> words(kWords);
    if (IsDevice(b)) {
      Check(cuMemcpyDtoH(words.data(), device_[b], kBytes), "cuMemcpyDtoH", program_.seed);
      Check(cuMemFreeAsync(device_[b], nullptr), "cuMemFreeAsync");
    } else {
      std::memcpy(words.data(), Host(b), kBytes);
      if (IsPinned(b)) Check(cuMemFreeHost(Host(b)), "cuMemFreeHost");
    }
    results_.buffers.push_back(words);
  }
  DropOther();
  Check(cuMemFreeAsync(flags_, nullptr), "cuMemFreeAsync");
  Check(cuStreamSynchronize(nullptr), "cuStreamSynchronize");
  Check(cuMemPoolDestroy(pool_), "cuMemPoolDestroy");
  for (CUstream stream : streams_) Check(cuStreamDestroy(stream), "cuStreamDestroy");
  for (CUevent event : events_) Check(cuEventDestroy(event), "cuEventDestroy");
  for (int g = 0; g < kGraphs; ++g) DropGraph(g);
  for (int m = 0; m <= kModules; ++m) Check(UnloadCode(m), "unloading the kernel");
}

void Runner::RunThread(int thread) {
  Check(cuCtxSetCurrent(g_context), "cuCtxSetCurrent");
  for (size_t i = 0; i < program_.ops.size(); ++i) {
    const Op& op = program_.ops[i];
    if (op.thread != thread) continue;
    for (int other : op.awaits) {
      // Acquire pairs with the release store below: what the other did is seen.
      while (!returned_[other].load(std::memory_order_acquire)) sched_yield();
    }
    if (op.pause_us != 0) usleep(op.pause_us);
    Do(op, static_cast<int>(i));
    returned_[i].store(true, std::memory_order_release);
  }
}

CUresult Runner::CaptureNode(const Op& node, CUstream stream, int index, size_t place) {
  if (node.kind == OpKind::kLaunch) return Launch(node, stream);
  if (node.kind == OpKind::kFill) return cuMemsetD32Async(Device(node.to), node.a, kWords, stream);
  if (node.kind == OpKind::kHostFunction) {
    HostStep* step = &node_steps_[index][place];
    *step = {Host(node.to), node.a, node.b};
    return cuLaunchHostFunc(stream, RunHostStep, step);
  }
  return IsDevice(node.to) ? cuMemcpyDtoDAsync(Device(node.to), Device(node.from), kBytes, stream)
                           : cuMemcpyDtoHAsync(Host(node.to), Device(node.from), kBytes, stream);
}

// Each node on the stream, or every second one on another that joins and comes back.
void Runner::MakeGraph(const Op& op, int index) {
  const auto check = [&](CUresult result) { Check(result, NameOf(op.kind), program_.seed, index); };
  DropGraph(op.graph);
  Graph& made = graphs_[op.graph];
  node_steps_[index].resize(op.nodes.size());
  CUstream streams[2];
  CUevent event;
  const std::lock_guard<std::mutex> lock(capture_mutex_);
  for (CUstream& stream : streams) check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  check(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  check(cuStreamBeginCapture(streams[0], op.alias || program_.threads == 1
                                             ? CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
                                             : CU_STREAM_CAPTURE_MODE_RELAXED));
  for (size_t i = 0; i < op.nodes.size(); ++i) {
    const CUstream stream = streams[op.a == 1 ? i % 2 : 0];
    const CUstream before = streams[op.a == 1 ? (i + 1) % 2 : 0];
    if (i > 0 && stream != before) {
      check(cuEventRecord(event, before));
      check(cuStreamWaitEvent(stream, event, 0));
    }
    check(CaptureNode(op.nodes[i], stream, index, i));
  }
  if (op.a == 1 && op.nodes.size() > 1) {
    check(cuEventRecord(event, streams[1]));
    check(cuStreamWaitEvent(streams[0], event, 0));
  }
  check(cuStreamEndCapture(streams[0], &made.graph));
  size_t count = 1;
  check(cuGraphGetRootNodes(made.graph, &made.first, &count));
  check(cuGraphInstantiateWithFlags(&made.exec, made.graph, 0));
  check(cuEventDestroy(event));
  for (CUstream stream : streams) check(cuStreamDestroy(stream));
}

void Runner::ChangeGraph(const Op& op, int index) {
  const Op& node = op.nodes[0];
  KernelParams p = {Device(node.to), Device(node.from), kWords, node.a, node.b, node.rounds};
  void* params[] = {&p.to, &p.from, &p.words, &p.a, &p.b, &p.rounds};
  const CUfunction function = code_[kGraphModule].function;
  CUDA_KERNEL_NODE_PARAMS change = {};
  if (code_[kGraphModule].module != nullptr) {
    change.func = function;
  } else {
    change.kern = reinterpret_cast<CUkernel>(function);
  }
  change.gridDimX = change.gridDimY = change.gridDimZ = 1;
  change.blockDimX = kWords, change.blockDimY = change.blockDimZ = 1;
  change.kernelParams = params;
  const Graph& graph = graphs_[op.graph];
  Check(cuGraphExecKernelNodeSetParams(graph.exec, graph.first, &change), NameOf(op.kind),
        program_.seed, index);
}

void Runner::DropGraph(int slot) {
  Graph& graph = graphs_[slot];
  if (graph.exec == nullptr) return;
  Check(cuGraphExecDestroy(graph.exec), "cuGraphExecDestroy", program_.seed);
  Check(cuGraphDestroy(graph.graph), "cuGraphDestroy", program_.seed);
  graph = Graph();
}

CUfunction Runner::FunctionOf(const Op& op, int index) {
  const Code& code = code_[op.module];
  if (!options_.named || index < 0) return code.function;
  const std::string name = kKernelName + ("_" + std::to_string(index % kNames));
  CUfunction function = nullptr;
  Check(code.module != nullptr ? cuModuleGetFunction(&function, code.module, name.c_str())
                               : cuLibraryGetKernel(reinterpret_cast<CUkernel*>(&function),
                                                    code.library, name.c_str()),
        name.c_str(), program_.seed, index);
  return function;
}

CUresult Runner::Launch(const Op& op, CUstream stream, int index) {
  KernelParams p = {Device(op.to), Device(op.from), kWords, op.a, op.b, op.rounds};
  const CUfunction function = FunctionOf(op, index);
  if (index >= 0 && ByThreadEntry(op)) {
    void* params[] = {&p.to, &p.from, &p.words, &p.a, &p.b, &p.rounds};
    return cuLaunchKernel_ptsz(function, 1, 1, 1, kWords, 1, 1, 0, stream, params, nullptr);
  }
  if (op.alias && op.b % 2 == 0) {
    size_t bytes = sizeof(p);
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &p, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    return cuLaunchKernel(function, 1, 1, 1, kWords, 1, 1, 0, stream, nullptr, extra);
  }
  void* params[] = {&p.to, &p.from, &p.words, &p.a, &p.b, &p.rounds};
  if (!op.alias) {
    return cuLaunchKernel(function, 1, 1, 1, kWords, 1, 1, 0, stream, params, nullptr);
  }
  CUlaunchConfig config = {};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = kWords, config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  return cuLaunchKernelEx(&config, function, params, nullptr);
}

CUresult Runner::Copy(const Op& op) {
  const CUstream stream = StreamOf(op);
  if (ByThreadEntry(op)) return cuMemcpyAsync_ptsz(Any(op.to), Any(op.from), kBytes, stream);
  if (op.alias) return cuMemcpyAsync(Any(op.to), Any(op.from), kBytes, stream);
  if (!IsDevice(op.from)) return cuMemcpyHtoDAsync(Device(op.to), Host(op.from), kBytes, stream);
  if (!IsDevice(op.to)) return cuMemcpyDtoHAsync(Host(op.to), Device(op.from), kBytes, stream);
  return cuMemcpyDtoDAsync(Device(op.to), Device(op.from), kBytes, stream);
}

CUresult Runner::SyncCopy(const Op& op) {
  if (op.stream != kNullStream) return cuMemcpy_ptds(Any(op.to), Any(op.from), kBytes);
  if (op.alias) return cuMemcpy(Any(op.to), Any(op.from), kBytes);
  if (!IsDevice(op.from)) return cuMemcpyHtoD(Device(op.to), Host(op.from), kBytes);
  if (!IsDevice(op.to)) return cuMemcpyDtoH(Host(op.to), Device(op.from), kBytes);
  return cuMemcpyDtoD(Device(op.to), Device(op.from), kBytes);
}

CUresult Runner::Fill(const Op& op) {
  const CUstream stream = StreamOf(op);
  const CUdeviceptr to = Device(op.to);
  const bool thread = ByThreadEntry(op);
  if (op.width == 1) {
    const auto value = static_cast<unsigned char>(op.a);
    return (thread ? cuMemsetD8Async_ptsz : cuMemsetD8Async)(to, value, kBytes, stream);
  }
  if (op.width == 2) {
    const auto value = static_cast<unsigned short>(op.a);
    return (thread ? cuMemsetD16Async_ptsz : cuMemsetD16Async)(to, value, kBytes / 2, stream);
  }
  return (thread ? cuMemsetD32Async_ptsz : cuMemsetD32Async)(to, op.a, kWords, stream);
}

// Freed, and allocated again in the default pool or in one of our own.
CUresult Runner::RenewBuffer(const Op& op) {
  const CUstream stream = StreamOf(op);
  const bool thread = ByThreadEntry(op);
  CUdeviceptr* buffer = &device_[op.to];
  CUresult result = (thread ? cuMemFreeAsync_ptsz : cuMemFreeAsync)(*buffer, stream);
  if (result != CUDA_SUCCESS) return result;
  if (op.a % 2 == 0) {
    result = (thread ? cuMemAllocAsync_ptsz : cuMemAllocAsync)(buffer, kBytes, stream);
  } else {
    result = (thread ? cuMemAllocFromPoolAsync_ptsz : cuMemAllocFromPoolAsync)(buffer, kBytes,
                                                                               pool_, stream);
  }
  return result == CUDA_SUCCESS
             ? cuMemsetD32Async(*buffer, op.a, kWords, thread ? CU_STREAM_PER_THREAD : stream)
             : result;
}

CUresult Runner::BatchCopy(const Op& op) {
  std::vector<CUdeviceptr> to, from;
  for (const Op& node : op.nodes) {
    to.push_back(Any(node.to));
    from.push_back(Any(node.from));
  }
  std::vector<size_t> sizes(op.nodes.size(), kBytes);
  CUmemcpyAttributes attributes = {};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  size_t first = 0;
  return (ByThreadEntry(op) ? cuMemcpyBatchAsync_v2_ptsz : cuMemcpyBatchAsync)(
      to.data(), from.data(), sizes.data(), sizes.size(), &attributes, &first, 1, StreamOf(op));
}

// What orders streams.
CUresult Runner::OrderOp(const Op& op) {
  const CUstream stream = StreamOf(op);
  const bool thread = ByThreadEntry(op);
  const CUdeviceptr flag = flags_ + static_cast<CUdeviceptr>(op.event) * sizeof(uint32_t);
  switch (op.kind) {
    case OpKind::kEventRecord:
      if (thread) return cuEventRecord_ptsz(events_[op.event], stream);
      return op.alias ? cuEventRecordWithFlags(events_[op.event], stream, 0)
                      : cuEventRecord(events_[op.event], stream);
    case OpKind::kEventWait:
      if (options_.without_waits) return CUDA_SUCCESS;
      return (thread ? cuStreamWaitEvent_ptsz : cuStreamWaitEvent)(stream, events_[op.event], 0);
    case OpKind::kValueWrite:
      return (thread ? cuStreamWriteValue32_v2_ptsz : cuStreamWriteValue32)(stream, flag, 1, 0);
    default:
      if (options_.without_waits) return CUDA_SUCCESS;
      return (thread ? cuStreamWaitValue32_v2_ptsz : cuStreamWaitValue32)(stream, flag, 1,
                                                                          CU_STREAM_WAIT_VALUE_GEQ);
  }
}

CUresult Runner::Poll(CUresult (*query)(const Runner&, const Op&), const Op& op) {
  CUresult result;
  while ((result = query(*this, op)) == CUDA_ERROR_NOT_READY) usleep(20);
  return result;
}

void Runner::DoStreamOp(const Op& op, int index) {
  const CUstream stream = StreamOf(op);
  const bool thread = ByThreadEntry(op);
  CUresult result = CUDA_SUCCESS;
  switch (op.kind) {
    case OpKind::kLaunch:
      result = Launch(op, stream, index);
      break;
    case OpKind::kCopy:
      result = Copy(op);
      break;
    case OpKind::kFill:
      result = Fill(op);
      break;
    case OpKind::kHostFunction:
      host_steps_[index] = {Host(op.to), op.a, op.b};
      result = (thread ? cuLaunchHostFunc_ptsz : cuLaunchHostFunc)(stream, RunHostStep,
                                                                   &host_steps_[index]);
      break;
    case OpKind::kSyncCopy:
      result = SyncCopy(op);
      break;
    case OpKind::kSyncFill:
      result = (op.stream == kNullStream ? cuMemsetD32 : cuMemsetD32_v2_ptds)(Device(op.to), op.a,
                                                                              kWords);
      break;
    case OpKind::kRenewBuffer:
      result = RenewBuffer(op);
      break;
    case OpKind::kBatchCopy:
      result = BatchCopy(op);
      break;
    case OpKind::kEventRecord:
    case OpKind::kEventWait:
    case OpKind::kValueWrite:
    case OpKind::kValueWait:
      result = OrderOp(op);
      break;
    case OpKind::kGraphLaunch:
      result = (thread ? cuGraphLaunch_ptsz : cuGraphLaunch)(graphs_[op.graph].exec, stream);
      break;
    case OpKind::kStreamSync:
      result = (thread ? cuStreamSynchronize_ptsz : cuStreamSynchronize)(stream);
      break;
    default:
      result = Poll(
          [](const Runner& r, const Op& o) {
            return (ByThreadEntry(o) ? cuStreamQuery_ptsz : cuStreamQuery)(r.StreamOf(o));
          },
          op);
      break;
  }
  Check(result, NameOf(op.kind), program_.seed, index);
}

void Runner::DoHandleOp(const Op& op, int index) {
  CUresult result = CUDA_SUCCESS;
  switch (op.kind) {
    case OpKind::kEventSync:
      result = cuEventSynchronize(events_[op.event]);
      break;
    case OpKind::kEventQuery:
      result =
          Poll([](const Runner& r, const Op& o) { return cuEventQuery(r.events_[o.event]); }, op);
      break;
    case OpKind::kRenewEvent:
      result = cuEventDestroy(events_[op.event]);
      if (result == CUDA_SUCCESS) {
        result = cuEventCreate(&events_[op.event], op.alias ? 0 : CU_EVENT_DISABLE_TIMING);
      }
      break;
    case OpKind::kRenewStream:
      result = cuStreamDestroy(streams_[op.stream]);
      if (result == CUDA_SUCCESS) result = MakeStream(op.stream, op.a == 1);
      break;
    case OpKind::kContextSync: {
      const std::lock_guard<std::mutex> lock(capture_mutex_);
      result = cuCtxSynchronize();
      break;
    }
    case OpKind::kReloadModule:
      result = UnloadCode(op.module);
      if (result == CUDA_SUCCESS) result = LoadCode(op.module);
      break;
    default:
      break;
  }
  Check(result, NameOf(op.kind), program_.seed, index);
}

void Runner::Do(const Op& op, int index) {
  switch (op.kind) {
    case OpKind::kHostWrite:
      for (int i = 0; i < kWords; ++i) Host(op.to)[i] = op.a + static_cast<uint32_t>(i);
      return;
    case OpKind::kHostRead:
      results_.reads[index] = Hash(std::vector<uint32_t>(Host(op.from), Host(op.from) + kWords));
      return;
    case OpKind::kNothing:
      return;
    case OpKind::kOtherLaunch:
      return OtherLaunch(op, index);
    case OpKind::kMakeGraph:
      return MakeGraph(op, index);
    case OpKind::kGraphParams:
      return ChangeGraph(op, index);
    case OpKind::kEventSync:
    case OpKind::kEventQuery:
    case OpKind::kRenewEvent:
    case OpKind::kRenewStream:
    case OpKind::kContextSync:
    case OpKind::kReloadModule:
      return DoHandleOp(op, index);
    default:
      return DoStreamOp(op, index);
  }
}

}  // namespace

void OpenDevice() {
  Check(cuInit(0), "cuInit");
  CUdevice device;
  Check(cuDeviceGet(&device, 0), "cuDeviceGet");
  Check(cuDevicePrimaryCtxRetain(&g_context, device), "cuDevicePrimaryCtxRetain");
  Check(cuCtxSetCurrent(g_context), "cuCtxSetCurrent");
  CUcontext popped;
  Check(cuCtxCreate(&g_other, nullptr, 0, device), "cuCtxCreate");
  Check(cuCtxPopCurrent(&popped), "cuCtxPopCurrent");
}

Results Run(const Program& program, const RunOptions& options) {
  return Runner(program, options).Run();
}

}  // namespace shim_order
