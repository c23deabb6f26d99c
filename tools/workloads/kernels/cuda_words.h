// SPDX-License-Identifier: Apache-2.0
// The few words of CUDA C++ that the kernels use, for clang without the toolkit.
#ifndef SGPRS_TOOLS_WORKLOADS_KERNELS_CUDA_WORDS_H_
#define SGPRS_TOOLS_WORKLOADS_KERNELS_CUDA_WORDS_H_

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(threads) __attribute__((launch_bounds(threads)))

namespace workloads {

struct ThreadIndex {
  __device__ static unsigned X() { return __nvvm_read_ptx_sreg_tid_x(); }
  __device__ static unsigned Y() { return __nvvm_read_ptx_sreg_tid_y(); }
};
struct BlockIndex {
  __device__ static unsigned X() { return __nvvm_read_ptx_sreg_ctaid_x(); }
  __device__ static unsigned Y() { return __nvvm_read_ptx_sreg_ctaid_y(); }
};
struct BlockSize {
  __device__ static unsigned X() { return __nvvm_read_ptx_sreg_ntid_x(); }
};

// Index of this thread in a grid of one dimension.
__device__ inline unsigned GlobalX() { return BlockIndex::X() * BlockSize::X() + ThreadIndex::X(); }

}  // namespace workloads

#endif  // SGPRS_TOOLS_WORKLOADS_KERNELS_CUDA_WORDS_H_
