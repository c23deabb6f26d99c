// SPDX-License-Identifier: Apache-2.0
// The driver API as this library defines it: cuda.h with every ABI variant declared under its own
// exported name (no renaming macros), so that the compiler checks each definition's signature.
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_API_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_API_H_

#define __CUDA_API_VERSION_INTERNAL  // NOLINT: NVIDIA's own switch for this
#include <cuda.h>
#include <cudaProfiler.h>

// Puts the function into the library's exports. tools/simgpu/driver/generate.py finds the
// implemented calls by this word.
#define SIM_API extern "C" __attribute__((visibility("default")))

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_API_H_
