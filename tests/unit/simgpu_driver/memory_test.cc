// SPDX-License-Identifier: Apache-2.0
// Pools, virtual memory management, registration, managed memory, what pointers say of themselves.
#include <unistd.h>

#include <cstring>
#include <vector>

#include "tests/unit/simgpu_driver/device_process.h"

namespace sgprs::simgpu::testing {
namespace {

constexpr size_t kChunk = 2 << 20;

class MemoryTest : public DriverTest {
 protected:
  size_t Free() {
    size_t free_bytes = 0;
    size_t total = 0;
    EXPECT_OK(cuMemGetInfo(&free_bytes, &total));
    return free_bytes;
  }
  static CUmemAllocationProp Properties(int device = 0) {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
    return prop;
  }
  static CUmemAccessDesc ReadWrite() {
    return {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  }
  template <typename T>
  T Attribute(CUpointer_attribute attribute, CUdeviceptr pointer) {
    T value{};
    EXPECT_OK(cuPointerGetAttribute(&value, attribute, pointer));
    return value;
  }
};

TEST_F(MemoryTest, MappedMemoryGrowsInPlace) {
  const size_t before = Free();
  CUmemAllocationProp prop = Properties();
  size_t granularity = 0;
  ASSERT_OK(cuMemGetAllocationGranularity(&granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  ASSERT_EQ(kChunk, granularity);
  CUdeviceptr base = 0;
  ASSERT_OK(cuMemAddressReserve(&base, 8 * kChunk, 0, 0, 0));
  EXPECT_EQ(before, Free());  // addresses are not memory
  CUmemGenericAllocationHandle handles[2];
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(cuMemCreate(&handles[i], kChunk, &prop, 0));
    ASSERT_OK(cuMemMap(base + i * kChunk, kChunk, 0, handles[i], 0));
  }
  EXPECT_EQ(before - 2 * kChunk, Free());
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemMap(base, kChunk, 0, handles[0], 0));
  // No access yet: a copy is refused, not a crash.
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemsetD8(base, 1, 16));
  const CUmemAccessDesc access = ReadWrite();
  ASSERT_OK(cuMemSetAccess(base, 2 * kChunk, &access, 1));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemSetAccess(base, 3 * kChunk, &access, 1));
  // One block over the border of the two.
  ASSERT_OK(cuMemsetD32(base + kChunk - 8, 5, 4));
  ASSERT_OK(LaunchAddOne(Function("add_one"), base + kChunk - 8, 4, nullptr));
  int values[4] = {};
  ASSERT_OK(cuMemcpyDtoH(values, base + kChunk - 8, 16));
  for (int value : values) EXPECT_EQ(6, value);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(values, base + 2 * kChunk - 8, 16));
  EXPECT_EQ(CU_MEMORYTYPE_DEVICE,
            Attribute<unsigned int>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, base + 4));
  EXPECT_EQ(8 * kChunk, Attribute<size_t>(CU_POINTER_ATTRIBUTE_RANGE_SIZE, base + 4));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFree(base));
  // The same memory at a second address.
  CUdeviceptr alias = 0;
  ASSERT_OK(cuMemAddressReserve(&alias, kChunk, 0, 0, 0));
  ASSERT_OK(cuMemMap(alias, kChunk, 0, handles[1], 0));
  ASSERT_OK(cuMemSetAccess(alias, kChunk, &access, 1));
  ASSERT_OK(cuMemcpyDtoH(values, alias, 8));
  EXPECT_EQ(6, values[0]);
  // Handles may go first; memory goes with the last mapping.
  for (CUmemGenericAllocationHandle handle : handles) ASSERT_OK(cuMemRelease(handle));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemRelease(handles[0]));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(base, 8 * kChunk));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(base, kChunk / 2));
  ASSERT_OK(cuMemUnmap(base, 2 * kChunk));
  EXPECT_EQ(before - kChunk, Free());
  ASSERT_OK(cuMemUnmap(alias, kChunk));
  EXPECT_EQ(before, Free());
  ASSERT_OK(cuMemAddressFree(base, 8 * kChunk));
  ASSERT_OK(cuMemAddressFree(alias, kChunk));
}

