// SPDX-License-Identifier: Apache-2.0
// Order, answers and errors as the driver gives them without us.
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/e2e/faults/probe.h"

namespace probe {
namespace {

CUstream Stream(unsigned flags = CU_STREAM_NON_BLOCKING) {
  CUstream stream;
  CHECK_CU(cuStreamCreate(&stream, flags));
  return stream;
}
CUevent Event(unsigned flags = CU_EVENT_DISABLE_TIMING) {
  CUevent event;
  CHECK_CU(cuEventCreate(&event, flags));
  return event;
}

// crossed ROUNDS: each round, two streams wait for each other's events, both ways; the same
// events, recorded anew.
void Crossed(const Arguments& arguments) {
  const Device d = Open();
  const CUdeviceptr a = Buffer(0);
  const CUdeviceptr b = Buffer(0);
  const CUstream first = Stream();
  const CUstream second = Stream();
  const CUevent from_first = Event();
  const CUevent from_second = Event();
  const int rounds = Number(arguments, 0, 200);
  uint32_t x = 0, y = 0;
  for (int i = 0; i < rounds; ++i) {
    CHECK_CU(Step(d, first, a, a, 0, 1, 5));
    CHECK_CU(Step(d, second, b, b, 0, 3, 5));
    CHECK_CU(cuEventRecord(from_first, first));
    CHECK_CU(cuEventRecord(from_second, second));
    CHECK_CU(cuStreamWaitEvent(second, from_first, 0));
    CHECK_CU(cuStreamWaitEvent(first, from_second, 0));
    CHECK_CU(Step(d, second, b, a, 1, 0, 5));  // b += a
    CHECK_CU(cuEventRecord(from_second, second));
    CHECK_CU(cuStreamWaitEvent(first, from_second, 0));
    x += 1;
    y += 3 + x;
    if (i % 10 == 9) CHECK_CU(cuStreamSynchronize(i % 20 == 9 ? first : second));
  }
  CHECK_CU(cuCtxSynchronize());
  EXPECT(Value(a) == x);
  EXPECT(Value(b) == y);
}

// What the host may know when: queries, elapsed time, an event recorded again while held.
void Queries(const Arguments&) {
  const Device d = Open();
  const CUdeviceptr buffer = Buffer(0);
  const CUstream stream = Stream();
  const CUevent event = Event(CU_EVENT_DEFAULT);
  const CUevent start = Event(CU_EVENT_DEFAULT);
  float ms = 0;
  CHECK_CU(cuEventQuery(event));  // never recorded
  EXPECT_CU(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, start, event));
  for (int i = 0; i < 20; ++i) {
    CHECK_CU(cuEventRecord(start, stream));
    CHECK_CU(Step(d, stream, buffer, buffer, 0, 1, 2000));
    CHECK_CU(cuEventRecord(event, stream));
    const CUresult at_once = cuEventQuery(event);
    EXPECT(at_once == CUDA_ERROR_NOT_READY || at_once == CUDA_SUCCESS);
    // Recorded again behind more work: the wait is for the latest record.
    CHECK_CU(Step(d, stream, buffer, buffer, 0, 1, 2000));
    CHECK_CU(cuEventRecord(event, stream));
    if (i % 2 == 0) {
      CHECK_CU(cuEventSynchronize(event));
    } else {
      while (cuEventQuery(event) == CUDA_ERROR_NOT_READY) usleep(50);
    }
    // Over for the event is over for the stream, and for what the stream did.
    CHECK_CU(cuEventElapsedTime(&ms, start, event));
    EXPECT(ms > 0);
    uint32_t words[kWords];
    CHECK_CU(cuMemcpyDtoH(words, buffer, sizeof(words)));
    EXPECT(words[0] == static_cast<uint32_t>(2 * (i + 1)));
    CUresult state;
    while ((state = cuStreamQuery(stream)) == CUDA_ERROR_NOT_READY) usleep(50);
    CHECK_CU(state);
  }
}

// The NULL stream and blocking streams follow each other; non-blocking ones do not matter to it.
void NullOrder(const Arguments&) {
  const Device d = Open();
  const CUdeviceptr buffer = Buffer(0);
  const CUstream blocking = Stream(CU_STREAM_DEFAULT);
  const CUstream other = Stream(CU_STREAM_DEFAULT);
  for (int i = 0; i < 50; ++i) {
    CHECK_CU(Step(d, blocking, buffer, buffer, 0, 1, 20));
    CHECK_CU(Step(d, nullptr, buffer, buffer, 1, 0, 20));
    CHECK_CU(Step(d, other, buffer, buffer, 0, 3, 20));
    CHECK_CU(Step(d, CU_STREAM_LEGACY, buffer, buffer, 0, 1, 20));
    CHECK_CU(Step(d, CU_STREAM_PER_THREAD, buffer, buffer, 0, 1, 20));
    CHECK_CU(cuMemsetD32(buffer, static_cast<uint32_t>(i), kWords));
  }
  CHECK_CU(cuCtxSynchronize());
  EXPECT(Value(buffer) == 49);
}

// An event recorded by one thread, waited for by another, whose streams are held.
void Threads(const Arguments&) {
  const Device d = Open();
  const CUdeviceptr buffer = Buffer(0);
  const CUevent event = Event();
  std::atomic<int> turn{0};
  constexpr int kThreads = 4, kTurns = 40;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      CHECK_CU(cuCtxSetCurrent(d.context));
      // Its own per-thread stream, or one of its own.
      const CUstream stream = t % 2 == 0 ? CU_STREAM_PER_THREAD : Stream();
      for (int i = t; i < kTurns; i += kThreads) {
        while (turn.load() != i) std::this_thread::yield();
        if (i > 0) CHECK_CU(cuStreamWaitEvent(stream, event, 0));
        CHECK_CU(Step(d, stream, buffer, buffer, 0, 1, 30));
        CHECK_CU(cuEventRecord(event, stream));
        turn.store(i + 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_CU(cuEventSynchronize(event));
  EXPECT(Value(buffer) == kTurns);
}

// Calls before cuInit, null results, a thread without a context: the driver's own answers, at once.
void Errors(const Arguments&) {
  CUdeviceptr pointer = 0;
  CUstream stream = nullptr;
  void* function = nullptr;
  int version = 0;
  CHECK_CU(cuDriverGetVersion(&version));
  // The first lookup of the CUDA runtime, before cuInit (B2).
  CHECK_CU(cuGetProcAddress("cuLaunchKernel", &function, 12000, 0, nullptr));
  EXPECT(function != nullptr);
  CHECK_CU(cuGetProcAddress("cuInit", &function, 12000, 0, nullptr));
  CUuuid table = {};
  const void* entries = nullptr;
  EXPECT(cuGetExportTable(&entries, &table) != CUDA_SUCCESS);
  EXPECT_CU(CUDA_ERROR_NOT_INITIALIZED, cuMemAlloc(&pointer, 64));
  EXPECT_CU(CUDA_ERROR_NOT_INITIALIZED, cuStreamCreate(&stream, 0));
  EXPECT_CU(CUDA_ERROR_NOT_INITIALIZED, cuCtxSynchronize());
  EXPECT_CU(CUDA_ERROR_NOT_INITIALIZED, cuStreamSynchronize(nullptr));
  EXPECT_CU(CUDA_ERROR_NOT_INITIALIZED, cuEventQuery(nullptr));
  CHECK_CU(cuInit(0));
  EXPECT_CU(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&pointer, 64));
  EXPECT_CU(CUDA_ERROR_INVALID_CONTEXT, cuStreamSynchronize(nullptr));
  EXPECT_CU(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize());
  const Device d = Open();
  const CUdeviceptr buffer = Buffer(0);
  CHECK_CU(Step(d, nullptr, buffer, buffer, 0, 1));
  EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cuStreamCreate(nullptr, 0));
  EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cuEventCreate(nullptr, 0));
  EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cuMemAllocAsync(nullptr, 64, nullptr));
  std::thread([&] {
    EXPECT_CU(CUDA_ERROR_INVALID_CONTEXT, Step(d, nullptr, buffer, buffer, 0, 1));
    EXPECT_CU(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize());
  }).join();
  CHECK_CU(cuStreamCreate(&stream, 0));
  CHECK_CU(cuStreamDestroy(stream));
  EXPECT(Step(d, stream, buffer, buffer, 0, 1) != CUDA_SUCCESS);  // a stream that is gone
  EXPECT(cuStreamSynchronize(stream) != CUDA_SUCCESS);
  EXPECT(cuEventRecord(reinterpret_cast<CUevent>(&pointer), nullptr) != CUDA_SUCCESS);
  CHECK_CU(cuCtxSynchronize());
  EXPECT(Value(buffer) == 1);
}

