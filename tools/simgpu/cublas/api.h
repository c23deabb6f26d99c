// SPDX-License-Identifier: Apache-2.0
// The cuBLAS API as this library defines it: NVIDIA's header without the macros that rename the
// calls.
#ifndef SGPRS_TOOLS_SIMGPU_CUBLAS_API_H_
#define SGPRS_TOOLS_SIMGPU_CUBLAS_API_H_

#include <cublas_api.h>

// Puts the function into the library's exports, with names.txt. tools/simgpu/absent/generate.py
// finds the implemented calls by this word.
#define STAND_IN_API extern "C" __attribute__((visibility("default")))

#endif  // SGPRS_TOOLS_SIMGPU_CUBLAS_API_H_
