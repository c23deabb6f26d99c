// SPDX-License-Identifier: Apache-2.0
// The runtime API as this library defines it: NVIDIA's headers, so that the compiler checks each
// definition's signature. Streams, events, graphs, pools, libraries and kernels are the driver's
// handles; error numbers are the driver's too.
#ifndef SGPRS_TOOLS_SIMGPU_CUDART_API_H_
#define SGPRS_TOOLS_SIMGPU_CUDART_API_H_

#include <cuda.h>
#include <cudaProfiler.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>

// Puts the function into the library's exports. tools/simgpu/cudart/generate.py finds the
// implemented calls by this word.
#define RT_API extern "C" __attribute__((visibility("default")))

#endif  // SGPRS_TOOLS_SIMGPU_CUDART_API_H_
