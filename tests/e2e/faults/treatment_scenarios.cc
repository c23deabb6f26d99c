// SPDX-License-Identifier: Apache-2.0
// One scenario a treatment of the driver's calls: what is recorded, drained, answered keeps its
// meaning.
#include <atomic>
#include <cstddef>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/e2e/faults/probe.h"
#include "tests/stress/shim_order/kernel.h"

// Entries that a header shows only to programs compiled so.
extern "C" {
decltype(cuLaunchKernel) cuLaunchKernel_ptsz;
decltype(cuEventRecord) cuEventRecord_ptsz;
decltype(cuStreamWaitEvent) cuStreamWaitEvent_ptsz;
decltype(cuStreamSynchronize) cuStreamSynchronize_ptsz;
decltype(cuStreamQuery) cuStreamQuery_ptsz;
decltype(cuMemsetD32Async) cuMemsetD32Async_ptsz;
decltype(cuMemcpyDtoHAsync) cuMemcpyDtoHAsync_v2_ptsz;
decltype(cuMemcpyHtoD) cuMemcpyHtoD_v2_ptds;
}

namespace probe {
namespace {

CUstream Stream(unsigned flags = CU_STREAM_NON_BLOCKING) {
  CUstream stream;
  CHECK_CU(cuStreamCreate(&stream, flags));
  return stream;
}

struct Told {
  std::atomic<int> count{0};
  CUstream stream = nullptr;
  bool right = true;
};
void CUDA_CB Tell(CUstream stream, CUresult status, void* data) {
  auto* told = static_cast<Told*>(data);
  told->right = told->right && stream == told->stream && status == CUDA_SUCCESS;
  told->count.fetch_add(1);
}

// A callback is told the application's own stream, in order.
void Callbacks(const Arguments&) {
  const Device d = Open();
  const CUdeviceptr buffer = Buffer(0);
  Told told;
  told.stream = Stream();
  for (int i = 0; i < 30; ++i) {
    CHECK_CU(Step(d, told.stream, buffer, buffer, 0, 1, 10));
    CHECK_CU(cuStreamAddCallback(told.stream, Tell, &told, 0));
    if (i % 10 == 9) {
      CHECK_CU(cuStreamSynchronize(told.stream));
      EXPECT(told.count.load() == i + 1);
    }
  }
  EXPECT(told.right);
  EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cuStreamAddCallback(told.stream, nullptr, &told, 0));
}

// Pitched copies and fills, between pinned memory, device memory and pageable memory.
void Shaped(const Arguments&) {
  const Device d = Open();
  const CUstream stream = Stream();
  constexpr size_t kPitch = 32, kRows = 8;  // the 64 words of a buffer as 8 rows of 8
  const CUdeviceptr a = Buffer(1);
  const CUdeviceptr b = Buffer(0);
  void* pinned = nullptr;
  CHECK_CU(cuMemHostAlloc(&pinned, kPitch * kRows, 0));
  unsigned char pageable[kPitch * kRows] = {};
  for (uint32_t i = 0; i < 20; ++i) {
    CHECK_CU(cuMemsetD2D32Async(a, kPitch, i, kPitch / 4, kRows, stream));
    CHECK_CU(Step(d, stream, a, a, 0, 1, 5));  // i + 1
    CUDA_MEMCPY2D copy = {};
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE, copy.srcDevice = a, copy.srcPitch = kPitch;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE, copy.dstDevice = b, copy.dstPitch = kPitch;
    copy.WidthInBytes = kPitch, copy.Height = kRows;
    CHECK_CU(cuMemcpy2DAsync(&copy, stream));
    std::memset(&copy, 0xff, sizeof(copy));  // the description is the caller's again
    CHECK_CU(Step(d, stream, b, b, 0, 1, 5));
    CUDA_MEMCPY3D out = {};
    out.srcMemoryType = CU_MEMORYTYPE_DEVICE, out.srcDevice = b, out.srcPitch = kPitch;
    out.srcHeight = kRows;
    out.dstMemoryType = CU_MEMORYTYPE_HOST, out.dstPitch = kPitch, out.dstHeight = kRows;
    out.dstHost = i % 3 == 0 ? static_cast<void*>(pageable) : pinned;
    out.WidthInBytes = kPitch, out.Height = kRows, out.Depth = 1;
    const void* at = out.dstHost;
    CHECK_CU(cuMemcpy3DAsync(&out, stream));
    CHECK_CU(cuStreamSynchronize(stream));
    EXPECT(static_cast<const uint32_t*>(at)[kWords - 1] == i + 2);
  }
  CHECK_CU(cuMemsetD2D8Async(a, kPitch, 1, kPitch, kRows, stream));
  CHECK_CU(cuMemsetD2D16Async(b, kPitch, 3, kPitch / 2, kRows, stream));
  CHECK_CU(cuStreamSynchronize(stream));
  EXPECT(Value(a) == 0x01010101u);
  EXPECT(Value(b) == 0x00030003u);
}

// Pools in stream order: allocated, used, freed, over and over, on two streams.
void Pools(const Arguments&) {
  const Device d = Open();
  const CUdeviceptr sum = Buffer(0);
  const CUstream streams[2] = {Stream(), Stream(CU_STREAM_DEFAULT)};
  CUmemoryPool pool;
  CUmemPoolProps props = {};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CHECK_CU(cuMemPoolCreate(&pool, &props));
  for (uint32_t i = 0; i < 60; ++i) {
    const CUstream stream = streams[i % 2];
    CUdeviceptr scratch = 0;
    if (i % 3 == 0) {
      CHECK_CU(cuMemAllocFromPoolAsync(&scratch, kWords * 4, pool, stream));
    } else {
      CHECK_CU(cuMemAllocAsync(&scratch, kWords * 4, stream));
    }
    CHECK_CU(cuMemsetD32Async(scratch, i, kWords, stream));
    CHECK_CU(Step(d, stream, scratch, scratch, 0, 1, 5));
    CHECK_CU(Step(d, stream, sum, scratch, 1, 0, 5));
    CHECK_CU(cuMemFreeAsync(scratch, stream));
    CHECK_CU(cuStreamSynchronize(stream));
  }
  EXPECT(Value(sum) == 60 * 59 / 2 + 60);
  CHECK_CU(cuMemPoolDestroy(pool));
}

// Large arguments, packed arguments, attributes; what the driver refuses it refuses at once.
void Launches(const Arguments&) {
  const Device d = Open();
  const CUdeviceptr buffer = Buffer(0);
  const CUstream stream = Stream();
  shim_order::KernelParams p = {buffer, buffer, kWords, 0, 1, 5};
  void* params[] = {&p.to, &p.from, &p.words, &p.a, &p.b, &p.rounds};
  CUlaunchAttribute attributes[3] = {};
  attributes[0].id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  attributes[0].value.priority = -1;
  attributes[1].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attributes[1].value.programmaticStreamSerializationAllowed = 1;
  attributes[2].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attributes[2].value.clusterDim = {1, 1, 1};
  CUlaunchConfig config = {};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = kWords, config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  config.attrs = attributes;
  config.numAttrs = 2;
  for (int i = 0; i < 20; ++i) CHECK_CU(cuLaunchKernelEx(&config, d.step, params, nullptr));
  size_t bytes = sizeof(p);
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &p, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   CU_LAUNCH_PARAM_END};
  for (int i = 0; i < 20; ++i) {
    CHECK_CU(cuLaunchKernel(d.step, 1, 1, 1, kWords, 1, 1, 0, stream, nullptr, extra));
  }
  // Changed after the call: the launch has its own copy.
  p.b = 1000;
  CHECK_CU(cuStreamSynchronize(stream));
  EXPECT(Value(buffer) == 40);
  EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
            cuLaunchKernel(d.step, 0, 1, 1, kWords, 1, 1, 0, stream, params, nullptr));
  EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
            cuLaunchKernel(d.step, 1, 1, 1, 2048, 1, 1, 0, stream, params, nullptr));
  EXPECT_CU(CUDA_ERROR_INVALID_HANDLE,
            cuLaunchKernel(nullptr, 1, 1, 1, kWords, 1, 1, 0, stream, params, nullptr));
  EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
            cuLaunchKernel(d.step, 1, 1, 1, kWords, 1, 1, 16 << 20, stream, params, nullptr));
  CHECK_CU(cuStreamSynchronize(stream));
  EXPECT(Value(buffer) == 40);
}

