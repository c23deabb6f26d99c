// SPDX-License-Identifier: Apache-2.0
// The CUDA driver as a table of pointers, so that one program can reach it in every way that
// programs do.
#ifndef SGPRS_TOOLS_WORKLOADS_DRIVER_CUDA_API_H_
#define SGPRS_TOOLS_WORKLOADS_DRIVER_CUDA_API_H_

#include <cuda.h>

#include <string>

namespace workloads {

// cuda.h renames calls (cuMemAlloc is cuMemAlloc_v2): members and their users alike.
struct CudaApi {
#define CUDA_CALL(name, symbol) decltype(&::name) name;
#include "tools/workloads/driver/cuda_calls.inc"
#undef CUDA_CALL
};

enum class DriverEntry {
  kDirect,     // linked against libcuda.so.1
  kDlopen,     // dlopen, dlsym
  kGetProc,    // dlsym of cuGetProcAddress_v2, all else through it
  kGetProcV1,  // the same through the CUDA 11 ABI of cuGetProcAddress
  kDeepBind,   // a plug-in linked against libcuda.so.1, opened with RTLD_DEEPBIND
};

// "direct", "dlopen", "getproc", "getproc-v1", "deepbind"; false: none of them.
bool ParseDriverEntry(const std::string& text, DriverEntry* entry);

// False with the reason in `error`: no driver, or a call is missing. The driver stays open.
bool OpenDriver(DriverEntry entry, CudaApi* api, std::string* error);

// What OpenDriver() gives for an empty --entry: direct where this program is linked so.
DriverEntry DefaultDriverEntry();

// In translation units linked against libcuda.so.1 (driver/direct.cc).
bool DirectDriver(CudaApi* api);

// Ends the program with exit code 1 and one line if `result` is an error.
void Check(const CudaApi& api, CUresult result, const char* what);

}  // namespace workloads

#endif  // SGPRS_TOOLS_WORKLOADS_DRIVER_CUDA_API_H_
