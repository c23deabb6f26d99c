/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs are linked against: a libcuda.so.1 of names only, as the toolkit's stub is. It
 * is never installed and must not be found at run time; if it is, it says so. */
enum { kErrorStubLibrary = 34 };
#define CUDA_CALL(name, symbol) \
  int symbol(void);             \
  int symbol(void) { return kErrorStubLibrary; }
#include "tools/workloads/driver/cuda_calls.inc"