// Launches that fill every block of the device together: cooperative ones fit the partition or run
// on the whole device.
void Cooperative(const Arguments&) {
  const Device d = Open();
  const CUdeviceptr buffer = Buffer(0);
  const CUstream stream = Stream();
  shim_order::KernelParams p = {buffer, buffer, kWords, 0, 1, 5};
  void* params[] = {&p.to, &p.from, &p.words, &p.a, &p.b, &p.rounds};
  int sms = 0;
  int each = 0;
  CHECK_CU(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
  CHECK_CU(cuOccupancyMaxActiveBlocksPerMultiprocessor(&each, d.step, kWords, 0));
  const auto all = static_cast<unsigned>(sms * each);
  for (int i = 0; i < 10; ++i) {
    CHECK_CU(cuLaunchCooperativeKernel(d.step, i % 2 == 0 ? all : 4, 1, 1, kWords, 1, 1, 0, stream,
                                       params));
  }
  CHECK_CU(cuStreamSynchronize(stream));
  EXPECT(Value(buffer) == 10);
}

// A kernel that asks for more shared memory than it may until an attribute is set.
void SharedMemory(const Arguments&) {
  const Device d = Open();
  const CUdeviceptr buffer = Buffer(0);
  const CUstream stream = Stream();
  shim_order::KernelParams p = {buffer, buffer, kWords, 0, 1, 5};
  void* params[] = {&p.to, &p.from, &p.words, &p.a, &p.b, &p.rounds};
  constexpr unsigned kMuch = 60 * 1024;
  const auto launch = [&](unsigned shared) {
    return cuLaunchKernel(d.step, 1, 1, 1, kWords, 1, 1, shared, stream, params, nullptr);
  };
  CHECK_CU(launch(40 * 1024));
  EXPECT_CU(CUDA_ERROR_INVALID_VALUE, launch(kMuch));
  CHECK_CU(cuFuncSetAttribute(d.step, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kMuch));
  CHECK_CU(launch(kMuch));
  CHECK_CU(launch(kMuch));
  CHECK_CU(cuFuncSetAttribute(d.step, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024));
  EXPECT_CU(CUDA_ERROR_INVALID_VALUE, launch(kMuch));
  CHECK_CU(cuStreamSynchronize(stream));
  EXPECT(Value(buffer) == 3);
}

// Managed memory: moved, advised, used by both sides.
void Managed(const Arguments&) {
  const Device d = Open();
  const CUstream stream = Stream();
  CUdeviceptr buffer = 0;
  CHECK_CU(cuMemAllocManaged(&buffer, kWords * 4, CU_MEM_ATTACH_GLOBAL));
  auto* words = reinterpret_cast<uint32_t*>(buffer);
  for (uint32_t i = 0; i < kWords; ++i) words[i] = 5;
  const CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  const CUmemLocation host = {CU_MEM_LOCATION_TYPE_HOST, 0};
  for (int i = 0; i < 10; ++i) {
    CHECK_CU(cuMemPrefetchAsync(buffer, kWords * 4, device, 0, stream));
    CHECK_CU(Step(d, stream, buffer, buffer, 0, 1, 5));
    CHECK_CU(cuMemPrefetchAsync(buffer, kWords * 4, host, 0, stream));
    CHECK_CU(cuStreamSynchronize(stream));
    EXPECT(words[kWords - 1] == static_cast<uint32_t>(6 + i));
  }
  CHECK_CU(cuMemFree(buffer));
}

// Host memory that was not the driver's: registered, used by held work, unregistered.
void Registered(const Arguments&) {
  const Device d = Open();
  const CUdeviceptr buffer = Buffer(3);
  const CUstream stream = Stream();
  for (uint32_t i = 0; i < 10; ++i) {
    std::vector<uint32_t> words(kWords, 0);
    CHECK_CU(cuMemHostRegister(words.data(), kWords * 4, 0));
    CHECK_CU(Step(d, stream, buffer, buffer, 0, 1, 50));
    CHECK_CU(cuMemcpyDtoHAsync(words.data(), buffer, kWords * 4, stream));
    // Drains: the held copy goes first; the application waits itself, as it has to.
    CHECK_CU(cuStreamSynchronize(stream));
    CHECK_CU(cuMemHostUnregister(words.data()));
    EXPECT(words[0] == 4 + i);
  }
}

// Values that streams write and wait for, between streams and from the host.
void Values(const Arguments&) {
  const Device d = Open();
  const CUdeviceptr buffer = Buffer(0);
  const CUstream first = Stream();
  const CUstream second = Stream();
  CUdeviceptr flag = 0;
  CHECK_CU(cuMemAlloc(&flag, 16));
  CHECK_CU(cuMemsetD32(flag, 0, 4));
  for (uint32_t i = 1; i <= 20; ++i) {
    CHECK_CU(cuStreamWaitValue32(second, flag, i, CU_STREAM_WAIT_VALUE_GEQ));
    CHECK_CU(Step(d, second, buffer, buffer, 1, 0, 5));  // doubled, after ...
    CHECK_CU(Step(d, first, buffer, buffer, 0, 1, 20));  // ... one was added
    CHECK_CU(cuStreamWriteValue32(first, flag, i, 0));
    CHECK_CU(cuStreamSynchronize(second));
  }
  uint32_t expected = 0;
  for (int i = 0; i < 20; ++i) expected = (expected + 1) * 2;
  CHECK_CU(cuStreamSynchronize(first));
  EXPECT(Value(buffer) == expected);
}

// Attributes set on a stream are told of the stream, and change no result.
void StreamAttributes(const Arguments&) {
  const Device d = Open();
  const CUdeviceptr buffer = Buffer(0);
  const CUstream stream = Stream();
  const CUstream other = Stream();
  for (int i = 0; i < 10; ++i) {
    CHECK_CU(Step(d, stream, buffer, buffer, 0, 1, 5));
    CUstreamAttrValue value = {};
    value.syncPolicy = i % 2 == 0 ? CU_SYNC_POLICY_BLOCKING_SYNC : CU_SYNC_POLICY_SPIN;
    CHECK_CU(cuStreamSetAttribute(stream, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
    CHECK_CU(cuStreamCopyAttributes(other, stream));
    CUstreamAttrValue told = {};
    CHECK_CU(cuStreamGetAttribute(other, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &told));
    EXPECT(told.syncPolicy == value.syncPolicy);
    CHECK_CU(cuStreamSynchronize(stream));
  }
  EXPECT(Value(buffer) == 10);
}

// The most bytes of arguments that a launch can have, in all three ways of giving them, in a graph
// too.
void LargeArguments(const Arguments&) {
  Open();
  const CUdeviceptr buffer = Buffer(0);
  const CUstream stream = Stream();
  CUmodule module;
  CUfunction large;
  CHECK_CU(cuModuleLoadData(&module, shim_order::kLargePtx));
  CHECK_CU(cuModuleGetFunction(&large, module, shim_order::kLargeName));
  static shim_order::LargeParams p;
  static_assert(offsetof(shim_order::LargeParams, last) == 32760);
  p.to = buffer;
  void* params[] = {&p};
  size_t bytes = shim_order::kLargeBytes;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &p, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   CU_LAUNCH_PARAM_END};
  // More than the arena holds: the application waits as on a full queue.
  for (uint32_t i = 1; i <= 1500; ++i) {
    p.first = i, p.last = 1000 * i;
    CHECK_CU(cuLaunchKernel(large, 1, 1, 1, kWords, 1, 1, 0, stream, i % 2 == 0 ? params : nullptr,
                            i % 2 == 0 ? nullptr : extra));
    p.first = p.last = 0;
    if (i % 500 == 0) {
      CHECK_CU(cuStreamSynchronize(stream));
      EXPECT(Value(buffer) == 1001 * i);
    }
  }
  CUgraph graph;
  CUgraphExec exec;
  p.first = 3, p.last = 4;
  CHECK_CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CHECK_CU(cuLaunchKernel(large, 1, 1, 1, kWords, 1, 1, 0, stream, params, nullptr));
  CHECK_CU(cuStreamEndCapture(stream, &graph));
  p.first = p.last = 0;
  CHECK_CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
  for (int i = 0; i < 20; ++i) {
    CHECK_CU(cuMemsetD32Async(buffer, 0, kWords, stream));
    CHECK_CU(cuGraphLaunch(exec, stream));
    CHECK_CU(cuStreamSynchronize(stream));
    EXPECT(Value(buffer) == 7);
  }
}

// The entries of programs that were compiled for per-thread default streams.
void PerThread(const Arguments&) {
  const Device d = Open();
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&d] {
      CHECK_CU(cuCtxSetCurrent(d.context));
      CUdeviceptr buffer = 0, zero = 0;
      CHECK_CU(cuMemAlloc(&buffer, kWords * 4));
      CHECK_CU(cuMemAlloc(&zero, kWords * 4));
      uint32_t words[kWords] = {};
      CUevent event;
      CHECK_CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
      CHECK_CU(cuMemsetD32Async_ptsz(buffer, 0, kWords, nullptr));
      CHECK_CU(cuMemcpyHtoD_v2_ptds(zero, words, sizeof(words)));
      for (uint32_t i = 1; i <= 40; ++i) {
        shim_order::KernelParams p = {buffer, zero, kWords, 1, 1, 20};
        void* params[] = {&p.to, &p.from, &p.words, &p.a, &p.b, &p.rounds};
        CHECK_CU(cuLaunchKernel_ptsz(d.step, 1, 1, 1, kWords, 1, 1, 0, nullptr, params, nullptr));
        CHECK_CU(cuEventRecord_ptsz(event, nullptr));
        CHECK_CU(cuStreamWaitEvent_ptsz(nullptr, event, 0));
        if (i % 8 != 0) continue;
        CHECK_CU(cuMemcpyDtoHAsync_v2_ptsz(words, buffer, sizeof(words), nullptr));
        CHECK_CU(cuStreamSynchronize_ptsz(nullptr));
        EXPECT(words[kWords - 1] == i);
        EXPECT(cuStreamQuery_ptsz(nullptr) == CUDA_SUCCESS);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_CU(cuCtxSynchronize());
}

const Scenarios kScenarios = {{"large-arguments", LargeArguments},
                              {"per-thread", PerThread},
                              {"callbacks", Callbacks},
                              {"shaped", Shaped},
                              {"pools", Pools},
                              {"launches", Launches},
                              {"cooperative", Cooperative},
                              {"shared-memory", SharedMemory},
                              {"managed", Managed},
                              {"registered", Registered},
                              {"values", Values},
                              {"stream-attributes", StreamAttributes}};

}  // namespace
}  // namespace probe
