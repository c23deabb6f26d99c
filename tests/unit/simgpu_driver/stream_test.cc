// SPDX-License-Identifier: Apache-2.0
// Order: default streams, events between streams, host functions, checks of every launch.
#include <atomic>
#include <thread>
#include <vector>

#include "tests/unit/simgpu_driver/device_process.h"

namespace sgprs::simgpu::testing {
namespace {

using StreamTest = DriverTest;

// Keeps the stream busy for some ms of device time.
void LaunchHeavy(CUfunction function, CUstream stream, int times = 4) {
  long long zero = 0;
  void* params[] = {&zero};
  for (int i = 0; i < times; ++i) {
    ASSERT_OK(cuLaunchKernel(function, 1000, 1, 1, 256, 1, 1, 0, stream, params, nullptr));
  }
}

CUstream MakeStream(unsigned int flags) {
  CUstream stream = nullptr;
  EXPECT_OK(cuStreamCreate(&stream, flags));
  return stream;
}

int ReadPinned(const int* value) { return *const_cast<const volatile int*>(value); }

TEST_F(StreamTest, DefaultStreamWaitsForBlockingStreams) {
  const CUdeviceptr data = Allocate(4);
  int* pinned;
  ASSERT_OK(cuMemAllocHost(reinterpret_cast<void**>(&pinned), 4));
  ASSERT_OK(cuMemsetD32(data, 0, 1));
  CUstream blocking = MakeStream(CU_STREAM_DEFAULT);
  LaunchHeavy(Function("no_body"), blocking);
  ASSERT_OK(LaunchAddOne(Function("add_one"), data, 1, blocking));
  ASSERT_OK(cuMemcpyDtoHAsync(pinned, data, 4, nullptr));
  ASSERT_OK(cuStreamSynchronize(nullptr));
  EXPECT_EQ(1, ReadPinned(pinned));
  // And the other way round.
  LaunchHeavy(Function("no_body"), nullptr);
  ASSERT_OK(LaunchAddOne(Function("add_one"), data, 1, nullptr));
  ASSERT_OK(cuMemcpyDtoHAsync(pinned, data, 4, blocking));
  ASSERT_OK(cuStreamSynchronize(blocking));
  EXPECT_EQ(2, ReadPinned(pinned));
}

TEST_F(StreamTest, NonBlockingStreamDoesNotWaitForDefaultStream) {
  CUstream free_stream = MakeStream(CU_STREAM_NON_BLOCKING);
  Gate gate;
  gate.Close(nullptr);
  LaunchHeavy(Function("no_body"), nullptr);
  const CUdeviceptr data = Allocate(4);
  ASSERT_OK(cuMemsetD32Async(data, 1, 1, free_stream));
  ASSERT_OK(cuStreamSynchronize(free_stream));
  EXPECT_EQ(CUDA_ERROR_NOT_READY, cuStreamQuery(nullptr));
  gate.Open();
  ASSERT_OK(cuCtxSynchronize());
  EXPECT_OK(cuStreamQuery(nullptr));
}

TEST_F(StreamTest, WaitEventOrdersStreams) {
  CUstream first = MakeStream(CU_STREAM_NON_BLOCKING);
  CUstream second = MakeStream(CU_STREAM_NON_BLOCKING);
  const CUdeviceptr data = Allocate(4);
  ASSERT_OK(cuMemsetD32(data, 0, 1));
  ASSERT_OK(cuCtxSynchronize());
  CUevent event;
  ASSERT_OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  for (int i = 0; i < 200; ++i) {
    LaunchHeavy(Function("no_body"), first, i % 10 == 0 ? 1 : 0);
    ASSERT_OK(LaunchAddOne(Function("add_one"), data, 1, first));
    ASSERT_OK(cuEventRecord(event, first));
    ASSERT_OK(cuStreamWaitEvent(second, event, 0));
    ASSERT_OK(LaunchAddOne(Function("add_one"), data, 1, second));
    ASSERT_OK(cuEventRecord(event, second));
    ASSERT_OK(cuStreamWaitEvent(first, event, 0));
  }
  int value = 0;
  ASSERT_OK(cuMemcpyDtoHAsync(&value, data, 4, first));
  EXPECT_EQ(400, value);
}

TEST_F(StreamTest, DestroyedStreamFinishesItsWork) {
  CUstream stream = MakeStream(CU_STREAM_DEFAULT);
  const CUdeviceptr data = Allocate(4);
  ASSERT_OK(cuMemsetD32(data, 0, 1));
  LaunchHeavy(Function("no_body"), stream);
  ASSERT_OK(LaunchAddOne(Function("add_one"), data, 1, stream));
  ASSERT_OK(cuStreamDestroy(stream));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy(stream));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, LaunchAddOne(Function("add_one"), data, 1, stream));
  ASSERT_OK(cuCtxSynchronize());
  int value = 0;
  ASSERT_OK(cuMemcpyDtoH(&value, data, 4));
  EXPECT_EQ(1, value);
}

