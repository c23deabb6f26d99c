// SPDX-License-Identifier: Apache-2.0
// Stream capture and graphs.
#include <thread>
#include <vector>

#include "tests/unit/simgpu_driver/device_process.h"

namespace sgprs::simgpu::testing {
namespace {

class GraphTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    ASSERT_OK(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    ASSERT_OK(cuStreamCreate(&side_, CU_STREAM_NON_BLOCKING));
    data_ = Allocate(8);
    ASSERT_OK(cuMemsetD32(data_, 0, 2));
    ASSERT_OK(cuCtxSynchronize());
    add_one_ = Function("add_one");
  }

  int Read(int index = 0) {
    int value = -1;
    EXPECT_OK(cuMemcpyDtoH(&value, data_ + 4 * static_cast<size_t>(index), 4));
    return value;
  }

  CUgraphExec Instantiate(CUgraph graph) {
    CUgraphExec exec = nullptr;
    EXPECT_OK(cuGraphInstantiate(&exec, graph, 0));
    return exec;
  }

  CUstream stream_ = nullptr;
  CUstream side_ = nullptr;
  CUdeviceptr data_ = 0;
  CUfunction add_one_ = nullptr;
};

TEST_F(GraphTest, CapturedWorkRunsAtLaunchOnly) {
  ASSERT_OK(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL));
  ASSERT_OK(cuMemsetD32Async(data_, 10, 1, stream_));
  ASSERT_OK(LaunchAddOne(add_one_, data_, 1, stream_));
  ASSERT_OK(LaunchAddOne(add_one_, data_, 1, stream_));
  CUstreamCaptureStatus status;
  ASSERT_OK(cuStreamIsCapturing(stream_, &status));
  EXPECT_EQ(CU_STREAM_CAPTURE_STATUS_ACTIVE, status);
  CUgraph graph;
  ASSERT_OK(cuStreamEndCapture(stream_, &graph));
  EXPECT_EQ(0, Read());
  size_t count = 0;
  ASSERT_OK(cuGraphGetNodes(graph, nullptr, &count));
  ASSERT_EQ(3u, count);
  std::vector<CUgraphNode> nodes(count);
  ASSERT_OK(cuGraphGetNodes(graph, nodes.data(), &count));
  CUDA_KERNEL_NODE_PARAMS params;
  ASSERT_OK(cuGraphKernelNodeGetParams(nodes[1], &params));
  EXPECT_EQ(add_one_, params.func);
  EXPECT_EQ(data_, *static_cast<CUdeviceptr*>(params.kernelParams[0]));
  CUgraphExec exec = Instantiate(graph);
  ASSERT_OK(cuGraphDestroy(graph));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy(graph));
  for (int i = 0; i < 3; ++i) ASSERT_OK(cuGraphLaunch(exec, stream_));
  ASSERT_OK(LaunchAddOne(add_one_, data_, 1, stream_));
  ASSERT_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(13, Read());
  ASSERT_OK(cuGraphExecDestroy(exec));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(exec, stream_));
}

TEST_F(GraphTest, ForksJoinByEvents) {
  CUevent fork;
  CUevent join;
  ASSERT_OK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
  ASSERT_OK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
  ASSERT_OK(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  ASSERT_OK(LaunchAddOne(add_one_, data_, 2, stream_));
  ASSERT_OK(cuEventRecord(fork, stream_));
  ASSERT_OK(cuStreamWaitEvent(side_, fork, 0));
  ASSERT_OK(LaunchAddOne(add_one_, data_, 1, stream_));
  ASSERT_OK(LaunchAddOne(add_one_, data_ + 4, 1, side_));
  EXPECT_EQ(CUDA_ERROR_CAPTURED_EVENT, cuEventQuery(fork));
  CUgraph graph;
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream_, &graph));

  ASSERT_OK(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  ASSERT_OK(LaunchAddOne(add_one_, data_, 2, stream_));
  ASSERT_OK(cuEventRecord(fork, stream_));
  ASSERT_OK(cuStreamWaitEvent(side_, fork, 0));
  ASSERT_OK(LaunchAddOne(add_one_, data_ + 4, 1, side_));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(stream_, &graph));

  ASSERT_OK(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  ASSERT_OK(LaunchAddOne(add_one_, data_, 2, stream_));
  ASSERT_OK(cuEventRecord(fork, stream_));
  ASSERT_OK(cuStreamWaitEvent(side_, fork, 0));
  ASSERT_OK(LaunchAddOne(add_one_, data_, 1, stream_));
  ASSERT_OK(LaunchAddOne(add_one_, data_ + 4, 1, side_));
  ASSERT_OK(cuEventRecord(join, side_));
  ASSERT_OK(cuStreamWaitEvent(stream_, join, 0));
  ASSERT_OK(LaunchAddOne(add_one_, data_, 2, stream_));
  ASSERT_OK(cuStreamEndCapture(stream_, &graph));
  CUgraphExec exec = Instantiate(graph);
  for (int i = 0; i < 50; ++i) ASSERT_OK(cuGraphLaunch(exec, i % 2 == 0 ? stream_ : side_));
  ASSERT_OK(cuCtxSynchronize());
  EXPECT_EQ(150, Read(0));
  EXPECT_EQ(150, Read(1));
}

