// SPDX-License-Identifier: Apache-2.0
// Copies that are drained, not recorded: in batches, through arrays, between devices; waits for
// several values at once; semaphores of other drivers.
#include <cstring>

#include "tests/e2e/faults/probe.h"

namespace probe {
namespace {

constexpr size_t kBytes = kWords * sizeof(uint32_t);

CUstream Stream(unsigned flags = CU_STREAM_NON_BLOCKING) {
  CUstream stream;
  CHECK_CU(cuStreamCreate(&stream, flags));
  return stream;
}

// Each batch follows the kernels before it and is followed by those after it.
void Batches(const Arguments&) {
  const Device d = Open();
  const CUdeviceptr a = Buffer(0), b = Buffer(0), c = Buffer(0);
  const CUstream stream = Stream();
  uint32_t* host = nullptr;
  CHECK_CU(cuMemHostAlloc(reinterpret_cast<void**>(&host), kBytes, 0));
  CUmemcpyAttributes attributes = {};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  size_t first = 0;
  for (uint32_t i = 1; i <= 30; ++i) {
    CHECK_CU(Step(d, stream, a, a, 0, 1, 30));  // a = i
    CUdeviceptr to[] = {b, c, reinterpret_cast<CUdeviceptr>(host)};
    CUdeviceptr from[] = {a, a, a};
    size_t sizes[] = {kBytes, kBytes, kBytes};
    CHECK_CU(cuMemcpyBatchAsync(to, from, sizes, 3, &attributes, &first, 1, stream));
    std::memset(to, 0xff, sizeof(to));  // the lists are the caller's again
    std::memset(sizes, 0xff, sizeof(sizes));
    CHECK_CU(Step(d, stream, b, c, 1, 0, 5));  // b = 2 * i
    CHECK_CU(cuStreamSynchronize(stream));
    EXPECT(host[kWords - 1] == i);
    EXPECT(Value(b) == 2 * i);
  }
}

// Through a two-dimensional array and back, among kernels.
void Arrays(const Arguments&) {
  const Device d = Open();
  const CUdeviceptr a = Buffer(0), b = Buffer(0);
  const CUstream stream = Stream();
  CUarray array;
  CUDA_ARRAY_DESCRIPTOR shape = {8, 8, CU_AD_FORMAT_UNSIGNED_INT32, 1};
  CHECK_CU(cuArrayCreate(&array, &shape));
  for (uint32_t i = 1; i <= 20; ++i) {
    CHECK_CU(Step(d, stream, a, a, 0, 1, 30));
    CUDA_MEMCPY2D copy = {};
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE, copy.srcDevice = a, copy.srcPitch = 32;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY, copy.dstArray = array;
    copy.WidthInBytes = 32, copy.Height = 8;
    CHECK_CU(cuMemcpy2DAsync(&copy, stream));
    CUDA_MEMCPY2D back = {};
    back.srcMemoryType = CU_MEMORYTYPE_ARRAY, back.srcArray = array;
    back.dstMemoryType = CU_MEMORYTYPE_DEVICE, back.dstDevice = b, back.dstPitch = 32;
    back.WidthInBytes = 32, back.Height = 8;
    CHECK_CU(cuMemcpy2DAsync(&back, stream));
    CHECK_CU(Step(d, stream, b, a, 1, 0, 5));  // 2 * i
    CHECK_CU(cuStreamSynchronize(stream));
    EXPECT(Value(b) == 2 * i);
  }
  CHECK_CU(cuArrayDestroy(array));
}

// From the scheduled context's memory to another device's and back.
void Peers(const Arguments&) {
  const Device one = Open();
  const CUdeviceptr a = Buffer(0), b = Buffer(0);
  const CUstream stream = Stream();
  const Device other = Open(1);
  const CUdeviceptr there = Buffer(0);
  CHECK_CU(cuCtxSetCurrent(one.context));
  for (uint32_t i = 1; i <= 20; ++i) {
    CHECK_CU(Step(one, stream, a, a, 0, 1, 30));
    CHECK_CU(cuMemcpyPeerAsync(there, other.context, a, one.context, kBytes, stream));
    CHECK_CU(cuMemcpyPeerAsync(b, one.context, there, other.context, kBytes, stream));
    CHECK_CU(Step(one, stream, b, a, 1, 0, 5));
    CHECK_CU(cuStreamSynchronize(stream));
    EXPECT(Value(b) == 2 * i);
  }
}

// Two waits and a write in one call.
void ValueBatches(const Arguments&) {
  const Device d = Open();
  const CUdeviceptr buffer = Buffer(0);
  const CUstream streams[3] = {Stream(), Stream(), Stream()};
  CUdeviceptr flags = 0;
  CHECK_CU(cuMemAlloc(&flags, 16));
  CHECK_CU(cuMemsetD32(flags, 0, 4));
  const auto wait = [&](int flag, uint32_t value) {
    CUstreamBatchMemOpParams op = {};
    op.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    op.waitValue.address = flags + 4 * static_cast<CUdeviceptr>(flag);
    op.waitValue.value = value;
    op.waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
    return op;
  };
  const auto write = [&](int flag, uint32_t value) {
    CUstreamBatchMemOpParams op = {};
    op.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    op.writeValue.address = flags + 4 * static_cast<CUdeviceptr>(flag);
    op.writeValue.value = value;
    return op;
  };
  uint32_t expected = 0;
  for (uint32_t i = 1; i <= 20; ++i) {
    // The waits first: they point forward in the order of the calls.
    CUstreamBatchMemOpParams both[] = {wait(0, i), wait(1, i), write(2, i)};
    CHECK_CU(cuStreamBatchMemOp(streams[2], 3, both, 0));
    CHECK_CU(Step(d, streams[2], buffer, buffer, 1, 0, 5));   // doubled, after ...
    CHECK_CU(Step(d, streams[0], buffer, buffer, 0, 1, 20));  // ... one was added ...
    CHECK_CU(cuStreamWriteValue32(streams[0], flags, i, 0));
    CHECK_CU(cuStreamWaitValue32(streams[1], flags, i, CU_STREAM_WAIT_VALUE_GEQ));
    CHECK_CU(Step(d, streams[1], buffer, buffer, 0, 3, 20));  // ... and then three
    CHECK_CU(cuStreamWriteValue32(streams[1], flags + 4, i, 0));
    CHECK_CU(cuStreamSynchronize(streams[2]));
    expected = (expected + 4) * 2;
  }
  CHECK_CU(cuCtxSynchronize());
  EXPECT(Value(buffer) == expected);
  EXPECT(Value(buffer) != 0);
}

// The stand-in has no semaphores of other drivers; what it answers, and the order around it, stay.
void Semaphores(const Arguments&) {
  const Device d = Open();
  const CUdeviceptr buffer = Buffer(0);
  const CUstream stream = Stream();
  CUexternalSemaphore none = nullptr;
  CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC description = {};
  description.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD;
  description.handle.fd = -1;
  CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait = {};
  CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal = {};
  for (uint32_t i = 1; i <= 10; ++i) {
    CHECK_CU(Step(d, stream, buffer, buffer, 0, 1, 30));
    EXPECT(cuImportExternalSemaphore(&none, &description) != CUDA_SUCCESS);
    EXPECT(cuWaitExternalSemaphoresAsync(&none, &wait, 1, stream) != CUDA_SUCCESS);
    EXPECT(cuSignalExternalSemaphoresAsync(&none, &signal, 1, stream) != CUDA_SUCCESS);
    CHECK_CU(Step(d, stream, buffer, buffer, 0, 1, 5));
    CHECK_CU(cuStreamSynchronize(stream));
    EXPECT(Value(buffer) == 2 * i);
  }
}

const Scenarios kScenarios = {{"batches", Batches},
                              {"arrays", Arrays},
                              {"peers", Peers},
                              {"value-batches", ValueBatches},
                              {"semaphores", Semaphores}};

}  // namespace
}  // namespace probe
