// SPDX-License-Identifier: Apache-2.0
// Captures while other streams are busy, and what is refused during one.
#include <atomic>
#include <thread>

#include "tests/e2e/faults/probe.h"

namespace probe {
namespace {

// Launches on a stream of its own until told to stop; then checks its sum.
class Busy {
 public:
  explicit Busy(const Device& device) : device_(device), buffer_(Buffer(0)) {
    thread_ = std::thread([this] { Run(); });
    while (count_.load() < 8) std::this_thread::yield();
  }
  void Stop() {
    stop_.store(true);
    thread_.join();
    EXPECT(Value(buffer_) == count_.load());
  }

 private:
  void Run() {
    CHECK_CU(cuCtxSetCurrent(device_.context));
    CUstream stream;
    CHECK_CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    const CUdeviceptr zero = Buffer(0);
    ready_.store(true);
    while (!stop_.load() && count_.load() < 20000) {
      CHECK_CU(Step(device_, stream, buffer_, zero, 1, 1, 20));
      count_.fetch_add(1);
      if (count_.load() % 64 == 0) CHECK_CU(cuStreamSynchronize(stream));
    }
    CHECK_CU(cuStreamSynchronize(stream));
  }
  const Device& device_;
  CUdeviceptr buffer_;
  std::atomic<uint32_t> count_{0};
  std::atomic<bool> stop_{false};
  std::atomic<bool> ready_{false};
  std::thread thread_;
};

// A chain on `stream` with a fork to `side` and back: buffer = ((buffer + 1) * 3 + other), other
// += 5.
void CaptureFork(const Device& d, CUstream stream, CUstream side, CUdeviceptr buffer,
                 CUdeviceptr other, CUstreamCaptureMode mode, CUgraph* graph) {
  CUevent fork, join;
  CHECK_CU(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
  CHECK_CU(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
  // Used outside before: its held record must not come after the one in the capture.
  CHECK_CU(cuEventRecord(fork, side));
  CHECK_CU(cuStreamBeginCapture(stream, mode));
  CHECK_CU(cuEventRecord(fork, stream));
  CHECK_CU(cuStreamWaitEvent(side, fork, 0));
  CUstreamCaptureStatus status;
  CHECK_CU(cuStreamIsCapturing(side, &status));
  EXPECT(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
  CHECK_CU(Step(d, side, other, other, 0, 5));
  CHECK_CU(Step(d, stream, buffer, buffer, 0, 1));
  CHECK_CU(cuEventRecord(join, side));
  CHECK_CU(cuStreamWaitEvent(stream, join, 0));
  CHECK_CU(Step(d, stream, buffer, other, 3, 0));
  CHECK_CU(cuStreamEndCapture(stream, graph));
  CHECK_CU(cuEventDestroy(fork));
  CHECK_CU(cuEventDestroy(join));
}

void Capture(const Arguments& arguments) {
  const auto mode = static_cast<CUstreamCaptureMode>(Number(arguments, 0, 0));
  const Device d = Open();
  const CUdeviceptr buffer = Buffer(0);
  const CUdeviceptr other = Buffer(0);
  CUstream stream, side;
  CHECK_CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK_CU(cuStreamCreate(&side, CU_STREAM_NON_BLOCKING));
  uint32_t x = 0, y = 0;
  Busy busy(d);
  for (int round = 0; round < Number(arguments, 1, 20); ++round) {
    // Held work of the capturing stream itself.
    CHECK_CU(Step(d, stream, buffer, buffer, 0, 0, 50));
    CUgraph graph;
    CaptureFork(d, stream, side, buffer, other, mode, &graph);
    CUgraphExec exec;
    CHECK_CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK_CU(cuGraphDestroy(graph));
    for (int launch = 0; launch < 3; ++launch) {
      CHECK_CU(cuGraphLaunch(exec, launch == 1 ? side : stream));
      // Another stream than that of the launch before: not ordered by it.
      CHECK_CU(cuStreamSynchronize(launch == 1 ? side : stream));
      y += 5;
      x = (x + 1) * 3 + y;
    }
    CHECK_CU(cuGraphExecDestroy(exec));
  }
  busy.Stop();
  EXPECT(Value(other) == y);
  EXPECT(Value(buffer) == x);
}

// What a capture refuses is refused at once, with the driver's own error.
void Refused(const Arguments&) {
  const Device d = Open();
  const CUdeviceptr buffer = Buffer(0);
  CUstream stream, blocking;
  CUgraph graph;
  CUevent event;
  CHECK_CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK_CU(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
  CHECK_CU(cuEventCreate(&event, 0));
  CHECK_CU(Step(d, stream, buffer, buffer, 0, 1));
  EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
            cuStreamBeginCapture(nullptr, CU_STREAM_CAPTURE_MODE_RELAXED));
  // Of another stream, outside: isolation.
  CHECK_CU(cuEventRecord(event, blocking));
  CHECK_CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, cuStreamWaitEvent(stream, event, 0));
  EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, Step(d, stream, buffer, buffer, 0, 1));
  EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
  // The NULL stream while a blocking stream captures.
  CHECK_CU(cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, Step(d, nullptr, buffer, buffer, 0, 1));
  EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(blocking, &graph));
  // Not joined, a second begin, synchronisation.
  CHECK_CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  EXPECT_CU(CUDA_ERROR_ILLEGAL_STATE,
            cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  CHECK_CU(cuEventRecord(event, stream));
  CHECK_CU(cuStreamWaitEvent(blocking, event, 0));
  CHECK_CU(Step(d, blocking, buffer, buffer, 0, 1));
  EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(stream, &graph));
  CHECK_CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize(stream));
  EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
  CHECK_CU(Step(d, blocking, buffer, buffer, 0, 1));
  CHECK_CU(Step(d, nullptr, buffer, buffer, 0, 1));
  CHECK_CU(cuCtxSynchronize());
  EXPECT(Value(buffer) == 3);
}

const Scenarios kScenarios = {{"capture", Capture}, {"capture-refused", Refused}};

}  // namespace
}  // namespace probe
