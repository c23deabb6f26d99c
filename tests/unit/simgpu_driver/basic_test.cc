// SPDX-License-Identifier: Apache-2.0
// Start, memory, code, launches, streams, events: what every program does.
#include <cstring>
#include <numeric>
#include <vector>

#include "tests/unit/simgpu_driver/device_process.h"

namespace sgprs::simgpu::testing {
namespace {

TEST(StartTest, CallsBeforeInitAreRefused) {
  int count = 0;
  EXPECT_EQ(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&count));
  EXPECT_EQ(CUDA_ERROR_NOT_INITIALIZED, cuCtxSynchronize());
  CUstream stream;
  EXPECT_EQ(CUDA_ERROR_NOT_INITIALIZED, cuStreamCreate(&stream, 0));
  int version = 0;
  EXPECT_OK(cuDriverGetVersion(&version));
  EXPECT_EQ(13000, version);
}

TEST(StartTest, NoDeviceProcessIsNoDevice) {
  setenv("SGPRS_SIMGPU_SOCKET", "/nowhere/simgpu.sock", 1);
  EXPECT_EQ(CUDA_ERROR_NO_DEVICE, cuInit(0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuInit(1));
}

TEST(StartTest, HiddenDeviceIsNoDevice) {
  DeviceProcess device;
  setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
  EXPECT_EQ(CUDA_ERROR_NO_DEVICE, cuInit(0));
  setenv("CUDA_VISIBLE_DEVICES", "0", 1);
  EXPECT_OK(cuInit(0));
}

TEST(StartTest, NeedsAContext) {
  DeviceProcess device;
  ASSERT_OK(cuInit(0));
  CUdeviceptr pointer;
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&pointer, 16));
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize());
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuDevicePrimaryCtxRetain(nullptr, 1));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuDevicePrimaryCtxRetain(nullptr, 0));
}

using BasicTest = DriverTest;

TEST_F(BasicTest, KernelBodiesComputeInStreamOrder) {
  constexpr int kCount = 100;
  std::vector<int> values(kCount);
  std::iota(values.begin(), values.end(), 0);
  const CUdeviceptr data = Allocate(kCount * sizeof(int));
  ASSERT_OK(cuMemcpyHtoD(data, values.data(), kCount * sizeof(int)));
  CUstream stream;
  ASSERT_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  for (int i = 0; i < 3000; ++i) {
    ASSERT_OK(LaunchAddOne(Function("add_one"), data, kCount, stream));
  }
  std::vector<int> result(kCount);
  ASSERT_OK(cuMemcpyDtoHAsync(result.data(), data, kCount * sizeof(int), stream));
  for (int i = 0; i < kCount; ++i) EXPECT_EQ(i + 3000, result[i]);
}

TEST_F(BasicTest, ExtraBufferCarriesParameters) {
  std::vector<float> values = {1, 2, 3};
  const CUdeviceptr data = Allocate(12);
  ASSERT_OK(cuMemcpyHtoD(data, values.data(), 12));
  struct {
    CUdeviceptr data;
    int count;
    float factor;
  } params = {data, 3, 2.0f};
  size_t size = sizeof(params);
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &params, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   CU_LAUNCH_PARAM_END};
  ASSERT_OK(cuLaunchKernel(Function("scale"), 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra));
  ASSERT_OK(cuMemcpyDtoH(values.data(), data, 12));
  EXPECT_EQ((std::vector<float>{2, 4, 6}), values);
  void* both[] = {&params, &params, &params};
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuLaunchKernel(Function("scale"), 1, 1, 1, 32, 1, 1, 0, nullptr, both, extra));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuLaunchKernel(Function("scale"), 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr));
}