// After a kernel that faults: what each call answers, in a line.
void Sticky(const Arguments&) {
  const Device d = Open();
  const CUdeviceptr buffer = Buffer(0);
  const CUstream stream = Stream();
  const CUevent event = Event();
  CUdeviceptr more = 0;
  uint32_t words[kWords];
  for (int i = 0; i < 10; ++i) Step(d, stream, buffer, buffer, 0, 1, 5);
  std::printf("%d", cuStreamSynchronize(stream));
  std::printf(" %d", cuStreamSynchronize(stream));
  std::printf(" %d", Step(d, stream, buffer, buffer, 0, 1));
  std::printf(" %d", Step(d, nullptr, buffer, buffer, 0, 1));
  std::printf(" %d", cuEventRecord(event, stream));
  std::printf(" %d", cuMemcpyDtoH(words, buffer, sizeof(words)));
  std::printf(" %d", cuMemcpyDtoHAsync(words, buffer, sizeof(words), stream));
  std::printf(" %d", cuStreamQuery(stream));
  std::printf(" %d", cuMemAlloc(&more, 64));
  std::printf(" %d", cuCtxSynchronize());
  std::printf(" %d\n", cuLaunchHostFunc(
                           stream, [](void*) {}, nullptr));
}

void OnSignal(int) {}

