// SPDX-License-Identifier: Apache-2.0
// Several devices and several contexts in one process.
#include <cstring>
#include <vector>

#include "tests/unit/simgpu_driver/device_process.h"

namespace sgprs::simgpu::testing {
namespace {

class DevicesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(cuInit(0));
    for (int i = 0; i < 2; ++i) {
      ASSERT_OK(cuDevicePrimaryCtxRetain(&contexts_[i], i));
      ASSERT_OK(cuCtxSetCurrent(contexts_[i]));
      ASSERT_OK(cuMemAlloc(&data_[i], 16));
      ASSERT_OK(cuMemsetD32(data_[i], static_cast<unsigned int>(i) + 1, 4));
      ASSERT_OK(
          cuCtxSynchronize());  // a fill does not wait, and only this context's work follows it
      ASSERT_OK(cuStreamCreate(&streams_[i], CU_STREAM_NON_BLOCKING));
    }
    ASSERT_OK(cuCtxSetCurrent(contexts_[0]));
  }
  int Read(int device) {
    int value = -1;
    EXPECT_OK(cuCtxSetCurrent(contexts_[device]));
    EXPECT_OK(cuMemcpyDtoH(&value, data_[device], 4));
    EXPECT_OK(cuCtxSetCurrent(contexts_[0]));
    return value;
  }

  DeviceProcess device_{"on", "rtx2080ti", 2};
  CUcontext contexts_[2] = {};
  CUdeviceptr data_[2] = {};
  CUstream streams_[2] = {};
};

TEST_F(DevicesTest, TheyAreTwo) {
  int count = 0;
  ASSERT_OK(cuDeviceGetCount(&count));
  EXPECT_EQ(2, count);
  CUuuid ids[2];
  int buses[2];
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(cuDeviceGetUuid(&ids[i], i));
    ASSERT_OK(cuDeviceGetAttribute(&buses[i], CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, i));
    CUdevice device = -1;
    ASSERT_OK(cuStreamGetDevice(streams_[i], &device));
    EXPECT_EQ(i, device);
    int ordinal = -1;
    ASSERT_OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, data_[i]));
    EXPECT_EQ(i, ordinal);
  }
  EXPECT_NE(0, memcmp(&ids[0], &ids[1], sizeof(ids[0])));
  EXPECT_NE(buses[0], buses[1]);
  CUdevice device;
  ASSERT_OK(cuDeviceGetByPCIBusId(&device, "0000:02:00.0"));
  EXPECT_EQ(1, device);
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, 2));
  size_t before;
  size_t after;
  size_t total;
  ASSERT_OK(cuMemGetInfo(&before, &total));
  ASSERT_OK(cuCtxSetCurrent(contexts_[1]));
  CUdeviceptr more;
  ASSERT_OK(cuMemAlloc(&more, 1 << 20));
  ASSERT_OK(cuCtxSetCurrent(contexts_[0]));
  ASSERT_OK(cuMemGetInfo(&after, &total));
  EXPECT_EQ(before, after);
}

TEST_F(DevicesTest, EventsOrderThem) {
  CUevent event;
  ASSERT_OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  Gate gate;
  gate.Close(streams_[0]);
  ASSERT_OK(cuMemsetD32Async(data_[0], 7, 4, streams_[0]));
  ASSERT_OK(cuEventRecord(event, streams_[0]));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(event, streams_[1]));  // of another context
  ASSERT_OK(cuStreamWaitEvent(streams_[1], event, 0));
  ASSERT_OK(cuMemcpyPeerAsync(data_[1], contexts_[1], data_[0], contexts_[0], 16, streams_[1]));
  EXPECT_EQ(CUDA_ERROR_NOT_READY, cuStreamQuery(streams_[1]));
  gate.Open();
  ASSERT_OK(cuStreamSynchronize(streams_[1]));
  EXPECT_EQ(7, Read(1));
}

TEST_F(DevicesTest, PeersMustBeEnabled) {
  int can = 0;
  ASSERT_OK(cuDeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(1, can);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoD(data_[0], data_[1], 16));
  ASSERT_OK(cuMemcpy(data_[0], data_[1], 16));  // by unified addresses
  EXPECT_EQ(2, Read(0));
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuCtxEnablePeerAccess(contexts_[0], 0));
  ASSERT_OK(cuCtxEnablePeerAccess(contexts_[1], 0));
  EXPECT_EQ(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, cuCtxEnablePeerAccess(contexts_[1], 0));
  EXPECT_OK(cuMemcpyDtoD(data_[0], data_[1], 16));
  ASSERT_OK(cuCtxDisablePeerAccess(contexts_[1]));
  EXPECT_EQ(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(contexts_[1]));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuMemcpyPeer(data_[1], contexts_[0], data_[0], contexts_[1], 16));
}

TEST_F(DevicesTest, AResetLeavesNothing) {
  CUevent event;
  ASSERT_OK(cuEventCreate(&event, 0));
  CUgraph graph;
  ASSERT_OK(cuGraphCreate(&graph, 0));
  Gate gate;
  gate.Close(streams_[0]);
  ASSERT_OK(cuMemsetD32Async(data_[0], 7, 4, streams_[0]));
  gate.Open();
  ASSERT_OK(cuDevicePrimaryCtxReset(0));  // with work queued
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(streams_[0]));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(event, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemsetD32(data_[0], 1, 1));
  ASSERT_OK(cuMemAlloc(&data_[0], 16));
  ASSERT_OK(cuMemsetD32(data_[0], 3, 4));
  EXPECT_EQ(3, Read(0));
  EXPECT_EQ(2, Read(1));  // the other device's is unharmed
  ASSERT_OK(cuGraphDestroy(graph));
}

TEST_F(DevicesTest, ContextsEndWithTheirWork) {
  CUcontext context;
  ASSERT_OK(cuCtxCreate(&context, nullptr, 0, 1));
  CUdeviceptr data;
  ASSERT_OK(cuMemAlloc(&data, 4));
  CUstream stream;
  ASSERT_OK(cuStreamCreate(&stream, 0));
  int done = 0;
  Gate gate;
  gate.Close(stream);
  ASSERT_OK(cuLaunchHostFunc(
      stream, [](void* flag) { *static_cast<int*>(flag) = 1; }, &done));
  gate.Open();
  ASSERT_OK(cuCtxDestroy(context));
  EXPECT_EQ(1, done);
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuStreamQuery(stream));
  CUcontext current;
  ASSERT_OK(cuCtxGetCurrent(&current));
  EXPECT_EQ(contexts_[0], current);
}

TEST(VisibleDevicesTest, TheListChoosesAndOrders) {
  DeviceProcess device("on", "a100", 3);
  setenv("CUDA_VISIBLE_DEVICES", "2,0,7,1", 1);  // ends at 7
  ASSERT_OK(cuInit(0));
  int count = 0;
  ASSERT_OK(cuDeviceGetCount(&count));
  EXPECT_EQ(2, count);
  char id[16];
  ASSERT_OK(cuDeviceGetPCIBusId(id, sizeof(id), 0));
  EXPECT_STREQ("0000:03:00.0", id);
}

}  // namespace
}  // namespace sgprs::simgpu::testing
