/* SPDX-License-Identifier: Apache-2.0 */
/* A libcuda.so.1 of names only, to link against; never on a run path. */
enum { kErrorStubLibrary = 34 };
#define CUDA_CALL(symbol) \
  int symbol(void);       \
  int symbol(void) { return kErrorStubLibrary; }
#include "tests/stress/shim_order/cuda_calls.inc"
