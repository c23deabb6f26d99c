// SPDX-License-Identifier: Apache-2.0
// The driver, found as NVIDIA's runtime finds it: dlopen("libcuda.so.1"), one dlsym, the rest
// through cuGetProcAddress. So whatever interposes the driver (the shim) interposes this library's
// calls.
#ifndef SGPRS_TOOLS_SIMGPU_CUDART_DRIVER_H_
#define SGPRS_TOOLS_SIMGPU_CUDART_DRIVER_H_

#include <cudaTypedefs.h>

#include "tools/simgpu/cudart/api.h"

namespace sgprs::simgpu::cudart {

// Null: the driver has no such call.
struct Driver {
#define DRIVER_CALL(name) decltype(&::name) name;  // NOLINT: a declaration
#define DRIVER_CALL_OF(name, version) DRIVER_CALL(name)
#include "tools/simgpu/cudart/driver_calls.inc"
#undef DRIVER_CALL_OF
#undef DRIVER_CALL
  PFN_cuGetProcAddress_v12000 get_proc_address;
};

// Loads and initialises it at first use. cudaErrorInsufficientDriver: there is none; else what
// cuInit says. Thread: any; after fork it answers the driver's cudaErrorInitializationError.
cudaError_t GetDriver(const Driver** driver);

// GetDriver, and this thread has a current context: what it had, else the primary context of its
// device (cudaSetDevice), retained and made current.
cudaError_t Enter(const Driver** driver);

// This thread's device. Needs no context.
int CurrentDevice();
// cudaSetDevice: the device's primary context becomes current.
cudaError_t SelectDevice(int device);

}  // namespace sgprs::simgpu::cudart

#endif  // SGPRS_TOOLS_SIMGPU_CUDART_DRIVER_H_
