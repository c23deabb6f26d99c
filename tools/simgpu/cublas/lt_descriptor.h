// SPDX-License-Identifier: Apache-2.0
// What cuBLASLt's opaque descriptors hold here.
#ifndef SGPRS_TOOLS_SIMGPU_CUBLAS_LT_DESCRIPTOR_H_
#define SGPRS_TOOLS_SIMGPU_CUBLAS_LT_DESCRIPTOR_H_

#include <cublasLt.h>

#include <cstdint>

#define STAND_IN_API extern "C" __attribute__((visibility("default")))

namespace sgprs::simgpu::cublas {

struct LtLayout {
  uint32_t type;  // cudaDataType
  int32_t order;  // cublasLtOrder_t
  uint64_t rows;
  uint64_t columns;
  int64_t ld;
  int32_t batch;
  int32_t unused;
  int64_t stride;  // between batches, elements
};
static_assert(sizeof(LtLayout) <= sizeof(cublasLtMatrixLayoutOpaque_t));

struct LtMatmul {
  int32_t compute;       // cublasComputeType_t
  int32_t scale;         // cudaDataType
  int32_t pointer_mode;  // cublasLtPointerMode_t
  int32_t op_a;
  int32_t op_b;
  int32_t op_c;
  uint32_t epilogue;
  int32_t bias_type;  // -1: that of D
  const void* bias;
};
static_assert(sizeof(LtMatmul) <= sizeof(cublasLtMatmulDescOpaque_t));

inline LtLayout* Of(cublasLtMatrixLayout_t layout) { return reinterpret_cast<LtLayout*>(layout); }
inline LtMatmul* Of(cublasLtMatmulDesc_t desc) { return reinterpret_cast<LtMatmul*>(desc); }

}  // namespace sgprs::simgpu::cublas

#endif  // SGPRS_TOOLS_SIMGPU_CUBLAS_LT_DESCRIPTOR_H_