TEST_F(GraphTest, UnsafeCallsBreakAGlobalCapture) {
  CUdeviceptr pointer;
  CUgraph graph;
  ASSERT_OK(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_OK(cuMemAlloc(&pointer, 16));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize(stream_));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, LaunchAddOne(add_one_, data_, 1, stream_));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream_, &graph));
  EXPECT_EQ(nullptr, graph);
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(stream_, &graph));

  ASSERT_OK(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL));
  std::thread([&] {
    EXPECT_OK(cuCtxSetCurrent(context_));
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    EXPECT_OK(cuThreadExchangeStreamCaptureMode(&mode));
    EXPECT_EQ(CU_STREAM_CAPTURE_MODE_GLOBAL, mode);
    CUdeviceptr mine;
    EXPECT_OK(cuMemAlloc(&mine, 16));
    CUgraph other;
    EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, cuStreamEndCapture(stream_, &other));
  }).join();
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemAlloc(&pointer, 16));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream_, &graph));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
            cuStreamBeginCapture(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL));
}

TEST_F(GraphTest, AQueryInAnotherThreadBreaksAGlobalCapture) {
  CUevent event;
  ASSERT_OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  ASSERT_OK(cuEventRecord(event, side_));
  for (const bool relaxed : {true, false}) {
    ASSERT_OK(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL));
    std::thread([&] {
      EXPECT_OK(cuCtxSetCurrent(context_));
      CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
      if (relaxed) {
        EXPECT_OK(cuThreadExchangeStreamCaptureMode(&mode));
      }
      const CUresult result = cuEventQuery(event);
      EXPECT_EQ(!relaxed, result == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }).join();
    CUgraph graph;
    EXPECT_EQ(relaxed ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
              cuStreamEndCapture(stream_, &graph));
  }
}

TEST_F(GraphTest, DefaultStreamIsRefusedWhileABlockingStreamCaptures) {
  CUstream blocking;
  ASSERT_OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
  ASSERT_OK(cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, LaunchAddOne(add_one_, data_, 1, nullptr));
  CUgraph graph;
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(blocking, &graph));
  EXPECT_OK(LaunchAddOne(add_one_, data_, 1, nullptr));
  EXPECT_EQ(1, Read());
}

TEST_F(GraphTest, NodesKeepTheSmsOfTheCapture) {
  CUdevResource all;
  ASSERT_OK(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
  CUdevResource group;
  unsigned int count = 1;
  ASSERT_OK(cuDevSmResourceSplitByCount(&group, &count, &all, nullptr, 0, 4));
  CUdevResourceDesc desc;
  ASSERT_OK(cuDevResourceGenerateDesc(&desc, &group, 1));
  CUgreenCtx green;
  ASSERT_OK(cuGreenCtxCreate(&green, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM));
  CUstream narrow;
  ASSERT_OK(cuGreenCtxStreamCreate(&narrow, green, CU_STREAM_NON_BLOCKING, 0));
  long long zero = 0;
  void* params[] = {&zero};
  CUevent start;
  CUevent end;
  ASSERT_OK(cuEventCreate(&start, 0));
  ASSERT_OK(cuEventCreate(&end, 0));
  float ms[2];
  CUstream from[] = {stream_, narrow};
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(cuStreamBeginCapture(from[i], CU_STREAM_CAPTURE_MODE_RELAXED));
    ASSERT_OK(
        cuLaunchKernel(Function("no_body"), 4000, 1, 1, 256, 1, 1, 0, from[i], params, nullptr));
    CUgraph graph;
    ASSERT_OK(cuStreamEndCapture(from[i], &graph));
    CUgraphExec exec = Instantiate(graph);
    ASSERT_OK(cuEventRecord(start, stream_));
    ASSERT_OK(cuGraphLaunch(exec, stream_));  // order only
    ASSERT_OK(cuEventRecord(end, stream_));
    ASSERT_OK(cuEventSynchronize(end));
    ASSERT_OK(cuEventElapsedTime(&ms[i], start, end));
  }
  EXPECT_GT(ms[1], 4 * ms[0]);  // device time
}

}  // namespace
}  // namespace sgprs::simgpu::testing
