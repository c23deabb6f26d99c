// SPDX-License-Identifier: Apache-2.0
// Partitions: green contexts and SM-affinity contexts.
#include <vector>

#include "tests/unit/simgpu_driver/device_process.h"

namespace sgprs::simgpu::testing {
namespace {

class GreenTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    ASSERT_OK(cuDeviceGetDevResource(0, &all_, CU_DEV_RESOURCE_TYPE_SM));
  }

  // Equal groups of the whole device, at least `least` SMs each.
  std::vector<CUdevResource> Split(unsigned int least) {
    unsigned int count = 0;
    EXPECT_OK(cuDevSmResourceSplitByCount(nullptr, &count, &all_, nullptr, 0, least));
    std::vector<CUdevResource> groups(count);
    EXPECT_OK(cuDevSmResourceSplitByCount(groups.data(), &count, &all_, nullptr, 0, least));
    return groups;
  }

  CUgreenCtx Make(std::vector<CUdevResource> resources) {
    CUdevResourceDesc desc;
    EXPECT_OK(cuDevResourceGenerateDesc(&desc, resources.data(),
                                        static_cast<unsigned int>(resources.size())));
    CUgreenCtx green = nullptr;
    EXPECT_OK(cuGreenCtxCreate(&green, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    return green;
  }

  CUdevResource all_{};
};

TEST_F(GreenTest, SplitsFollowMinimumAndAlignment) {
  EXPECT_EQ(68u, all_.sm.smCount);
  EXPECT_EQ(2u, all_.sm.minSmPartitionSize);  // 7.x
  std::vector<CUdevResource> atoms = Split(1);
  ASSERT_EQ(34u, atoms.size());
  EXPECT_EQ(2u, atoms[0].sm.smCount);
  CUdevResource two[2];
  CUdevResource rest;
  unsigned int count = 2;
  ASSERT_OK(cuDevSmResourceSplitByCount(two, &count, &all_, &rest, 0, 15));
  EXPECT_EQ(2u, count);
  EXPECT_EQ(16u, two[1].sm.smCount);
  EXPECT_EQ(36u, rest.sm.smCount);
  count = 2;
  EXPECT_EQ(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
            cuDevSmResourceSplitByCount(two, &count, &atoms[0], nullptr, 0, 1));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuDevSmResourceSplitByCount(two, &count, &all_, nullptr, 0, 69));
  EXPECT_EQ(CUDA_ERROR_INVALID_RESOURCE_TYPE,
            cuDeviceGetDevResource(0, &rest, CU_DEV_RESOURCE_TYPE_INVALID));
}

TEST_F(GreenTest, DescriptorsJoinGroupsOfOneSplitOnly) {
  std::vector<CUdevResource> first = Split(2);
  std::vector<CUdevResource> second = Split(2);
  CUdevResourceDesc desc;
  CUdevResource mixed[] = {first[0], second[1]};
  EXPECT_EQ(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, cuDevResourceGenerateDesc(&desc, mixed, 2));
  CUdevResource twice[] = {first[0], first[0]};
  EXPECT_EQ(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, cuDevResourceGenerateDesc(&desc, twice, 2));
  CUgreenCtx green = Make({first[3], first[4], first[5]});
  CUdevResource own;
  ASSERT_OK(cuGreenCtxGetDevResource(green, &own, CU_DEV_RESOURCE_TYPE_SM));
  EXPECT_EQ(6u, own.sm.smCount);
  // What a green context has can be split again.
  unsigned int count = 0;
  ASSERT_OK(cuDevSmResourceSplitByCount(nullptr, &count, &own, nullptr, 0, 2));
  EXPECT_EQ(3u, count);
}

TEST_F(GreenTest, StreamsRunPrimaryFunctionsAndEvents) {
  CUgreenCtx green = Make({Split(8)[0]});
  CUstream stream;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGreenCtxStreamCreate(&stream, green, CU_STREAM_DEFAULT, 0));
  ASSERT_OK(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, -100));
  int priority = 0;
  int greatest = 0;
  ASSERT_OK(cuCtxGetStreamPriorityRange(nullptr, &greatest));
  ASSERT_OK(cuStreamGetPriority(stream, &priority));
  EXPECT_EQ(greatest, priority);
  CUgreenCtx asked;
  ASSERT_OK(cuStreamGetGreenCtx(stream, &asked));
  EXPECT_EQ(green, asked);
  CUcontext context;
  void* first_abi = nullptr;
  ASSERT_OK(cuGetProcAddress("cuStreamGetCtx", &first_abi, 9020, 0, nullptr));
  ASSERT_OK(reinterpret_cast<CUresult (*)(CUstream, CUcontext*)>(first_abi)(stream, &context));
  EXPECT_EQ(context_, context);

  const CUdeviceptr data = Allocate(4);
  ASSERT_OK(cuMemsetD32Async(data, 1, 1, stream));
  ASSERT_OK(LaunchAddOne(Function("add_one"), data, 1, stream));
  CUevent event;
  ASSERT_OK(cuEventCreate(&event, 0));
  ASSERT_OK(cuEventRecord(event, stream));
  ASSERT_OK(cuStreamWaitEvent(nullptr, event, 0));
  int value = 0;
  ASSERT_OK(cuMemcpyDtoH(&value, data, 4));
  EXPECT_EQ(2, value);

  long long zero = 0;
  void* params[] = {&zero};
  EXPECT_EQ(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
            cuLaunchCooperativeKernel(Function("no_body"), 9, 1, 1, 1024, 1, 1, 0, stream, params));
  ASSERT_OK(cuGreenCtxDestroy(green));
  EXPECT_EQ(CUDA_ERROR_CONTEXT_IS_DESTROYED, LaunchAddOne(Function("add_one"), data, 1, stream));
  EXPECT_EQ(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuStreamDestroy(stream));
}

