// SPDX-License-Identifier: Apache-2.0
// A program as nvcc makes it: a fat binary with a kernel and a variable, registered by hand.
#ifndef SGPRS_TESTS_UNIT_SIMGPU_CUDART_REGISTERED_H_
#define SGPRS_TESTS_UNIT_SIMGPU_CUDART_REGISTERED_H_

#include <cuda_runtime_api.h>

#include "tests/unit/simgpu_driver/device_process.h"

#define ASSERT_RT(call) ASSERT_EQ(cudaSuccess, (call))
#define EXPECT_RT(call) EXPECT_EQ(cudaSuccess, (call))

// crt/host_runtime.h and crt/device_functions.h declare these for nvcc alone.
extern "C" {
void** __cudaRegisterFatBinary(void* wrapper);
void __cudaRegisterFatBinaryEnd(void** handle);
void __cudaUnregisterFatBinary(void** handle);
void __cudaRegisterFunction(void** handle, const char* host, char* device, const char* name,
                            int limit, uint3*, uint3*, dim3*, dim3*, int*);
void __cudaRegisterVar(void** handle, char* host, char* device, const char* name, int ext,
                       size_t size, int constant, int global);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
                                     struct CUstream_st* stream);
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream);
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               size_t shared, cudaStream_t stream);
}

namespace sgprs::simgpu::testing {

// The host twins: only their addresses count.
inline char add_one_host;
inline char absent_host;
inline char answer_host;

// Registers `ptx` as a fat binary with add_one, a kernel that is not in it, and the variable
// `answer`.
class Registered {
 public:
  explicit Registered(const char* ptx) : wrapper_{0x466243b1, 1, ptx, nullptr} {
    handle_ = __cudaRegisterFatBinary(&wrapper_);
    Function(&add_one_host, "add_one");
    Function(&absent_host, "absent");
    __cudaRegisterVar(handle_, &answer_host, nullptr, "answer", 0, 4, 0, 0);
    __cudaRegisterFatBinaryEnd(handle_);
  }
  ~Registered() { __cudaUnregisterFatBinary(handle_); }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;

 private:
  void Function(const char* host, const char* name) {
    __cudaRegisterFunction(handle_, host, nullptr, name, -1, nullptr, nullptr, nullptr, nullptr,
                           nullptr);
  }

  struct {
    int magic;
    int version;
    const void* data;
    void* unused;
  } wrapper_;
  void** handle_;
};

}  // namespace sgprs::simgpu::testing

#endif  // SGPRS_TESTS_UNIT_SIMGPU_CUDART_REGISTERED_H_