struct HostLog {
  std::atomic<int> calls{0};
  std::atomic<int> seen{-1};
  std::atomic<int> inner{-1};
  int* pinned = nullptr;
};

void CUDA_CB LogCall(void* data) {
  auto* log = static_cast<HostLog*>(data);
  log->seen = log->pinned != nullptr ? *log->pinned : 0;
  log->inner = cuCtxSynchronize();
  ++log->calls;
}

TEST_F(StreamTest, HostFunctionsRunInOrderAndMayNotCall) {
  HostLog log;
  ASSERT_OK(cuMemAllocHost(reinterpret_cast<void**>(&log.pinned), 4));
  CUstream stream = MakeStream(CU_STREAM_NON_BLOCKING);
  const CUdeviceptr data = Allocate(4);
  ASSERT_OK(cuMemsetD32Async(data, 5, 1, stream));
  ASSERT_OK(cuMemcpyDtoHAsync(log.pinned, data, 4, stream));
  ASSERT_OK(cuLaunchHostFunc(stream, LogCall, &log));
  ASSERT_OK(LaunchAddOne(Function("add_one"), data, 1, stream));
  ASSERT_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(1, log.calls.load());
  EXPECT_EQ(5, log.seen.load());
  EXPECT_EQ(CUDA_ERROR_NOT_PERMITTED, log.inner.load());
  ASSERT_OK(cuStreamAddCallback(
      stream,
      [](CUstream, CUresult status, void* data) {
        static_cast<HostLog*>(data)->seen = 100 + status;
      },
      &log, 0));
  ASSERT_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(100, log.seen.load());
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuLaunchHostFunc(stream, nullptr, nullptr));
}

TEST_F(StreamTest, FullQueueWaitsAndGoesOn) {
  constexpr int kStreams = 20;
  constexpr int kEach = 1000;  // 20000 commands: more than a process can have in flight
  const CUdeviceptr data = Allocate(kStreams * 4);
  ASSERT_OK(cuMemsetD32(data, 0, kStreams));
  Gate gate;
  CUstream streams[kStreams];
  for (CUstream& stream : streams) {
    stream = MakeStream(CU_STREAM_NON_BLOCKING);
    gate.Close(stream);
  }
  std::atomic<int> launched{0};
  std::thread launcher([&] {
    EXPECT_OK(cuCtxSetCurrent(context_));
    for (int i = 0; i < kStreams * kEach; ++i, ++launched) {
      const auto index = static_cast<size_t>(i % kStreams);
      EXPECT_OK(LaunchAddOne(Function("add_one"), data + 4 * index, 1, streams[index]));
    }
  });
  while (launched < 16000) std::this_thread::yield();
  gate.Open();
  launcher.join();
  ASSERT_OK(cuCtxSynchronize());
  int values[kStreams];
  ASSERT_OK(cuMemcpyDtoH(values, data, sizeof(values)));
  for (int value : values) EXPECT_EQ(kEach, value);
}

TEST_F(StreamTest, PerThreadStreamsAreSeparate) {
  unsigned long long id = 0;
  unsigned long long other_id = 0;
  ASSERT_OK(cuStreamGetId(CU_STREAM_PER_THREAD, &id));
  std::thread([&] {
    EXPECT_OK(cuCtxSetCurrent(context_));
    EXPECT_OK(cuStreamGetId(CU_STREAM_PER_THREAD, &other_id));
  }).join();
  EXPECT_NE(id, other_id);
  unsigned long long legacy_id = 0;
  ASSERT_OK(cuStreamGetId(CU_STREAM_LEGACY, &legacy_id));
  EXPECT_NE(id, legacy_id);
  // The _ptsz entry takes NULL for the per-thread stream.
  void* entry = nullptr;
  ASSERT_OK(cuGetProcAddress("cuStreamGetId", &entry, 12000,
                             CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, nullptr));
  unsigned long long through_entry = 0;
  ASSERT_OK(reinterpret_cast<CUresult (*)(CUstream, unsigned long long*)>(entry)(nullptr,
                                                                                 &through_entry));
  EXPECT_EQ(id, through_entry);
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy(CU_STREAM_PER_THREAD));
}

