// SPDX-License-Identifier: Apache-2.0
// Launches with attributes, of every size and age; waits for words of memory; errors that stay.
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/unit/simgpu_driver/device_process.h"

namespace sgprs::simgpu::testing {
namespace {

class LaunchTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    ASSERT_OK(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    data_ = Allocate(64);
    ASSERT_OK(cuMemsetD32(data_, 0, 16));
    ASSERT_OK(cuCtxSynchronize());
  }
  CUresult LaunchEx(std::vector<CUlaunchAttribute> attributes, unsigned int blocks = 4) {
    CUlaunchConfig config{};
    config.gridDimX = blocks;
    config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = 128;
    config.blockDimY = config.blockDimZ = 1;
    config.hStream = stream_;
    config.attrs = attributes.data();
    config.numAttrs = static_cast<unsigned int>(attributes.size());
    int count = 1;
    void* params[] = {&data_, &count};
    return cuLaunchKernelEx(&config, Function("add_one"), params, nullptr);
  }
  static CUlaunchAttribute Of(CUlaunchAttributeID id) {
    CUlaunchAttribute attribute{};
    attribute.id = id;
    return attribute;
  }
  int Read() {
    int value = -1;
    EXPECT_OK(cuMemcpyDtoH(&value, data_, 4));
    return value;
  }

  CUstream stream_ = nullptr;
  CUdeviceptr data_ = 0;
};

TEST_F(LaunchTest, EventsOfLaunchesAreRecorded) {
  CUevent event;
  CUevent timed;
  ASSERT_OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  ASSERT_OK(cuEventCreate(&timed, 0));
  CUlaunchAttribute done = Of(CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT);
  done.value.launchCompletionEvent.event = timed;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, LaunchEx({done}));
  done.value.launchCompletionEvent.event = event;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, LaunchEx({done, done}));
  Gate gate;
  gate.Close(stream_);
  ASSERT_OK(LaunchEx({done}));
  EXPECT_EQ(CUDA_ERROR_NOT_READY, cuEventQuery(event));
  gate.Open();
  ASSERT_OK(cuEventSynchronize(event));
  EXPECT_EQ(1, Read());
}

TEST_F(LaunchTest, AttributesAreChecked) {
  CUlaunchAttribute priority = Of(CU_LAUNCH_ATTRIBUTE_PRIORITY);
  priority.value.priority = -100;  // clamped
  CUlaunchAttribute serial = Of(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
  serial.value.programmaticStreamSerializationAllowed = 1;
  ASSERT_OK(LaunchEx({priority, serial}));
  CUlaunchAttribute cooperative = Of(CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  cooperative.value.cooperative = 1;
  ASSERT_OK(LaunchEx({cooperative}));
  EXPECT_EQ(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, LaunchEx({cooperative}, 100000));
  CUlaunchAttribute cluster = Of(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  cluster.value.clusterDim = {2, 1, 1};
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED, LaunchEx({cluster}));  // compute 7.5
  CUlaunchAttribute unknown = Of(static_cast<CUlaunchAttributeID>(999));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, LaunchEx({unknown}));
  ASSERT_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(2, Read());
}

TEST_F(LaunchTest, AllTheParametersThatFitArrive) {
  std::vector<unsigned char> bytes(32756, 1);
  bytes.back() = 9;
  void* params[] = {bytes.data(), &data_};
  ASSERT_OK(cuLaunchKernel(Function("big"), 1, 1, 1, 1, 1, 1, 0, stream_, params, nullptr));
  ASSERT_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(32755 + 9, Read());
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
TEST_F(LaunchTest, TheCallsOfCuda2StillLaunch) {
  CUfunction function = Function("add_one");
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuLaunchGrid(function, 1, 1));  // no shape yet
  ASSERT_OK(cuFuncSetBlockShape(function, 32, 1, 1));
  ASSERT_OK(cuParamSetv(function, 0, &data_, sizeof(data_)));
  ASSERT_OK(cuParamSeti(function, 8, 1));
  ASSERT_OK(cuParamSetSize(function, 12));
  ASSERT_OK(cuLaunch(function));
  ASSERT_OK(cuLaunchGridAsync(function, 2, 2, stream_));
  ASSERT_OK(cuCtxSynchronize());
  EXPECT_EQ(2, Read());
}
#pragma GCC diagnostic pop

TEST_F(LaunchTest, AStreamWaitsForAWord) {
  uint32_t* word = nullptr;
  ASSERT_OK(cuMemHostAlloc(reinterpret_cast<void**>(&word), 16, 0));
  word[0] = word[1] = 0;
  const auto address = reinterpret_cast<CUdeviceptr>(word);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue32(stream_, address + 1, 1, 0));
  ASSERT_OK(cuStreamWaitValue32(stream_, address, 3, CU_STREAM_WAIT_VALUE_GEQ));
  ASSERT_OK(LaunchAddOne(Function("add_one"), data_, 1, stream_));
  ASSERT_OK(cuStreamWriteValue32(stream_, address + 4, 77, 0));
  std::atomic_ref<uint32_t>(word[0]).store(2);
  EXPECT_EQ(CUDA_ERROR_NOT_READY, cuStreamQuery(stream_));
  EXPECT_EQ(0u, word[1]);
  // Another stream says so; others are not held up meanwhile.
  CUstream other;
  ASSERT_OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  CUstreamBatchMemOpParams ops[2] = {};
  ops[0].operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  ops[0].writeValue.address = address;
  ops[0].writeValue.value = 3;
  ops[1].operation = CU_STREAM_MEM_OP_BARRIER;
  ASSERT_OK(cuStreamBatchMemOp(other, 2, ops, 0));
  ASSERT_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(77u, word[1]);
  EXPECT_EQ(1, Read());
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp(other, 0, ops, 0));
}

class FaultTest : public LaunchTest {
 protected:
  void SetUp() override {
    setenv("SGPRS_SIMGPU_FAULT", "add_one:2", 1);
    LaunchTest::SetUp();
  }
};

TEST_F(FaultTest, AnErrorOfAKernelStays) {
  ASSERT_OK(LaunchAddOne(Function("add_one"), data_, 1, stream_));
  ASSERT_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(1, Read());
  CUfunction function = Function("add_one");
  Gate gate;
  gate.Close(stream_);
  ASSERT_OK(LaunchAddOne(function, data_, 1, stream_));  // not yet known
  int calls = 0;
  ASSERT_OK(cuLaunchHostFunc(
      stream_, [](void* count) { ++*static_cast<int*>(count); }, &calls));
  CUresult told = CUDA_SUCCESS;
  ASSERT_OK(cuStreamAddCallback(
      stream_, [](CUstream, CUresult status, void* out) { *static_cast<CUresult*>(out) = status; },
      &told, 0));
  gate.Open();
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(stream_));
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_ADDRESS, told);
  EXPECT_EQ(0, calls);
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_ADDRESS, LaunchAddOne(function, data_, 1, stream_));
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemFree(data_));
  CUcontext other;  // another context is well
  ASSERT_OK(cuCtxCreate(&other, nullptr, 0, 0));
  CUdeviceptr there;
  EXPECT_OK(cuMemAlloc(&there, 16));
  EXPECT_OK(cuCtxSynchronize());
}

}  // namespace
}  // namespace sgprs::simgpu::testing
