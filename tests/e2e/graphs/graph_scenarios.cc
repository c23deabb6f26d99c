// SPDX-License-Identifier: Apache-2.0
// Executable graphs: launched often, changed, on several streams, destroyed while held.
#include <unistd.h>

#include <cstring>

#include "tests/e2e/faults/probe.h"
#include "tests/stress/shim_order/kernel.h"

namespace probe {
namespace {

// A chain of `kernels` on a captured stream: buffer += 1, each time.
CUgraph Chain(const Device& d, CUdeviceptr buffer, CUdeviceptr zero, int kernels, uint32_t rounds,
              uint32_t blocks = 1) {
  CUstream stream;
  CUgraph graph;
  CHECK_CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK_CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  for (int i = 0; i < kernels; ++i) CHECK_CU(Step(d, stream, buffer, zero, 1, 1, rounds, blocks));
  CHECK_CU(cuStreamEndCapture(stream, &graph));
  CHECK_CU(cuStreamDestroy(stream));
  return graph;
}

CUgraphExec Instantiate(CUgraph graph) {
  CUgraphExec exec;
  CHECK_CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
  CHECK_CU(cuGraphDestroy(graph));
  return exec;
}

// replay KERNELS LAUNCHES ROUNDS BLOCKS PAUSE_US EACH: jobs of EACH launches, with a
// synchronisation and a pause after each job.
void Replay(const Arguments& arguments) {
  const int kernels = Number(arguments, 0, 10);
  const int launches = Number(arguments, 1, 20);
  const Device d = Open();
  const CUdeviceptr buffer = Buffer(0);
  const CUdeviceptr zero = Buffer(0);
  const auto rounds = static_cast<uint32_t>(Number(arguments, 2, 10));
  CUgraphExec exec = Instantiate(
      Chain(d, buffer, zero, kernels, rounds, static_cast<uint32_t>(Number(arguments, 3, 1))));
  CUstream stream;
  CHECK_CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const int each = Number(arguments, 5, 1);
  for (int i = 0; i < launches; ++i) {
    CHECK_CU(cuGraphLaunch(exec, stream));
    if ((i + 1) % each != 0) continue;
    CHECK_CU(cuStreamSynchronize(stream));
    usleep(static_cast<useconds_t>(Number(arguments, 4, 0)));
  }
  EXPECT(Value(buffer) == static_cast<uint32_t>(kernels * launches));
  CHECK_CU(cuGraphExecDestroy(exec));
}

// eager KERNELS LAUNCHES: the same without a graph.
void Eager(const Arguments& arguments) {
  const Device d = Open();
  const CUdeviceptr buffer = Buffer(0);
  const CUdeviceptr zero = Buffer(0);
  CUstream stream;
  CHECK_CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const int launches = Number(arguments, 1, 20);
  for (int i = 0; i < launches; ++i) {
    for (int k = 0; k < Number(arguments, 0, 10); ++k) {
      CHECK_CU(Step(d, stream, buffer, zero, 1, 1, 10));
    }
    CHECK_CU(cuStreamSynchronize(stream));
  }
  EXPECT(Value(buffer) == static_cast<uint32_t>(Number(arguments, 0, 10) * launches));
}

// Launches of one executable on two streams follow each other, held or not; so do those of eager
// kernels around them.
void TwoStreams(const Arguments& arguments) {
  const Device d = Open();
  const CUdeviceptr buffer = Buffer(0);
  const CUdeviceptr zero = Buffer(0);
  CUgraphExec exec = Instantiate(Chain(d, buffer, zero, 5, 20));
  CUstream streams[2];
  for (CUstream& s : streams) CHECK_CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
  uint32_t expected = 0;
  for (int i = 0; i < Number(arguments, 0, 60); ++i) {
    CHECK_CU(cuGraphLaunch(exec, streams[i % 2]));
    expected += 5;
    if (i % 7 == 0) {
      // The same stream: in order without another word.
      CHECK_CU(Step(d, streams[i % 2], buffer, zero, 3, 0, 10));
      CHECK_CU(cuStreamSynchronize(streams[i % 2]));
      expected *= 3;
    }
  }
  CHECK_CU(cuGraphExecDestroy(exec));  // with launches held or running
  CHECK_CU(cuCtxSynchronize());
  EXPECT(Value(buffer) == expected);
}

// Parameters of a kernel node, changed between launches that may be held.
void SetParams(const Arguments& arguments) {
  const Device d = Open();
  const CUdeviceptr buffer = Buffer(0);
  const CUdeviceptr zero = Buffer(0);
  CUgraph graph = Chain(d, buffer, zero, 3, 5);
  CUgraphNode nodes[3];
  size_t count = 3;
  CHECK_CU(cuGraphGetNodes(graph, nodes, &count));
  EXPECT(count == 3);
  CUDA_KERNEL_NODE_PARAMS params;
  CHECK_CU(cuGraphKernelNodeGetParams(nodes[1], &params));
  CUgraphExec exec;
  CHECK_CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
  CUstream stream;
  CHECK_CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  shim_order::KernelParams p = {buffer, zero, kWords, 1, 1, 5};
  void* pointers[] = {&p.to, &p.from, &p.words, &p.a, &p.b, &p.rounds};
  params.kernelParams = pointers;
  params.extra = nullptr;
  uint32_t expected = 0;
  uint32_t middle = 1;
  for (int i = 0; i < Number(arguments, 0, 40); ++i) {
    if (i % 3 == 2) {
      p.b = middle = static_cast<uint32_t>(i) * 7;
      CHECK_CU(cuGraphExecKernelNodeSetParams(exec, nodes[1], &params));
    }
    CHECK_CU(cuGraphLaunch(exec, stream));
    expected += 2 + middle;
    if (i % 5 == 0) CHECK_CU(cuStreamSynchronize(stream));
  }
  CHECK_CU(cuStreamSynchronize(stream));
  EXPECT(Value(buffer) == expected);
  CHECK_CU(cuGraphExecDestroy(exec));
  CHECK_CU(cuGraphDestroy(graph));
}

// Whole updates: llama.cpp's way.
void Update(const Arguments& arguments) {
  const Device d = Open();
  const CUdeviceptr buffer = Buffer(0);
  const CUdeviceptr zero = Buffer(0);
  CUgraphExec exec = Instantiate(Chain(d, buffer, zero, 4, 5));
  CUstream stream;
  CHECK_CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  uint32_t expected = 0;
  for (int i = 0; i < Number(arguments, 0, 20); ++i) {
    CHECK_CU(cuGraphLaunch(exec, stream));
    expected += 4;
    CUgraph other = Chain(d, buffer, zero, 4, static_cast<uint32_t>(i));
    CUgraphExecUpdateResultInfo info = {};
    CHECK_CU(cuGraphExecUpdate(exec, other, &info));
    CHECK_CU(cuGraphDestroy(other));
    CHECK_CU(cuGraphLaunch(exec, stream));
    expected += 4;
  }
  CHECK_CU(cuStreamSynchronize(stream));
  EXPECT(Value(buffer) == expected);
}

void AddNumber(void* data) { ++*static_cast<uint32_t*>(data); }

// A graph with every kind of node that has a copy: captured copies, fills, host functions, a child.
void Mixed(const Arguments& arguments) {
  const Device d = Open();
  const CUdeviceptr buffer = Buffer(0);
  const CUdeviceptr zero = Buffer(0);
  const CUdeviceptr scratch = Buffer(0);
  CUgraph child = Chain(d, buffer, zero, 2, 5);
  CUgraphExec child_exec;
  CHECK_CU(cuGraphInstantiateWithFlags(&child_exec, child, 0));
  void* host = nullptr;
  CHECK_CU(cuMemHostAlloc(&host, kWords * sizeof(uint32_t), 0));
  std::memset(host, 0, kWords * sizeof(uint32_t));
  static uint32_t calls = 0;
  CUstream stream;
  CUgraph graph;
  CHECK_CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK_CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  CHECK_CU(cuMemsetD32Async(scratch, 7, kWords, stream));
  CHECK_CU(Step(d, stream, buffer, scratch, 1, 0));                               // + 7
  if (Number(arguments, 1, 0) != 0) CHECK_CU(cuGraphLaunch(child_exec, stream));  // + 2
  CHECK_CU(cuMemcpyDtoHAsync(host, buffer, kWords * sizeof(uint32_t), stream));
  CHECK_CU(cuLaunchHostFunc(stream, AddNumber, &calls));
  CHECK_CU(cuStreamEndCapture(stream, &graph));
  CUgraphExec exec = Instantiate(graph);
  const uint32_t each = Number(arguments, 1, 0) != 0 ? 9 : 7;
  const int launches = Number(arguments, 0, 30);
  for (int i = 0; i < launches; ++i) {
    CHECK_CU(cuGraphLaunch(exec, stream));
    if (i % 4 == 3) CHECK_CU(cuStreamSynchronize(stream));
  }
  CHECK_CU(cuStreamSynchronize(stream));
  const uint32_t expected = each * static_cast<uint32_t>(launches);
  EXPECT(Value(buffer) == expected);
  EXPECT(static_cast<uint32_t*>(host)[kWords - 1] == expected);
  EXPECT(calls == static_cast<uint32_t>(launches));
}

// graph-node KERNEL...: nodes made by hand, with a disabled one.
void ByHand(const Arguments&) {
  const Device d = Open();
  const CUdeviceptr buffer = Buffer(0);
  const CUdeviceptr zero = Buffer(0);
  shim_order::KernelParams p = {buffer, zero, kWords, 1, 1, 5};
  void* pointers[] = {&p.to, &p.from, &p.words, &p.a, &p.b, &p.rounds};
  CUDA_KERNEL_NODE_PARAMS params = {};
  params.func = d.step;
  params.gridDimX = params.gridDimY = params.gridDimZ = 1;
  params.blockDimX = kWords, params.blockDimY = params.blockDimZ = 1;
  params.kernelParams = pointers;
  CUgraph graph;
  CUgraphNode nodes[3];
  CHECK_CU(cuGraphCreate(&graph, 0));
  CHECK_CU(cuGraphAddKernelNode(&nodes[0], graph, nullptr, 0, &params));
  p.b = 10;
  CHECK_CU(cuGraphAddKernelNode(&nodes[1], graph, &nodes[0], 1, &params));
  p.a = 2, p.b = 0;
  CHECK_CU(cuGraphAddKernelNode(&nodes[2], graph, &nodes[1], 1, &params));
  CUgraphExec exec;
  CHECK_CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
  CUstream stream;
  CHECK_CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  uint32_t expected = 0;
  for (int i = 0; i < 20; ++i) {
    const bool enabled = i % 4 != 3;
    CHECK_CU(cuGraphNodeSetEnabled(exec, nodes[1], enabled ? 1 : 0));
    CHECK_CU(cuGraphLaunch(exec, stream));
    expected = (expected + (enabled ? 11 : 1)) * 2;
    if (i % 6 == 0) CHECK_CU(cuStreamSynchronize(stream));
  }
  CHECK_CU(cuStreamSynchronize(stream));
  EXPECT(Value(buffer) == expected);
}

const Scenarios kScenarios = {
    {"replay", Replay},          {"eager", Eager},         {"graph-two-streams", TwoStreams},
    {"graph-params", SetParams}, {"graph-update", Update}, {"graph-mixed", Mixed},
    {"graph-by-hand", ByHand}};

}  // namespace
}  // namespace probe