TEST_F(GreenTest, SmallPartitionsAreSlower) {
  float ms[2] = {0, 0};
  CUevent start;
  CUevent end;
  ASSERT_OK(cuEventCreate(&start, 0));
  ASSERT_OK(cuEventCreate(&end, 0));
  long long zero = 0;
  void* params[] = {&zero};
  std::vector<CUdevResource> groups = Split(8);
  const std::vector<CUdevResource> sets[] = {{groups[0]}, {groups[1], groups[2], groups[3]}};
  for (int i = 0; i < 2; ++i) {
    CUstream stream;
    ASSERT_OK(cuGreenCtxStreamCreate(&stream, Make(sets[i]), CU_STREAM_NON_BLOCKING, 0));
    ASSERT_OK(cuEventRecord(start, stream));
    ASSERT_OK(
        cuLaunchKernel(Function("no_body"), 4000, 1, 1, 256, 1, 1, 0, stream, params, nullptr));
    ASSERT_OK(cuEventRecord(end, stream));
    ASSERT_OK(cuEventSynchronize(end));
    ASSERT_OK(cuEventElapsedTime(&ms[i], start, end));
  }
  EXPECT_GT(ms[0], 2 * ms[1]);  // device time, not this machine's
}

TEST_F(GreenTest, GreenContextEvents) {
  CUgreenCtx green = Make({Split(8)[0]});
  CUstream stream;
  ASSERT_OK(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0));
  Gate gate;
  gate.Close(stream);
  CUevent event;
  ASSERT_OK(cuEventCreate(&event, 0));
  ASSERT_OK(cuGreenCtxRecordEvent(green, event));
  EXPECT_EQ(CUDA_ERROR_NOT_READY, cuEventQuery(event));
  CUgreenCtx other = Make({Split(8)[1]});
  ASSERT_OK(cuGreenCtxWaitEvent(other, event));
  CUstream later;
  ASSERT_OK(cuGreenCtxStreamCreate(&later, other, CU_STREAM_NON_BLOCKING, 0));
  EXPECT_EQ(CUDA_ERROR_NOT_READY, cuStreamQuery(later));
  gate.Open();
  ASSERT_OK(cuStreamSynchronize(later));
  EXPECT_OK(cuEventQuery(event));
}

TEST_F(GreenTest, AffinityContextsRoundUp) {
  CUexecAffinityParam param{};
  param.type = CU_EXEC_AFFINITY_TYPE_SM_COUNT;
  param.param.smCount.val = 7;
  CUctxCreateParams params{};
  params.execAffinityParams = &param;
  params.numExecAffinityParams = 1;
  CUcontext context;
  ASSERT_OK(cuCtxCreate(&context, &params, 0, 0));
  CUexecAffinityParam got{};
  ASSERT_OK(cuCtxGetExecAffinity(&got, CU_EXEC_AFFINITY_TYPE_SM_COUNT));
  EXPECT_EQ(8u, got.param.smCount.val);
  CUdevResource resource;
  ASSERT_OK(cuCtxGetDevResource(context, &resource, CU_DEV_RESOURCE_TYPE_SM));
  EXPECT_EQ(8u, resource.sm.smCount);
  // Events belong to their context.
  CUevent event;
  ASSERT_OK(cuEventCreate(&event, 0));
  ASSERT_OK(cuCtxSetCurrent(context_));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(event, nullptr));
}

TEST(AffinityTest, NeedsMps) {
  DeviceProcess device("off");
  ASSERT_OK(cuInit(0));
  int mps = 1;
  ASSERT_OK(cuDeviceGetAttribute(&mps, CU_DEVICE_ATTRIBUTE_MPS_ENABLED, 0));
  EXPECT_EQ(0, mps);
  int supported = 1;
  ASSERT_OK(cuDeviceGetExecAffinitySupport(&supported, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 0));
  EXPECT_EQ(0, supported);
  CUexecAffinityParam param{};
  param.type = CU_EXEC_AFFINITY_TYPE_SM_COUNT;
  param.param.smCount.val = 8;
  CUctxCreateParams params{&param, 1, nullptr};
  CUcontext context;
  EXPECT_EQ(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, cuCtxCreate(&context, &params, 0, 0));
}

}  // namespace
}  // namespace sgprs::simgpu::testing
