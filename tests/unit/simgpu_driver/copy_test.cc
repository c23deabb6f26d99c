// SPDX-License-Identifier: Apache-2.0
// Copies of every shape: arrays, rows, planes, batches.
#include <cstring>
#include <numeric>
#include <vector>

#include "tests/unit/simgpu_driver/device_process.h"

namespace sgprs::simgpu::testing {
namespace {

using CopyTest = DriverTest;

std::vector<int> Counting(size_t count) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), 1);
  return values;
}

TEST_F(CopyTest, ArraysHoldRowsAndPlanes) {
  CUDA_ARRAY3D_DESCRIPTOR shape{};
  shape.Width = 8;
  shape.Height = 4;
  shape.Depth = 2;
  shape.Format = CU_AD_FORMAT_SIGNED_INT32;
  shape.NumChannels = 1;
  CUarray array;
  ASSERT_OK(cuArray3DCreate(&array, &shape));
  const std::vector<int> values = Counting(64);
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = values.data();
  copy.srcPitch = 32;
  copy.srcHeight = 4;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = array;
  copy.WidthInBytes = 32;
  copy.Height = 4;
  copy.Depth = 2;
  ASSERT_OK(cuMemcpy3D(&copy));
  // Columns 2 and 3 of rows 1 and 2 of plane 1.
  const CUdeviceptr data = Allocate(64);
  CUDA_MEMCPY3D cut{};
  cut.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  cut.srcArray = array;
  cut.srcXInBytes = 8;
  cut.srcY = 1;
  cut.srcZ = 1;
  cut.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  cut.dstDevice = data;
  cut.dstPitch = 8;
  cut.WidthInBytes = 8;
  cut.Height = 2;
  cut.Depth = 1;
  ASSERT_OK(cuMemcpy3D(&cut));
  int found[4];
  ASSERT_OK(cuMemcpyDtoH(found, data, 16));
  const int expected[4] = {values[42], values[43], values[50], values[51]};
  EXPECT_EQ(0, memcmp(expected, found, 16));
  cut.srcY = 3;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D(&cut));  // over the edge
  CUDA_ARRAY3D_DESCRIPTOR told;
  ASSERT_OK(cuArray3DGetDescriptor(&told, array));
  EXPECT_EQ(4u, told.Height);
  ASSERT_OK(cuArrayDestroy(array));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy(array));
}

TEST_F(CopyTest, FlatCopiesReachArrays) {
  CUDA_ARRAY_DESCRIPTOR shape{};
  shape.Width = 16;
  shape.Format = CU_AD_FORMAT_SIGNED_INT32;
  shape.NumChannels = 1;
  CUarray from;
  CUarray to;
  ASSERT_OK(cuArrayCreate(&from, &shape));
  ASSERT_OK(cuArrayCreate(&to, &shape));
  const std::vector<int> values = Counting(16);
  ASSERT_OK(cuMemcpyHtoA(from, 0, values.data(), 64));
  ASSERT_OK(cuMemcpyAtoA(to, 0, from, 16, 32));
  const CUdeviceptr data = Allocate(64);
  ASSERT_OK(cuMemcpyAtoD(data, to, 4, 8));
  ASSERT_OK(cuMemcpyDtoA(to, 40, data, 8));
  int found[12];
  ASSERT_OK(cuMemcpyAtoH(found, to, 0, 48));
  EXPECT_EQ(5, found[0]);
  EXPECT_EQ(6, found[10]);
  EXPECT_EQ(7, found[11]);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpyAtoH(found, to, 60, 8));
  CUmipmappedArray mipmap;
  CUDA_ARRAY3D_DESCRIPTOR base{};
  base.Width = 8;
  base.Height = 2;
  base.Format = CU_AD_FORMAT_FLOAT;
  base.NumChannels = 1;
  ASSERT_OK(cuMipmappedArrayCreate(&mipmap, &base, 10));
  CUarray level;
  ASSERT_OK(cuMipmappedArrayGetLevel(&level, mipmap, 3));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMipmappedArrayGetLevel(&level, mipmap, 4));
  ASSERT_OK(cuMipmappedArrayDestroy(mipmap));
}

TEST_F(CopyTest, BatchesReadTheirSourcesWhenTheySay) {
  CUstream stream;
  ASSERT_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUdeviceptr targets[2] = {Allocate(4), Allocate(4)};
  int sources[2] = {1, 2};
  CUdeviceptr addresses[2] = {reinterpret_cast<CUdeviceptr>(&sources[0]),
                              reinterpret_cast<CUdeviceptr>(&sources[1])};
  size_t sizes[2] = {4, 4};
  CUmemcpyAttributes attributes[2] = {};
  attributes[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
  attributes[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  size_t indices[2] = {0, 1};
  Gate gate;
  gate.Close(stream);
  ASSERT_OK(cuMemcpyBatchAsync(targets, addresses, sizes, 2, attributes, indices, 2, stream));
  sources[0] = sources[1] = 9;
  gate.Open();
  ASSERT_OK(cuStreamSynchronize(stream));
  int found[2];
  for (int i = 0; i < 2; ++i) ASSERT_OK(cuMemcpyDtoH(&found[i], targets[i], 4));
  EXPECT_EQ(1, found[0]);
  EXPECT_EQ(9, found[1]);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuMemcpyBatchAsync(targets, addresses, sizes, 2, attributes, indices, 2, nullptr));
  indices[1] = 2;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuMemcpyBatchAsync(targets, addresses, sizes, 2, attributes, indices, 2, stream));
  CUDA_MEMCPY3D_BATCH_OP op{};
  op.src.type = op.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
  op.src.op.ptr.ptr = targets[1];
  op.dst.op.ptr.ptr = targets[0];
  op.extent = {4, 1, 1};
  op.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  ASSERT_OK(cuMemcpy3DBatchAsync(1, &op, 0, stream));
  ASSERT_OK(cuStreamSynchronize(stream));
  ASSERT_OK(cuMemcpyDtoH(&found[0], targets[0], 4));
  EXPECT_EQ(9, found[0]);
}

TEST_F(CopyTest, OneInputLinksToItself) {
  CUlinkState link;
  ASSERT_OK(cuLinkCreate(0, nullptr, nullptr, &link));
  ASSERT_OK(cuLinkAddData(link, CU_JIT_INPUT_PTX, const_cast<char*>(kPtx), strlen(kPtx) + 1, "x", 0,
                          nullptr, nullptr));
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED, cuLinkAddData(link, CU_JIT_INPUT_PTX, const_cast<char*>(kPtx),
                                                    strlen(kPtx) + 1, "y", 0, nullptr, nullptr));
  void* image;
  size_t size;
  ASSERT_OK(cuLinkComplete(link, &image, &size));
  CUmodule module;
  ASSERT_OK(cuModuleLoadData(&module, image));
  ASSERT_OK(cuLinkDestroy(link));
  CUfunction function;
  EXPECT_OK(cuModuleGetFunction(&function, module, "add_one"));
}

}  // namespace
}  // namespace sgprs::simgpu::testing
