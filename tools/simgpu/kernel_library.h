/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel libraries of the simulated GPU. A shared object named in $SGPRS_SIMGPU_KERNELS (colon
 * separated list) says, for kernels by name, what they compute (optional) and how much work one
 * launch is (optional). The stand-in driver dlopens it; the programs that launch the kernels know
 * nothing of it. C11 and C++20.
 *
 * Exported symbol: const SimgpuKernelLibrary simgpu_kernel_library;
 *
 * Optional: const SimgpuKernel* simgpu_find_kernel(const char* name); asked once for each kernel of
 * a loaded module that no table names (templates have too many names for a table). NULL: not mine.
 * The answer lives as long as the process. Any thread, one at a time.
 */
#ifndef SGPRS_TOOLS_SIMGPU_KERNEL_LIBRARY_H_
#define SGPRS_TOOLS_SIMGPU_KERNEL_LIBRARY_H_

#include <stdint.h>

#define SIMGPU_KERNEL_LIBRARY_VERSION 1u

#ifdef __cplusplus
extern "C" {
#endif

typedef struct SimgpuLaunch {
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t shared_bytes; /* dynamic */
  uint32_t param_count;
  const void* const* params; /* params[i] points to the i-th parameter's bytes */
} SimgpuLaunch;

typedef struct SimgpuWork {
  double flops;      /* floating-point operations of the whole launch */
  double dram_bytes; /* bytes moved to and from device memory */
} SimgpuWork;

typedef struct SimgpuKernel {
  const char* name; /* as in the module (mangled if it is) */
  /* Computes the whole launch on the host; called in device order, one at a time per process.
   * NULL: results are not simulated. Device pointers are host pointers of the process. */
  void (*body)(const SimgpuLaunch* launch);
  /* NULL: the model guesses from the geometry. */
  void (*work)(const SimgpuLaunch* launch, SimgpuWork* work);
} SimgpuKernel;

typedef struct SimgpuKernelLibrary {
  uint32_t version; /* SIMGPU_KERNEL_LIBRARY_VERSION */
  uint32_t kernel_count;
  const SimgpuKernel* kernels;
} SimgpuKernelLibrary;

#ifdef __cplusplus
}
#endif

#endif /* SGPRS_TOOLS_SIMGPU_KERNEL_LIBRARY_H_ */
