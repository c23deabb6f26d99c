// SPDX-License-Identifier: Apache-2.0
// Fork, exit, a device process that dies, the exported names.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include "tests/unit/simgpu_driver/device_process.h"

namespace sgprs::simgpu::testing {
namespace {

using ProcessTest = DriverTest;

// Exit code of `child`'s work.
template <typename F>
int InChild(F work) {
  const pid_t pid = fork();
  if (pid == 0) _exit(work());
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(ProcessTest, ForkedChildIsNotInitialised) {
  EXPECT_EQ(CUDA_ERROR_NOT_INITIALIZED, InChild([] { return cuCtxSynchronize(); }));
  EXPECT_EQ(CUDA_ERROR_NOT_INITIALIZED, InChild([] { return cuInit(0); }));
  // And the parent goes on.
  const CUdeviceptr data = Allocate(4);
  EXPECT_OK(LaunchAddOne(Function("add_one"), data, 1, nullptr));
  EXPECT_OK(cuCtxSynchronize());
}

TEST(ForkTest, ForkBeforeInitIsFine) {
  DeviceProcess device;
  EXPECT_EQ(0, InChild([] {
              CUcontext context;
              if (CUresult result = cuInit(0)) return static_cast<int>(result);
              if (CUresult result = cuDevicePrimaryCtxRetain(&context, 0)) {
                return static_cast<int>(result);
              }
              if (CUresult result = cuCtxSetCurrent(context)) return static_cast<int>(result);
              CUdeviceptr data;
              if (CUresult result = cuMemAlloc(&data, 4)) return static_cast<int>(result);
              return static_cast<int>(cuMemsetD32(data, 1, 1));
            }));
}

TEST(ExitTest, ExitWithWorkQueuedIsClean) {
  DeviceProcess device;
  for (int i = 0; i < 20; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      CUcontext context;
      CUmodule module;
      CUfunction function;
      CUdeviceptr data;
      bool ok = cuInit(0) == CUDA_SUCCESS &&
                cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS &&
                cuCtxSetCurrent(context) == CUDA_SUCCESS &&
                cuModuleLoadData(&module, kPtx) == CUDA_SUCCESS &&
                cuModuleGetFunction(&function, module, "add_one") == CUDA_SUCCESS &&
                cuMemAlloc(&data, 4096) == CUDA_SUCCESS;
      for (int n = 0; ok && n < 500; ++n) {
        ok = LaunchAddOne(function, data, 1000, nullptr) == CUDA_SUCCESS;
      }
      exit(ok ? 7 : 1);  // with destructors and handlers
    }
    int status = 0;
    ASSERT_EQ(pid, waitpid(pid, &status, 0));
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(7, WEXITSTATUS(status));
  }
}

TEST_F(ProcessTest, LostDeviceIsAnErrorNotAHang) {
  CUfunction function = Function("no_body");
  long long zero = 0;
  void* params[] = {&zero};
  for (int i = 0; i < 100; ++i) {
    ASSERT_OK(cuLaunchKernel(function, 5000, 1, 1, 256, 1, 1, 0, nullptr, params, nullptr));
  }
  device_.Kill();
  EXPECT_EQ(CUDA_ERROR_DEVICE_UNAVAILABLE, cuCtxSynchronize());
  EXPECT_EQ(CUDA_ERROR_DEVICE_UNAVAILABLE, cuStreamQuery(nullptr));
  CUdeviceptr pointer;
  EXPECT_EQ(CUDA_ERROR_DEVICE_UNAVAILABLE, cuMemAlloc(&pointer, 4));
}

TEST_F(ProcessTest, LostDeviceWhileQueueIsFull) {
  CUfunction function = Function("no_body");
  long long zero = 0;
  void* params[] = {&zero};
  CUresult result = CUDA_SUCCESS;
  for (int i = 0; i < 100000 && result == CUDA_SUCCESS; ++i) {
    if (i == 500) device_.Kill();
    result = cuLaunchKernel(function, 5000, 1, 1, 256, 1, 1, 0, nullptr, params, nullptr);
  }
  EXPECT_EQ(CUDA_ERROR_DEVICE_UNAVAILABLE, result);
}

TEST(LookupTest, EveryVariantIsThere) {
  std::ifstream file(ABI_VARIANTS);
  std::string line;
  int rows = 0;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string base;
    std::string kind;
    std::string item;
    words >> base >> kind;
    while (words >> item) {
      const size_t colon = item.find(':');
      const int version = std::stoi(item.substr(0, colon));
      const std::string symbol = item.substr(colon + 1);
      void* entry = nullptr;
      CUdriverProcAddressQueryResult status;
      ASSERT_OK(cuGetProcAddress(base.c_str(), &entry, version,
                                 kind == "legacy" ? CU_GET_PROC_ADDRESS_LEGACY_STREAM
                                                  : CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
                                 &status));
      EXPECT_EQ(CU_GET_PROC_ADDRESS_SUCCESS, status);
      EXPECT_EQ(dlsym(RTLD_DEFAULT, symbol.c_str()), entry) << base << ' ' << version;
      ++rows;
    }
  }
  EXPECT_GT(rows, 600);
}

TEST(LookupTest, UnknownAndTooOldNames) {
  void* entry = &entry;
  CUdriverProcAddressQueryResult status;
  ASSERT_OK(cuGetProcAddress("", &entry, 13000, 0, &status));
  EXPECT_EQ(CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, status);
  EXPECT_EQ(nullptr, entry);
  ASSERT_OK(cuGetProcAddress("cuLaunchKernelEx", &entry, 11000, 0, &status));
  EXPECT_EQ(CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT, status);
  EXPECT_EQ(nullptr, entry);
  // No per-thread entry: the legacy one.
  void* legacy = nullptr;
  ASSERT_OK(cuGetProcAddress("cuInit", &legacy, 13000, 0, nullptr));
  ASSERT_OK(cuGetProcAddress("cuInit", &entry, 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
                             nullptr));
  EXPECT_EQ(legacy, entry);
  EXPECT_EQ(reinterpret_cast<void*>(&cuInit), entry);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress("cuInit", &entry, 14000, 0, nullptr));
  auto old = reinterpret_cast<CUresult (*)(const char*, void**, int, cuuint64_t)>(
      dlsym(RTLD_DEFAULT, "cuGetProcAddress"));
  ASSERT_NE(nullptr, old);
  EXPECT_EQ(CUDA_ERROR_NOT_FOUND, old("cuNothing", &entry, 11030, 0));
}

TEST_F(ProcessTest, WhatIsNotSimulatedSaysSo) {
  CUmemGenericAllocationHandle group;
  CUmulticastObjectProp properties{};
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED, cuMulticastCreate(&group, &properties));
  const void* table = this;
  CUuuid id{};
  EXPECT_EQ(CUDA_ERROR_NOT_FOUND, cuGetExportTable(&table, &id));
  const char* text = nullptr;
  ASSERT_OK(cuGetErrorName(CUDA_ERROR_NOT_SUPPORTED, &text));
  EXPECT_STREQ("CUDA_ERROR_NOT_SUPPORTED", text);
  ASSERT_OK(cuGetErrorString(CUDA_ERROR_INVALID_VALUE, &text));
  EXPECT_STREQ("invalid argument", text);
}

}  // namespace
}  // namespace sgprs::simgpu::testing