TEST_F(MemoryTest, WhatCanNotBeMappedIsRefused) {
  CUmemAllocationProp prop = Properties(1);
  CUmemGenericAllocationHandle handle;
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuMemCreate(&handle, kChunk, &prop, 0));
  prop = Properties();
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, kChunk + 1, &prop, 0));
  EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, cuMemCreate(&handle, size_t{1} << 40, &prop, 0));
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED, cuMemCreate(&handle, kChunk, &prop, 0));
  CUdeviceptr base;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(&base, 100, 0, 0, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(&base, kChunk, 3, 0, 0));
  ASSERT_OK(cuMemAddressReserve(&base, kChunk, 1 << 25, 0, 0));
  EXPECT_EQ(0u, base % (1 << 25));
}

TEST_F(MemoryTest, MappedMemoryIsSharedByDescriptor) {
  CUmemAllocationProp prop = Properties();
  CUmemGenericAllocationHandle handle;
  int descriptor = -1;
  ASSERT_OK(cuMemCreate(&handle, kChunk, &prop, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuMemExportToShareableHandle(&descriptor, handle,
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  ASSERT_OK(cuMemCreate(&handle, 2 * kChunk, &prop, 0));
  ASSERT_OK(cuMemExportToShareableHandle(&descriptor, handle,
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  CUmemGenericAllocationHandle imported;
  ASSERT_OK(cuMemImportFromShareableHandle(
      &imported, reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)),
      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  close(descriptor);
  const CUmemAccessDesc access = ReadWrite();
  CUdeviceptr places[2];
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(cuMemAddressReserve(&places[i], 2 * kChunk, 0, 0, 0));
    ASSERT_OK(cuMemMap(places[i], 2 * kChunk, 0, i == 0 ? handle : imported, 0));
    ASSERT_OK(cuMemSetAccess(places[i], 2 * kChunk, &access, 1));
  }
  ASSERT_OK(cuMemsetD32(places[0] + kChunk, 11, 1));
  int value = 0;
  ASSERT_OK(cuMemcpyDtoH(&value, places[1] + kChunk, 4));
  EXPECT_EQ(11, value);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuMemImportFromShareableHandle(&imported, reinterpret_cast<void*>(intptr_t{-1}),
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
}

TEST_F(MemoryTest, PoolsCountAndKeep) {
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  props.maxSize = 3 << 20;
  CUmemoryPool pool;
  ASSERT_OK(cuMemPoolCreate(&pool, &props));
  const auto get = [&](CUmemPool_attribute attribute) {
    cuuint64_t value = 0;
    EXPECT_OK(cuMemPoolGetAttribute(pool, attribute, &value));
    return value;
  };
  const size_t before = Free();
  CUdeviceptr pointer;
  ASSERT_OK(cuMemAllocFromPoolAsync(&pointer, 2 << 20, pool, nullptr));
  CUdeviceptr more;
  EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocFromPoolAsync(&more, 2 << 20, pool, nullptr));
  EXPECT_EQ(2u << 20, get(CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
  EXPECT_EQ(pool, Attribute<CUmemoryPool>(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, pointer));
  cuuint64_t keep = 1 << 20;
  ASSERT_OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
  ASSERT_OK(cuMemFreeAsync(pointer, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(pointer, nullptr));
  ASSERT_OK(cuCtxSynchronize());
  EXPECT_EQ(0u, get(CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
  EXPECT_EQ(2u << 20, get(CU_MEMPOOL_ATTR_USED_MEM_HIGH));
  EXPECT_EQ(1u << 20, get(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
  EXPECT_EQ(before - (1 << 20), Free());
  ASSERT_OK(cuMemPoolTrimTo(pool, 0));
  EXPECT_EQ(before, Free());
  int descriptor = -1;
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED,
            cuMemPoolExportToShareableHandle(&descriptor, pool,
                                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  ASSERT_OK(cuDeviceSetMemPool(0, pool));
  ASSERT_OK(cuMemPoolDestroy(pool));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemPoolDestroy(pool));
  CUmemoryPool current;
  CUmemoryPool standard;
  ASSERT_OK(cuDeviceGetMemPool(&current, 0));
  ASSERT_OK(cuDeviceGetDefaultMemPool(&standard, 0));
  EXPECT_EQ(standard, current);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemPoolDestroy(standard));
}

TEST_F(MemoryTest, RegisteredMemoryIsPinned) {
  std::vector<char> bytes(1 << 16);
  ASSERT_OK(cuMemHostRegister(bytes.data(), bytes.size(), CU_MEMHOSTREGISTER_PORTABLE));
  EXPECT_EQ(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister(bytes.data() + 100, 1, 0));
  unsigned int flags = 0;
  ASSERT_OK(cuMemHostGetFlags(&flags, bytes.data() + 5));
  EXPECT_EQ(static_cast<unsigned int>(CU_MEMHOSTREGISTER_PORTABLE), flags);
  CUdeviceptr there;
  ASSERT_OK(cuMemHostGetDevicePointer(&there, bytes.data() + 5, 0));
  EXPECT_EQ(reinterpret_cast<CUdeviceptr>(bytes.data() + 5), there);
  EXPECT_EQ(CU_MEMORYTYPE_HOST, Attribute<unsigned int>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, there));
  // A copy from it reads when the stream gets there, not before.
  const CUdeviceptr data = Allocate(4);
  CUstream stream;
  ASSERT_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  Gate gate;
  gate.Close(stream);
  memset(bytes.data(), 1, 4);
  ASSERT_OK(cuMemcpyHtoDAsync(data, bytes.data(), 4, stream));
  memset(bytes.data(), 2, 4);
  gate.Open();
  ASSERT_OK(cuStreamSynchronize(stream));
  int value = 0;
  ASSERT_OK(cuMemcpyDtoH(&value, data, 4));
  EXPECT_EQ(0x02020202, value);
  ASSERT_OK(cuMemHostUnregister(bytes.data()));
  EXPECT_EQ(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(bytes.data()));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuMemHostRegister(reinterpret_cast<void*>(0x1000), 1 << 16, 0));
}

TEST_F(MemoryTest, ManagedMemoryRemembersAdvice) {
  CUdeviceptr data;
  ASSERT_OK(cuMemAllocManaged(&data, 1 << 20, CU_MEM_ATTACH_GLOBAL));
  *reinterpret_cast<int*>(data) = 1;
  ASSERT_OK(LaunchAddOne(Function("add_one"), data, 1, nullptr));
  ASSERT_OK(cuCtxSynchronize());
  EXPECT_EQ(2, *reinterpret_cast<int*>(data));
  const CUmemLocation device{CU_MEM_LOCATION_TYPE_DEVICE, 0};
  ASSERT_OK(cuMemAdvise(data, 1 << 16, CU_MEM_ADVISE_SET_READ_MOSTLY, device));
  ASSERT_OK(cuMemAdvise(data, 1 << 20, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device));
  ASSERT_OK(cuMemPrefetchAsync(data, 1 << 20, device, 0, nullptr));
  const auto get = [&](CUmem_range_attribute attribute, size_t bytes) {
    int value = -7;
    EXPECT_OK(cuMemRangeGetAttribute(&value, sizeof(value), attribute, data, bytes));
    return value;
  };
  EXPECT_EQ(1, get(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, 1 << 16));
  EXPECT_EQ(0, get(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, 1 << 17));
  EXPECT_EQ(0, get(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, 1 << 20));
  EXPECT_EQ(0, get(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, 1 << 20));
  EXPECT_EQ(CU_DEVICE_INVALID, get(CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, 1 << 20));
  const CUmemLocation nowhere{CU_MEM_LOCATION_TYPE_DEVICE, 9};
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuMemPrefetchAsync(data, 16, nowhere, 0, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuMemAdvise(Allocate(64), 64, CU_MEM_ADVISE_SET_READ_MOSTLY, device));
  ASSERT_OK(cuMemFree(data));
}

}  // namespace
}  // namespace sgprs::simgpu::testing
