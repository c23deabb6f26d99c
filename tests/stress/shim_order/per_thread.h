// SPDX-License-Identifier: Apache-2.0
// Entries that a header shows only to programs compiled for per-thread default streams.
#ifndef SGPRS_TESTS_STRESS_SHIM_ORDER_PER_THREAD_H_
#define SGPRS_TESTS_STRESS_SHIM_ORDER_PER_THREAD_H_

#include <cuda.h>

extern "C" {
decltype(cuLaunchKernel) cuLaunchKernel_ptsz;
decltype(cuLaunchHostFunc) cuLaunchHostFunc_ptsz;
decltype(cuGraphLaunch) cuGraphLaunch_ptsz;
decltype(cuMemcpyAsync) cuMemcpyAsync_ptsz;
decltype(cuMemcpy) cuMemcpy_ptds;
decltype(cuMemsetD32) cuMemsetD32_v2_ptds;
decltype(cuMemsetD8Async) cuMemsetD8Async_ptsz;
decltype(cuMemsetD16Async) cuMemsetD16Async_ptsz;
decltype(cuMemsetD32Async) cuMemsetD32Async_ptsz;
decltype(cuMemAllocAsync) cuMemAllocAsync_ptsz;
decltype(cuMemAllocFromPoolAsync) cuMemAllocFromPoolAsync_ptsz;
decltype(cuMemFreeAsync) cuMemFreeAsync_ptsz;
decltype(cuMemcpyBatchAsync) cuMemcpyBatchAsync_v2_ptsz;
decltype(cuEventRecord) cuEventRecord_ptsz;
decltype(cuStreamWaitEvent) cuStreamWaitEvent_ptsz;
decltype(cuStreamWriteValue32) cuStreamWriteValue32_v2_ptsz;
decltype(cuStreamWaitValue32) cuStreamWaitValue32_v2_ptsz;
decltype(cuStreamSynchronize) cuStreamSynchronize_ptsz;
decltype(cuStreamQuery) cuStreamQuery_ptsz;
}

#endif  // SGPRS_TESTS_STRESS_SHIM_ORDER_PER_THREAD_H_