TEST_F(BasicTest, EventsCarryDeviceTime) {
  CUevent start;
  CUevent end;
  ASSERT_OK(cuEventCreate(&start, 0));
  ASSERT_OK(cuEventCreate(&end, 0));
  float ms = 0;
  EXPECT_OK(cuEventQuery(start));  // never recorded
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, start, end));
  Gate gate;
  gate.Close(nullptr);
  ASSERT_OK(cuEventRecord(start, nullptr));
  long long zero = 0;
  void* params[] = {&zero};
  for (int i = 0; i < 10; ++i) {
    ASSERT_OK(
        cuLaunchKernel(Function("no_body"), 1000, 1, 1, 256, 1, 1, 0, nullptr, params, nullptr));
  }
  ASSERT_OK(cuEventRecord(end, nullptr));
  EXPECT_EQ(CUDA_ERROR_NOT_READY, cuEventQuery(end));
  EXPECT_EQ(CUDA_ERROR_NOT_READY, cuStreamQuery(nullptr));
  EXPECT_EQ(CUDA_ERROR_NOT_READY, cuEventElapsedTime(&ms, start, end));
  gate.Open();
  ASSERT_OK(cuEventSynchronize(end));
  ASSERT_OK(cuEventElapsedTime(&ms, start, end));
  EXPECT_GT(ms, 1.0f);
  EXPECT_OK(cuStreamQuery(nullptr));
  EXPECT_OK(cuEventDestroy(start));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventDestroy(start));
}

TEST_F(BasicTest, ModuleGlobalsAndParamInfo) {
  CUdeviceptr address;
  size_t bytes;
  ASSERT_OK(cuModuleGetGlobal(&address, &bytes, module_, "answer"));
  EXPECT_EQ(4u, bytes);
  int value = 0;
  ASSERT_OK(cuMemcpyDtoH(&value, address, 4));
  EXPECT_EQ(42, value);
  EXPECT_EQ(CUDA_ERROR_NOT_FOUND, cuModuleGetGlobal(&address, &bytes, module_, "question"));
  size_t offset;
  size_t size;
  ASSERT_OK(cuFuncGetParamInfo(Function("scale"), 2, &offset, &size));
  EXPECT_EQ(12u, offset);
  EXPECT_EQ(4u, size);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuFuncGetParamInfo(Function("scale"), 3, &offset, &size));
  CUmodule broken;
  EXPECT_EQ(CUDA_ERROR_INVALID_PTX, cuModuleLoadData(&broken, "nonsense"));
}

TEST_F(BasicTest, KernelHandlesLaunchInAnyContext) {
  CUlibrary library;
  ASSERT_OK(cuLibraryLoadData(&library, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  CUkernel kernel;
  ASSERT_OK(cuLibraryGetKernel(&kernel, library, "add_one"));
  const CUdeviceptr data = Allocate(4);
  ASSERT_OK(cuMemsetD32(data, 7, 1));
  ASSERT_OK(LaunchAddOne(reinterpret_cast<CUfunction>(kernel), data, 1, nullptr));
  int value = 0;
  ASSERT_OK(cuMemcpyDtoH(&value, data, 4));
  EXPECT_EQ(8, value);
  CUcontext other;
  ASSERT_OK(cuCtxCreate(&other, nullptr, 0, 0));
  CUfunction function;
  ASSERT_OK(cuKernelGetFunction(&function, kernel));
  CUdeviceptr there;
  ASSERT_OK(cuMemAlloc(&there, 4));
  EXPECT_OK(LaunchAddOne(reinterpret_cast<CUfunction>(kernel), there, 1, nullptr));
  EXPECT_OK(LaunchAddOne(function, there, 1, nullptr));
  // A CUfunction belongs to its context, and so does memory.
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, LaunchAddOne(Function("add_one"), there, 1, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(&value, data, 4));
  ASSERT_OK(cuCtxDestroy(other));
  CUcontext current;
  ASSERT_OK(cuCtxGetCurrent(&current));
  EXPECT_EQ(context_, current);
  EXPECT_EQ(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuCtxSetCurrent(other));
  ASSERT_OK(cuLibraryUnload(library));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE,
            LaunchAddOne(reinterpret_cast<CUfunction>(kernel), data, 1, nullptr));
}

}  // namespace
}  // namespace sgprs::simgpu::testing
