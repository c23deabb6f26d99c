// SPDX-License-Identifier: Apache-2.0
// What compiled CUDA code does: registered kernels and variables, launches of every spelling.
#include <string>
#include <vector>

#include "tests/unit/simgpu_cudart/registered.h"

namespace sgprs::simgpu::testing {
namespace {

class LaunchTest : public ::testing::Test {
 protected:
  // Four ints, all zero.
  int* Zeroes() {
    void* data = nullptr;
    EXPECT_RT(cudaMalloc(&data, kCount * sizeof(int)));
    EXPECT_RT(cudaMemset(data, 0, kCount * sizeof(int)));
    return static_cast<int*>(data);
  }

  std::vector<int> Read(const int* data) {
    std::vector<int> values(kCount);
    EXPECT_RT(cudaMemcpy(values.data(), data, kCount * sizeof(int), cudaMemcpyDeviceToHost));
    return values;
  }

  static constexpr int kCount = 4;
  DeviceProcess device_;
  Registered program_{kPtx};
};

TEST_F(LaunchTest, AKernelIsFoundByItsHostAddress) {
  int* data = Zeroes();
  int count = kCount;
  void* arguments[] = {&data, &count};
  for (int i = 0; i < 3; ++i) {
    ASSERT_RT(cudaLaunchKernel(&add_one_host, dim3(1), dim3(32), arguments, 0, nullptr));
  }
  EXPECT_EQ(Read(data), std::vector<int>(kCount, 3));
}

TEST_F(LaunchTest, TheNewerSpellingOfACall) {
  int* data = Zeroes();
  int count = kCount;
  void* arguments[] = {&data, &count};
  dim3 grid;
  dim3 block;
  size_t shared;
  cudaStream_t stream;
  EXPECT_EQ(0u, __cudaPushCallConfiguration(dim3(2), dim3(64), 16, nullptr));
  EXPECT_EQ(0u, __cudaPushCallConfiguration(dim3(1), dim3(32), 0, nullptr));
  ASSERT_RT(__cudaPopCallConfiguration(&grid, &block, &shared, &stream));
  EXPECT_EQ(32u, block.x);
  cudaKernel_t kernel;
  ASSERT_RT(__cudaGetKernel(&kernel, &add_one_host));
  ASSERT_RT(__cudaLaunchKernel(kernel, grid, block, arguments, shared, stream));
  ASSERT_RT(__cudaPopCallConfiguration(&grid, &block, &shared, &stream));
  EXPECT_EQ(64u, block.x);
  EXPECT_EQ(16u, shared);
  EXPECT_EQ(cudaErrorMissingConfiguration,
            __cudaPopCallConfiguration(&grid, &block, &shared, &stream));
  // A kernel handle is as good as the address of its host twin.
  ASSERT_RT(
      cudaLaunchKernel(reinterpret_cast<void*>(kernel), dim3(1), dim3(32), arguments, 0, nullptr));
  EXPECT_EQ(Read(data), std::vector<int>(kCount, 2));
}

TEST_F(LaunchTest, ConfigurationsOutOfRangeAreRefused) {
  int* data = Zeroes();
  int count = kCount;
  void* arguments[] = {&data, &count};
  const dim3 wrong[][2] = {{dim3(0), dim3(32)},       {dim3(1), dim3(0)},
                           {dim3(1), dim3(2048)},     {dim3(1), dim3(32, 64)},
                           {dim3(1, 70000), dim3(1)}, {dim3(1), dim3(1, 1, 65)}};
  for (const auto& [grid, block] : wrong) {
    EXPECT_EQ(cudaErrorInvalidConfiguration,
              cudaLaunchKernel(&add_one_host, grid, block, arguments, 0, nullptr));
  }
  EXPECT_EQ(Read(data), std::vector<int>(kCount, 0));
}

TEST_F(LaunchTest, WhatIsNotThereIsSaidSo) {
  void* arguments[] = {nullptr};
  const char nobody = 0;
  EXPECT_EQ(cudaErrorInvalidDeviceFunction,
            cudaLaunchKernel(&nobody, dim3(1), dim3(1), arguments, 0, nullptr));
  EXPECT_EQ(cudaErrorInvalidDeviceFunction,
            cudaLaunchKernel(&absent_host, dim3(1), dim3(1), arguments, 0, nullptr));
  cudaKernel_t kernel;
  EXPECT_EQ(cudaErrorInvalidDeviceFunction, __cudaGetKernel(&kernel, &absent_host));
  EXPECT_EQ(cudaErrorInvalidDeviceFunction,
            __cudaLaunchKernel(kernel, dim3(1), dim3(1), arguments, 0, nullptr));
  void* address;
  EXPECT_EQ(cudaErrorInvalidSymbol, cudaGetSymbolAddress(&address, &nobody));
}

TEST_F(LaunchTest, VariablesBySymbol) {
  int value = 0;
  ASSERT_RT(cudaMemcpyFromSymbol(&value, &answer_host, 4, 0, cudaMemcpyDeviceToHost));
  EXPECT_EQ(42, value);
  value = 7;
  ASSERT_RT(cudaMemcpyToSymbol(&answer_host, &value, 4, 0, cudaMemcpyHostToDevice));
  value = 0;
  ASSERT_RT(cudaMemcpyFromSymbol(&value, &answer_host, 4, 0, cudaMemcpyDeviceToHost));
  EXPECT_EQ(7, value);
  size_t bytes;
  ASSERT_RT(cudaGetSymbolSize(&bytes, &answer_host));
  EXPECT_EQ(4u, bytes);
  EXPECT_EQ(cudaErrorInvalidValue,
            cudaMemcpyToSymbol(&answer_host, &value, 4, 1, cudaMemcpyHostToDevice));
}

TEST_F(LaunchTest, CapturedLaunchesRunWithTheGraph) {
  int* data = Zeroes();
  int count = kCount;
  void* arguments[] = {&data, &count};
  cudaStream_t stream;
  ASSERT_RT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  ASSERT_RT(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  ASSERT_RT(cudaLaunchKernel(&add_one_host, dim3(1), dim3(32), arguments, 0, stream));
  cudaGraph_t graph;
  ASSERT_RT(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t exec;
  ASSERT_RT(cudaGraphInstantiate(&exec, graph, 0));
  EXPECT_EQ(Read(data), std::vector<int>(kCount, 0));
  ASSERT_RT(cudaGraphLaunch(exec, stream));
  ASSERT_RT(cudaGraphLaunch(exec, stream));
  ASSERT_RT(cudaStreamSynchronize(stream));
  EXPECT_EQ(Read(data), std::vector<int>(kCount, 2));
}

TEST(LoadTest, CodeForAnotherDeviceAndCodeThatIsGone) {
  DeviceProcess device;
  std::string text = kPtx;
  text.replace(text.find("sm_70"), 5, "sm_99");
  void* arguments[] = {nullptr};
  {
    Registered newer(text.c_str());
    for (int i = 0; i < 2; ++i) {  // the second time without another look at the code
      EXPECT_EQ(cudaErrorNoKernelImageForDevice,
                cudaLaunchKernel(&add_one_host, dim3(1), dim3(1), arguments, 0, nullptr));
    }
  }
  EXPECT_EQ(cudaErrorInvalidDeviceFunction,
            cudaLaunchKernel(&add_one_host, dim3(1), dim3(1), arguments, 0, nullptr));
}

TEST(LoadTest, NothingIsLoadedBeforeItIsUsed) {
  // No device process: registering must not mind.
  setenv("SGPRS_SIMGPU_SOCKET", "/nowhere/simgpu.sock", 1);
  Registered program(kPtx);
  void* arguments[] = {nullptr};
  EXPECT_EQ(cudaErrorNoDevice,
            cudaLaunchKernel(&add_one_host, dim3(1), dim3(1), arguments, 0, nullptr));
}

}  // namespace
}  // namespace sgprs::simgpu::testing