TEST_F(StreamTest, BadLaunchesFailAtOnce) {
  CUfunction function = Function("no_body");
  long long zero = 0;
  void* params[] = {&zero};
  const auto launch = [&](CUfunction f, unsigned gx, unsigned gy, unsigned bx, unsigned by,
                          unsigned shared, CUstream stream) {
    return cuLaunchKernel(f, gx, gy, 1, bx, by, 1, shared, stream, params, nullptr);
  };
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, launch(function, 0, 1, 32, 1, 0, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, launch(function, 1, 70000, 32, 1, 0, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, launch(function, 1, 1, 1025, 1, 0, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, launch(function, 1, 1, 64, 32, 0, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, launch(function, 1, 1, 32, 1, 49 << 10, nullptr));
  ASSERT_OK(
      cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 64 << 10));
  EXPECT_OK(launch(function, 1, 1, 32, 1, 49 << 10, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, launch(nullptr, 1, 1, 32, 1, 0, nullptr));
  int here = 0;
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE,
            launch(reinterpret_cast<CUfunction>(&here), 1, 1, 32, 1, 0, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE,
            launch(function, 1, 1, 32, 1, 0, reinterpret_cast<CUstream>(0x1234560)));
  EXPECT_EQ(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
            cuLaunchCooperativeKernel(function, 68 * 2 + 1, 1, 1, 1024, 1, 1, 0, nullptr, params));
  EXPECT_OK(cuLaunchCooperativeKernel(function, 68, 1, 1, 1024, 1, 1, 0, nullptr, params));
  EXPECT_OK(cuCtxSynchronize());
}

TEST_F(StreamTest, MemoryIsChecked) {
  const CUdeviceptr data = Allocate(100);
  char host[200] = {};
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(data, host, 101));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(data + 50, host, 51));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(0, host, 1));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(data, nullptr, 1));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuMemcpyHtoD(reinterpret_cast<CUdeviceptr>(host), host + 100, 1));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemsetD32(data + 2, 0, 1));
  EXPECT_OK(cuMemcpyHtoD(data, host, 100));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFree(data + 1));
  EXPECT_OK(cuMemFree(data));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFree(data));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(data, host, 1));
  size_t free_bytes = 0;
  size_t total = 0;
  ASSERT_OK(cuMemGetInfo(&free_bytes, &total));
  CUdeviceptr much;
  EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&much, total + 1));
  ASSERT_OK(cuMemAlloc(&much, 1 << 20));
  size_t less = 0;
  ASSERT_OK(cuMemGetInfo(&less, &total));
  EXPECT_EQ(free_bytes - (1 << 20), less);
}

TEST_F(StreamTest, PoolMemoryIsFreedInStreamOrder) {
  CUmemoryPool pool;
  ASSERT_OK(cuDeviceGetDefaultMemPool(&pool, 0));
  CUstream stream = MakeStream(CU_STREAM_NON_BLOCKING);
  CUdeviceptr data;
  ASSERT_OK(cuMemAllocAsync(&data, 4096, stream));
  cuuint64_t used = 0;
  ASSERT_OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
  EXPECT_EQ(4096u, used);
  ASSERT_OK(cuMemsetD8Async(data, 0, 4096, stream));
  ASSERT_OK(cuMemFreeAsync(data, stream));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(data, stream));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemsetD8Async(data, 0, 1, stream));
  ASSERT_OK(cuStreamSynchronize(stream));
  ASSERT_OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
  EXPECT_EQ(0u, used);
}

TEST_F(StreamTest, PointerAttributesTellMemoryApart) {
  const CUdeviceptr device = Allocate(64);
  void* pinned;
  ASSERT_OK(cuMemAllocHost(&pinned, 64));
  unsigned int type = 0;
  ASSERT_OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device + 63));
  EXPECT_EQ(CU_MEMORYTYPE_DEVICE, static_cast<int>(type));
  ASSERT_OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                  reinterpret_cast<CUdeviceptr>(pinned)));
  EXPECT_EQ(CU_MEMORYTYPE_HOST, static_cast<int>(type));
  int local = 0;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                                            reinterpret_cast<CUdeviceptr>(&local)));
  CUcontext owner;
  ASSERT_OK(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, device));
  EXPECT_EQ(context_, owner);
}

TEST_F(StreamTest, TwoDimensionalCopies) {
  CUdeviceptr data;
  size_t pitch;
  ASSERT_OK(cuMemAllocPitch(&data, &pitch, 10, 3, 4));
  EXPECT_EQ(512u, pitch);
  char source[30];
  for (int i = 0; i < 30; ++i) source[i] = static_cast<char>(i);
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = source;
  copy.srcPitch = 10;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = data;
  copy.dstPitch = pitch;
  copy.WidthInBytes = 10;
  copy.Height = 3;
  ASSERT_OK(cuMemcpy2D(&copy));
  char row[10];
  ASSERT_OK(cuMemcpyDtoH(row, data + 2 * pitch, 10));
  EXPECT_EQ(20, row[0]);
  EXPECT_EQ(29, row[9]);
  copy.Height = 4;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D(&copy));
}

}  // namespace
}  // namespace sgprs::simgpu::testing