// A process whose every wait is interrupted.
void Signals(const Arguments&) {
  const Device d = Open();
  const CUdeviceptr buffer = Buffer(0);
  struct sigaction action = {};
  action.sa_handler = OnSignal;  // no SA_RESTART
  sigaction(SIGALRM, &action, nullptr);
  const itimerval timer = {{0, 700}, {0, 700}};
  setitimer(ITIMER_REAL, &timer, nullptr);
  const CUstream stream = Stream();
  for (int i = 0; i < 300; ++i) {
    CHECK_CU(Step(d, stream, buffer, buffer, 0, 1, 200));
    if (i % 5 == 0) CHECK_CU(cuStreamSynchronize(stream));
  }
  CHECK_CU(cuCtxSynchronize());
  const itimerval off = {};
  setitimer(ITIMER_REAL, &off, nullptr);
  EXPECT(Value(buffer) == 300);
}

// Two contexts of one device, or (contexts 1) of two devices, used in turns.
void Contexts(const Arguments& arguments) {
  const bool devices = Number(arguments, 0, 0) != 0;
  Device one = Open();
  Device other;
  if (devices) {
    other = Open(1);
  } else {
    CUdevice device;
    CHECK_CU(cuDeviceGet(&device, 0));
    CHECK_CU(cuCtxCreate(&other.context, nullptr, 0, device));
    Load(&other);
  }
  const Device* all[2] = {&one, &other};
  CUdeviceptr buffers[2];
  CUstream streams[2];
  for (int i = 0; i < 2; ++i) {
    CHECK_CU(cuCtxSetCurrent(all[i]->context));
    buffers[i] = Buffer(0);
    streams[i] = Stream();
  }
  const CUevent event = [&] {
    CHECK_CU(cuCtxSetCurrent(one.context));
    return Event();
  }();
  for (int i = 0; i < 60; ++i) {
    const int k = i % 2;
    CHECK_CU(cuCtxSetCurrent(all[k]->context));
    CHECK_CU(Step(*all[k], i % 3 == 0 ? nullptr : streams[k], buffers[k], buffers[k], 0, 1, 10));
    if (k == 0) CHECK_CU(cuEventRecord(event, streams[0]));
    if (k == 1) CHECK_CU(cuStreamWaitEvent(streams[1], event, 0));
    if (i % 3 == 0) CHECK_CU(cuCtxSynchronize());
    CHECK_CU(cuStreamSynchronize(streams[k]));
  }
  for (int i = 0; i < 2; ++i) {
    CHECK_CU(cuCtxSetCurrent(all[i]->context));
    CHECK_CU(cuCtxSynchronize());
    EXPECT(Value(buffers[i]) == 30);
  }
}

// What is held of the NULL stream joins the NULL stream of its own context, whichever is current
// when a call drains.
void NullOfTwoContexts(const Arguments&) {
  const Device d = Open();
  const CUdeviceptr buffer = Buffer(0);
  CUdevice device;
  CUcontext other, popped;
  CUdeviceptr there = 0;
  uint32_t words[kWords] = {};
  CHECK_CU(cuDeviceGet(&device, 0));
  CHECK_CU(cuCtxCreate(&other, nullptr, 0, device));
  CHECK_CU(cuMemAlloc(&there, sizeof(words)));
  CHECK_CU(cuCtxPopCurrent(&popped));
  CHECK_CU(cuCtxSetCurrent(d.context));
  for (uint32_t i = 1; i <= 30; ++i) {
    const CUstream stream = i % 2 == 0 ? nullptr : CU_STREAM_PER_THREAD;
    CHECK_CU(Step(d, stream, buffer, buffer, 0, 1, 1000));  // some ms
    CHECK_CU(cuCtxPushCurrent(other));
    CHECK_CU(cuMemsetD32(there, i, kWords));  // drains, and does not wait
    CHECK_CU(cuCtxPopCurrent(&popped));
    CHECK_CU(cuMemcpyDtoH(words, buffer, sizeof(words)));
    EXPECT(words[0] == i);
  }
}

// shapes JOBS: no two jobs have as many launches, or kernels of the same shape.
void Shapes(const Arguments& arguments) {
  const Device d = Open();
  const CUdeviceptr buffer = Buffer(0);
  const CUstream stream = Stream();
  uint32_t launches = 0;
  for (uint32_t job = 1; job <= static_cast<uint32_t>(Number(arguments, 0, 60)); ++job) {
    for (uint32_t k = 0; k < 1 + job * 7 % 31; ++k) {
      CHECK_CU(Step(d, stream, buffer, buffer, 0, 1, job * k % 40, 1 + (job * 31 + k * 17) % 300));
      ++launches;
    }
    CHECK_CU(cuStreamSynchronize(stream));
    usleep(500);
  }
  EXPECT(Value(buffer) == launches);
}

const Scenarios kScenarios = {{"shapes", Shapes},        {"contexts-null", NullOfTwoContexts},
                              {"crossed", Crossed},      {"queries", Queries},
                              {"null-order", NullOrder}, {"threads", Threads},
                              {"errors", Errors},        {"signals", Signals},
                              {"sticky", Sticky},        {"contexts", Contexts}};

}  // namespace
}  // namespace probe
