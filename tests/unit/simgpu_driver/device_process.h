// SPDX-License-Identifier: Apache-2.0
// A simulated device of its own for a test program, and a context on it.
#ifndef SGPRS_TESTS_UNIT_SIMGPU_DRIVER_DEVICE_PROCESS_H_
#define SGPRS_TESTS_UNIT_SIMGPU_DRIVER_DEVICE_PROCESS_H_

#include <cuda.h>
#include <gtest/gtest.h>
#include <sys/types.h>

#include <atomic>
#include <string>

#define ASSERT_OK(call) ASSERT_EQ(CUDA_SUCCESS, (call))
#define EXPECT_OK(call) EXPECT_EQ(CUDA_SUCCESS, (call))

namespace sgprs::simgpu::testing {

// Starts bin/simgpu on a socket of its own and points $SGPRS_SIMGPU_SOCKET there.
class DeviceProcess {
 public:
  explicit DeviceProcess(const std::string& mps = "on", const std::string& device = "rtx2080ti",
                         int count = 1);
  ~DeviceProcess();
  void Kill();

 private:
  std::string directory_;
  pid_t pid_ = -1;
};

// cuInit done, primary context current, module of kernels.h loaded.
class DriverTest : public ::testing::Test {
 protected:
  void SetUp() override;

  CUfunction Function(const char* name);
  CUdeviceptr Allocate(size_t bytes);

  DeviceProcess device_;
  CUcontext context_ = nullptr;
  CUmodule module_ = nullptr;
};

// Holds a stream: what comes after Close(stream) starts after Open().
class Gate {
 public:
  void Close(CUstream stream);
  void Open() { open_ = true; }

 private:
  std::atomic<bool> open_{false};
};

// add_one(int* data, int count): data[i] += 1.
// scale(float* data, int count, float factor).
// no_body(long long): nothing simulated.
// big(32756 bytes, unsigned* out): *out = the sum of the bytes; 32764 bytes of parameters.
extern const char kPtx[];

// Adds one to `count` ints.
CUresult LaunchAddOne(CUfunction function, CUdeviceptr data, int count, CUstream stream);

}  // namespace sgprs::simgpu::testing

#endif  // SGPRS_TESTS_UNIT_SIMGPU_DRIVER_DEVICE_PROCESS_H_
