// SPDX-License-Identifier: Apache-2.0
// Devices, errors, memory, what is exported.
#include <dlfcn.h>

#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "tests/unit/simgpu_cudart/registered.h"

namespace sgprs::simgpu::testing {
namespace {

TEST(DeviceTest, NoDeviceIsNoDevice) {
  setenv("SGPRS_SIMGPU_SOCKET", "/nowhere/simgpu.sock", 1);
  int count = 7;
  EXPECT_EQ(cudaErrorNoDevice, cudaGetDeviceCount(&count));
  EXPECT_EQ(0, count);
  void* data;
  EXPECT_EQ(cudaErrorNoDevice, cudaMalloc(&data, 16));
}

class RuntimeTest : public ::testing::Test {
 protected:
  DeviceProcess device_;
};

TEST_F(RuntimeTest, TheDeviceSaysThatItIsSimulated) {
  int count = 0;
  ASSERT_RT(cudaGetDeviceCount(&count));
  ASSERT_EQ(1, count);
  cudaDeviceProp properties;
  ASSERT_RT(cudaGetDeviceProperties(&properties, 0));
  EXPECT_EQ(std::string("simulated "), std::string(properties.name, 10));
  int value;
  ASSERT_RT(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
  EXPECT_EQ(68, value);
  EXPECT_EQ(value, properties.multiProcessorCount);
  EXPECT_EQ(7, properties.major);
  EXPECT_EQ(5, properties.minor);
  EXPECT_EQ(1024, properties.maxThreadsPerBlock);
  EXPECT_EQ(size_t{64} << 10, properties.totalConstMem);
  EXPECT_GT(properties.totalGlobalMem, size_t{1} << 30);
  EXPECT_EQ(cudaErrorInvalidDevice, cudaGetDeviceProperties(&properties, 1));
  EXPECT_EQ(cudaErrorInvalidDevice, cudaSetDevice(1));
}

TEST_F(RuntimeTest, TheLastErrorBelongsToItsThread) {
  EXPECT_EQ(cudaErrorInvalidDevice, cudaSetDevice(9));
  EXPECT_EQ(cudaErrorInvalidDevice, cudaPeekAtLastError());
  std::thread([] { EXPECT_EQ(cudaSuccess, cudaGetLastError()); }).join();
  EXPECT_RT(cudaSetDevice(0));
  EXPECT_EQ(cudaErrorInvalidDevice, cudaGetLastError());
  EXPECT_EQ(cudaSuccess, cudaGetLastError());
}

TEST_F(RuntimeTest, NotReadyIsAnAnswerNotAnError) {
  cudaStream_t stream;
  ASSERT_RT(cudaStreamCreate(&stream));
  Gate gate;
  gate.Close(stream);
  EXPECT_EQ(cudaErrorNotReady, cudaStreamQuery(stream));
  EXPECT_EQ(cudaSuccess, cudaGetLastError());
  gate.Open();
  EXPECT_RT(cudaStreamSynchronize(stream));
  EXPECT_RT(cudaStreamQuery(stream));
}

TEST_F(RuntimeTest, ErrorsHaveNames) {
  EXPECT_STREQ("cudaErrorInvalidValue", cudaGetErrorName(cudaErrorInvalidValue));
  EXPECT_STREQ("invalid argument", cudaGetErrorString(cudaErrorInvalidValue));
  EXPECT_STREQ("no error", cudaGetErrorString(cudaSuccess));
  EXPECT_STREQ("unrecognized error code", cudaGetErrorString(static_cast<cudaError_t>(12345)));
}

TEST_F(RuntimeTest, NothingAskedForIsNothingGiven) {
  void* data = &data;
  EXPECT_RT(cudaMalloc(&data, 0));
  EXPECT_EQ(nullptr, data);
  EXPECT_RT(cudaFree(nullptr));
  EXPECT_RT(cudaFreeHost(nullptr));
  EXPECT_RT(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyHostToDevice));
  EXPECT_EQ(cudaErrorInvalidMemcpyDirection,
            cudaMemcpy(nullptr, nullptr, 0, static_cast<cudaMemcpyKind>(9)));
  EXPECT_EQ(cudaErrorInvalidValue, cudaMalloc(nullptr, 16));
}

TEST_F(RuntimeTest, PointersAreKnownByWhatTheyPointTo) {
  void* on_device;
  void* pinned;
  ASSERT_RT(cudaMalloc(&on_device, 64));
  ASSERT_RT(cudaMallocHost(&pinned, 64));
  int own = 0;
  cudaPointerAttributes attributes;
  ASSERT_RT(cudaPointerGetAttributes(&attributes, on_device));
  EXPECT_EQ(cudaMemoryTypeDevice, attributes.type);
  EXPECT_EQ(0, attributes.device);
  EXPECT_EQ(on_device, attributes.devicePointer);
  ASSERT_RT(cudaPointerGetAttributes(&attributes, pinned));
  EXPECT_EQ(cudaMemoryTypeHost, attributes.type);
  EXPECT_EQ(pinned, attributes.hostPointer);
  ASSERT_RT(cudaPointerGetAttributes(&attributes, &own));
  EXPECT_EQ(cudaMemoryTypeUnregistered, attributes.type);
  EXPECT_EQ(cudaInvalidDeviceId, attributes.device);
}

TEST_F(RuntimeTest, CopiesOfRowsKeepTheRestOfThePitch) {
  char host[4][8];
  memset(host, 'x', sizeof(host));
  void* data;
  size_t pitch;
  ASSERT_RT(cudaMallocPitch(&data, &pitch, 8, 4));
  ASSERT_RT(cudaMemset2D(data, pitch, 'o', 8, 4));
  ASSERT_RT(cudaMemcpy2D(host, 8, data, pitch, 3, 4, cudaMemcpyDeviceToHost));
  for (const auto& row : host) EXPECT_EQ("oooxxxxx", std::string(row, 8));
}

TEST_F(RuntimeTest, PoolsAndStreamOrderedMemory) {
  cudaStream_t stream;
  ASSERT_RT(cudaStreamCreate(&stream));
  void* data;
  ASSERT_RT(cudaMallocAsync(&data, 1 << 20, stream));
  ASSERT_RT(cudaMemsetAsync(data, 3, 1 << 20, stream));
  unsigned char last = 0;
  ASSERT_RT(cudaMemcpyAsync(&last, static_cast<char*>(data) + (1 << 20) - 1, 1,
                            cudaMemcpyDeviceToHost, stream));
  ASSERT_RT(cudaFreeAsync(data, stream));
  ASSERT_RT(cudaStreamSynchronize(stream));
  EXPECT_EQ(3, last);
}

TEST_F(RuntimeTest, PerThreadEntriesMeanTheThreadsOwnStream) {
  // The legacy default stream can not be captured, the per-thread one can.
  EXPECT_NE(cudaSuccess, cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeRelaxed));
  using Begin = cudaError_t (*)(cudaStream_t, cudaStreamCaptureMode);
  using End = cudaError_t (*)(cudaStream_t, cudaGraph_t*);
  auto begin = reinterpret_cast<Begin>(dlsym(RTLD_DEFAULT, "cudaStreamBeginCapture_ptsz"));
  auto end = reinterpret_cast<End>(dlsym(RTLD_DEFAULT, "cudaStreamEndCapture_ptsz"));
  ASSERT_NE(nullptr, begin);
  ASSERT_NE(nullptr, end);
  EXPECT_RT(begin(nullptr, cudaStreamCaptureModeRelaxed));
  cudaGraph_t graph;
  EXPECT_RT(end(nullptr, &graph));
}

TEST_F(RuntimeTest, DriverCallsByName) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult status;
  ASSERT_RT(
      cudaGetDriverEntryPointByVersion("cuMemAlloc", &function, 12000, cudaEnableDefault, &status));
  EXPECT_EQ(cudaDriverEntryPointSuccess, status);
  EXPECT_EQ(reinterpret_cast<void*>(&cuMemAlloc), function);
  ASSERT_RT(cudaGetDriverEntryPointByVersion("cuNoSuchCall", &function, 12000, cudaEnableDefault,
                                             &status));
  EXPECT_EQ(cudaDriverEntryPointSymbolNotFound, status);
  EXPECT_EQ(nullptr, function);
}

TEST_F(RuntimeTest, WhatIsNotSimulatedIsSaidSo) {
  cudaArray_t array;
  const cudaChannelFormatDesc format{};
  EXPECT_EQ(cudaErrorNotSupported, cudaMallocArray(&array, &format, 16, 16, 0));
  EXPECT_EQ(cudaErrorNotSupported, cudaGetLastError());
}

TEST(ExportTest, EverythingThatPyTorchImportsIsThere) {
  std::ifstream list(PYTORCH_IMPORTS);
  std::string name;
  int names = 0;
  while (std::getline(list, name)) {
    if (name.empty() || name[0] == '#') continue;
    ++names;
    EXPECT_NE(nullptr, dlvsym(RTLD_DEFAULT, name.c_str(), "libcudart.so.13")) << name;
  }
  EXPECT_GT(names, 100);
}

}  // namespace
}  // namespace sgprs::simgpu::testing
